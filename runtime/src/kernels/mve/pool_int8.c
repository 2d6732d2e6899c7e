/* AVERAGE_POOL, MAX_POOL and SUM_MAP of int8 with MVE: a lane a channel. */
#include "mve.h"

#if TIGRIS_MVE

#include <string.h>

#include "../pool_int8.h"

#define HALF_LANES 8      /* lanes of 16 bits */
#define MOST_SHORT_SUM 255 /* values of int8 whose sum fits 16 bits */
#define MOST_DIVISOR 4096  /* beyond it a reciprocal of 32 bits is not exact for every sum */

/* ---- MAX_POOL ---- */

static void largest_of(const tigris_pool_window *window, const int8_t *data, const tigris_pool_int8_params *params,
                       int32_t channels, int8_t *to)
{
    const int8x16_t low = vdupq_n_s8((int8_t)params->activation_min);
    const int8x16_t high = vdupq_n_s8((int8_t)params->activation_max);
    for (; channels > 0; channels -= TIGRIS_MVE_BYTES) {
        const mve_pred16_t lanes = vctp8q((uint32_t)channels);
        int8x16_t most = low; /* also of a window of padding alone */
        uint32_t row = window->first;
        for (uint32_t i = 0; i < window->rows; i++) {
            for (uint32_t at = row, end = row + window->reach; at != end; at += window->column_step) {
                most = vmaxq_s8(most, vldrbq_z_s8(data + at, lanes));
            }
            row += window->row_step;
        }
        vstrbq_p_s8(to, vminq_s8(most, high), lanes);
        data += TIGRIS_MVE_BYTES;
        to += TIGRIS_MVE_BYTES;
    }
}

int tigris_max_pool_int8_by_set(const tigris_kernel_call *call)
{
    const uint32_t channels = call->output->tensor->channels;
    int8_t *to = tigris_int8_output(call);
    tigris_pixel_loop loop;
    for (tigris_start_pixels(&loop, call, 0); loop.left > 0; tigris_next_pixel(&loop)) {
        const tigris_pool_window window = tigris_pool_window_of(&loop);
        largest_of(&window, tigris_int8_input(call), call->params, (int32_t)channels, to);
        to += channels;
    }
    return 1;
}

/* ---- AVERAGE_POOL ---- */

/* The division of an output pixel's sums: by a reciprocal, or by a multiplier and shift. */
typedef struct divisor {
    int32_t padding; /* added to a sum first: zero points and counted padding */
    int32_t half;
    int32_t half_below; /* half of the divisor for a negative sum */
    uint32_t reciprocal; /* 2^32 / divisor, rounded up; 0 if the divisor is 1 */
    int32_t multiplier;
    int32_t shift;
    int is_scaled;
    tigris_mve_end end;
} divisor;

/* (sum + half) / count, rounded towards zero. Exact: let s = |sum| + half < 2^20 and M be the reciprocal. M * count is
 * less than 2^32 + count. If s * count < 2^32, s * M / 2^32 then exceeds s / count by less than 1 / count. */
static inline int32x4_t quotient(const divisor *by, int32x4_t sum)
{
    const mve_pred16_t below = vcmpltq_n_s32(sum, 0);
    const int32x4_t half = vpselq_s32(vdupq_n_s32(by->half_below), vdupq_n_s32(by->half), below);
    const uint32x4_t whole = vreinterpretq_u32_s32(vaddq_s32(vabsq_s32(sum), half));
    const int32x4_t least =
        vreinterpretq_s32_u32(by->reciprocal == 0U ? whole : vmulhq_u32(whole, vdupq_n_u32(by->reciprocal)));
    return vnegq_m_s32(least, least, below);
}

static inline int32x4_t average(const divisor *by, int32x4_t sum)
{
    const int32x4_t whole = vaddq_n_s32(sum, by->padding);
    return by->is_scaled ? tigris_mve_scale(whole, vdupq_n_s32(by->multiplier), vdupq_n_s32(by->shift))
                         : quotient(by, whole);
}

static void average_of(const tigris_pool_window *window, const divisor *by, const int8_t *data, int32_t channels,
                       int8_t *to)
{
    for (; channels > 0; channels -= HALF_LANES) {
        const mve_pred16_t lanes = vctp16q((uint32_t)channels);
        int16x8_t sum = vdupq_n_s16(0);
        uint32_t row = window->first;
        for (uint32_t i = 0; i < window->rows; i++) {
            for (uint32_t at = row, end = row + window->reach; at != end; at += window->column_step) {
                sum = vaddq_s16(sum, vldrbq_z_s16(data + at, lanes));
            }
            row += window->row_step;
        }
        const int32x4_t even = average(by, vmovlbq_s16(sum)), odd = average(by, vmovltq_s16(sum));
        vstrbq_p_s16(to, tigris_mve_outputs(even, odd, &by->end), lanes);
        data += HALF_LANES;
        to += HALF_LANES;
    }
}

/* The divisor of windows with `taps` taps inside and `count` taps counted, at least one. */
static divisor divisor_of(const tigris_kernel_call *call, int32_t taps, int32_t count)
{
    const tigris_pool_int8_params *params = call->params;
    divisor by;
    by.is_scaled = params->rescale == 1U;
    by.end = tigris_mve_end_of(by.is_scaled ? params->output_zero_point : 0, params->activation_min,
                               params->activation_max);
    by.padding = (count - taps) * params->input_zero_point;
    by.half = count / 2;
    by.half_below = (count - (params->rescale == 2U ? 1 : 0)) / 2;
    by.reciprocal = count == 1 ? 0U : UINT32_MAX / (uint32_t)count + 1U;
    by.multiplier = 0;
    by.shift = 0;
    if (by.is_scaled) {
        by.padding -= count * params->input_zero_point;
        by.multiplier = tigris_int32_data(call, params->multiplier)[count - 1];
        by.shift = tigris_int8_data(call, params->shift)[count - 1];
    }
    return by;
}

int tigris_average_pool_int8_by_set(const tigris_kernel_call *call)
{
    const tigris_pool_int8_params *params = call->params;
    const uint32_t channels = call->output->tensor->channels;
    const int32_t most = params->kernel_height * params->kernel_width;
    int8_t *to = tigris_int8_output(call);
    int32_t taps = -1;
    divisor by = {0};
    tigris_pixel_loop loop;
    if (most > MOST_SHORT_SUM) {
        return 0;
    }
    for (tigris_start_pixels(&loop, call, 0); loop.left > 0; tigris_next_pixel(&loop)) {
        const tigris_pool_window window = tigris_pool_window_of(&loop);
        const int32_t inside = tigris_pool_taps(&loop.pixel), count = params->include_pad != 0U ? most : inside;
        if (count == 0) {
            memset(to, tigris_clamp(params->output_zero_point, params->activation_min, params->activation_max),
                   channels);
        } else {
            if (inside != taps) {
                taps = inside;
                by = divisor_of(call, taps, count);
            }
            average_of(&window, &by, tigris_int8_input(call), (int32_t)channels, to);
        }
        to += channels;
    }
    return 1;
}

/* ---- SUM_MAP ---- */

/* Adds `pixels` pixels, at most MOST_SHORT_SUM, to the sums of up to eight channels. */
static void add_pixels(int32_t *sums, const int8_t *from, uint32_t pixels, uint32_t channels, mve_pred16_t lanes,
                       uint32_t count)
{
    int16x8_t sum = vdupq_n_s16(0);
    int32_t wide[HALF_LANES];
    for (; pixels > 0U; pixels--) {
        sum = vaddq_s16(sum, vldrbq_z_s16(from, lanes));
        from += channels;
    }
    const int32x4x2_t halves = {{vmovlbq_s16(sum), vmovltq_s16(sum)}};
    vst2q_s32(wide, halves);
    for (uint32_t i = 0; i < count; i += 4U) {
        const mve_pred16_t four = vctp32q(count - i);
        vstrwq_p_s32(sums + i, vaddq_s32(vldrwq_z_s32(sums + i, four), vld1q_s32(wide + i)), four);
    }
}

void tigris_mve_sum_pixels(int32_t *sums, const int8_t *from, uint32_t pixels, uint32_t channels)
{
    while (pixels > 0U) {
        const uint32_t some = pixels < MOST_SHORT_SUM ? pixels : MOST_SHORT_SUM;
        for (uint32_t channel = 0; channel < channels; channel += HALF_LANES) {
            const uint32_t left = channels - channel;
            add_pixels(sums + channel, from + channel, some, channels, vctp16q(left),
                       left < HALF_LANES ? left : HALF_LANES);
        }
        from += some * channels;
        pixels -= some;
    }
}

#endif
