/* Average and max pooling, int8, for four channels at a time. Sums are exact: at most 2^22 taps of 2^8. Padded taps do
 * not count in a maximum. */
#include <string.h>

#include "inlining.h"
#include "pool_int8.h"
#include "scale_int8.h"
#include "set.h"
#include "tigris_kernels.h"

/* Results for four adjacent channels. */
typedef struct four {
    int32_t a;
    int32_t b;
    int32_t c;
    int32_t d;
} four;

/* The arithmetic from a result to the output. A maximum needs only `output`. */
typedef struct divisor {
    tigris_output_stage output;
    int32_t count;         /* taps that count; 0: all taps are padding */
    int32_t half_positive; /* added before the division of a sum of 0 and above */
    int32_t half_negative; /* subtracted before the division of a sum below 0 */
    int32_t constant;      /* added to each sum: padded taps that count, and with rescale the zero points */
    int32_t multiplier;    /* with rescale */
    int32_t shift;         /* with rescale */
} divisor;

typedef int8_t (*finish_function)(const divisor *by, int32_t result);

/* sum / count, halves away from zero or up. */
static inline int8_t quotient(const divisor *by, int32_t sum)
{
    const int32_t whole = sum + by->constant;
    return (int8_t)tigris_clamp((whole >= 0 ? whole + by->half_positive : whole - by->half_negative) / by->count,
                                by->output.low, by->output.high);
}

/* `constant` holds the zero points too. Sums are below 2^30, so tigris_requantise_right_shift cannot overflow for a
 * right shift of 1 either. */
static inline int8_t scaled(const divisor *by, int32_t sum)
{
    const int32_t whole = sum + by->constant;
    const tigris_scale scale = tigris_scale_of(by->multiplier, by->shift, by->output);
    return by->shift < 0 ? (int8_t)tigris_requantise_right_shift((uint32_t)whole, scale, by->output)
                         : tigris_to_int8(whole, by->multiplier, by->shift, &by->output);
}

static inline int8_t clamped(const divisor *by, int32_t largest)
{
    return (int8_t)tigris_clamp(largest, by->output.low, by->output.high);
}

/* The larger one, or the sum. */
TIGRIS_INLINE int32_t joined(int32_t a, int32_t b, int is_max)
{
    return !is_max ? a + b : b > a ? b : a;
}

/* Joins the taps of the four channels at `data`. */
TIGRIS_INLINE four join_four(const tigris_pool_window *window, const int8_t *data, int is_max)
{
    const int32_t least = is_max ? INT8_MIN : 0;
    four result = {least, least, least, least};
    uint32_t row = window->first;
    for (uint32_t i = 0; i < window->rows; i++) {
        const uint32_t end = row + window->reach;
        for (uint32_t at = row; at != end; at += window->column_step) {
            const int8_t *tap = data + at;
            result.a = joined(result.a, tap[0], is_max);
            result.b = joined(result.b, tap[1], is_max);
            result.c = joined(result.c, tap[2], is_max);
            result.d = joined(result.d, tap[3], is_max);
        }
        row += window->row_step;
    }
    return result;
}

TIGRIS_INLINE int32_t join_one(const tigris_pool_window *window, const int8_t *data, int is_max)
{
    int32_t result = is_max ? INT8_MIN : 0;
    uint32_t row = window->first;
    for (uint32_t i = 0; i < window->rows; i++) {
        const uint32_t end = row + window->reach;
        for (uint32_t at = row; at != end; at += window->column_step) {
            result = joined(result, data[at], is_max);
        }
        row += window->row_step;
    }
    return result;
}

/* One output pixel: four channels a step, then the rest. Constants are copied: the compiler must assume that writing
 * outputs changes the originals. */
TIGRIS_INLINE void join_pixel(const tigris_pool_window *shared_window, const divisor *shared_divisor,
                              const int8_t *data, uint32_t channels, int8_t *to, finish_function finish, int is_max)
{
    const tigris_pool_window window = *shared_window;
    const divisor by = *shared_divisor;
    uint32_t channel = 0;
    for (; channel + 4U <= channels; channel += 4U) {
        const four result = join_four(&window, data + channel, is_max);
        to[channel] = finish(&by, result.a);
        to[channel + 1U] = finish(&by, result.b);
        to[channel + 2U] = finish(&by, result.c);
        to[channel + 3U] = finish(&by, result.d);
    }
    for (; channel < channels; channel++) {
        to[channel] = finish(&by, join_one(&window, data + channel, is_max));
    }
}

TIGRIS_INLINE int32_t joined_taps(int32_t a, int32_t b, int32_t c, int32_t d, int is_max)
{
    return joined(joined(a, b, is_max), joined(c, d, is_max), is_max);
}

/* join_pixel for 2 x 2 taps, the commonest window: without loops over taps. `in_fours`: four channels a step. */
TIGRIS_INLINE void join_pixel_2x2(const tigris_pool_window *window, const divisor *shared_divisor, const int8_t *data,
                                  uint32_t channels, int8_t *to, finish_function finish, int is_max, int in_fours)
{
    const divisor by = *shared_divisor;
    const int8_t *a = data + window->first;
    const int8_t *b = a + window->column_step;
    const int8_t *c = a + window->row_step;
    const int8_t *d = c + window->column_step;
    for (uint32_t fours = in_fours ? channels / 4U : 0U; fours != 0U; fours--) {
        to[0] = finish(&by, joined_taps(a[0], b[0], c[0], d[0], is_max));
        to[1] = finish(&by, joined_taps(a[1], b[1], c[1], d[1], is_max));
        to[2] = finish(&by, joined_taps(a[2], b[2], c[2], d[2], is_max));
        to[3] = finish(&by, joined_taps(a[3], b[3], c[3], d[3], is_max));
        to += 4;
        a += 4;
        b += 4;
        c += 4;
        d += 4;
    }
    for (uint32_t left = in_fours ? channels % 4U : channels; left != 0U; left--) {
        *to++ = finish(&by, joined_taps(*a++, *b++, *c++, *d++, is_max));
    }
}

static void divide_pixel(const tigris_pool_window *window, const divisor *by, const int8_t *data, uint32_t channels,
                         int8_t *to)
{
    join_pixel(window, by, data, channels, to, quotient, 0);
}

static void divide_pixel_2x2(const tigris_pool_window *window, const divisor *by, const int8_t *data,
                             uint32_t channels, int8_t *to)
{
    join_pixel_2x2(window, by, data, channels, to, quotient, 0, 0);
}

static void rescale_pixel(const tigris_pool_window *window, const divisor *by, const int8_t *data, uint32_t channels,
                          int8_t *to)
{
    join_pixel(window, by, data, channels, to, scaled, 0);
}

static void rescale_pixel_2x2(const tigris_pool_window *window, const divisor *by, const int8_t *data,
                              uint32_t channels, int8_t *to)
{
    join_pixel_2x2(window, by, data, channels, to, scaled, 0, 1);
}

static void clamp_pixel(const tigris_pool_window *window, const divisor *by, const int8_t *data, uint32_t channels,
                        int8_t *to)
{
    join_pixel(window, by, data, channels, to, clamped, 1);
}

static void clamp_pixel_2x2(const tigris_pool_window *window, const divisor *by, const int8_t *data,
                            uint32_t channels, int8_t *to)
{
    join_pixel_2x2(window, by, data, channels, to, clamped, 1, 1);
}

/* `taps`: of the current window that are not padding. */
static inline divisor divisor_of(const tigris_kernel_call *call, int32_t taps)
{
    const tigris_pool_int8_params *params = tigris_params(call);
    const int32_t count = params->include_pad != 0U ? params->kernel_height * params->kernel_width : taps;
    divisor by = {{params->output_zero_point, params->activation_min, params->activation_max}, count, count / 2,
                  (count - (params->rescale == 2U ? 1 : 0)) / 2, (count - taps) * params->input_zero_point, 0, 0};
    if (params->rescale == 1U && count != 0) {
        by.constant -= count * params->input_zero_point;
        by.multiplier = tigris_int32_data(call, params->multiplier)[count - 1];
        by.shift = tigris_int8_data(call, params->shift)[count - 1];
    }
    return by;
}

/* All pixels of the band. */
TIGRIS_INLINE void run(const tigris_kernel_call *call, int is_max)
{
    const uint32_t channels = tigris_output_tensor(call)->channels;
    const int is_rescaled = ((const tigris_pool_int8_params *)tigris_params(call))->rescale == 1U;
    const int8_t *data = tigris_int8_input(call);
    divisor by = divisor_of(call, 1);
    int8_t *to = tigris_int8_output(call);
    tigris_pixel_loop loop;
    for (tigris_start_pixels(&loop, call, 0); loop.left > 0; tigris_next_pixel(&loop)) {
        const tigris_pool_window window = tigris_pool_window_of(&loop);
        const int is_2x2 = window.rows == 2U && window.reach == 2U * window.column_step;
        if (is_max) {
            (is_2x2 ? clamp_pixel_2x2 : clamp_pixel)(&window, &by, data, channels, to);
        } else {
            by = divisor_of(call, tigris_pool_taps(&loop.pixel));
            if (by.count == 0) {
                memset(to, tigris_clamp(by.output.zero_point, by.output.low, by.output.high), channels);
            } else if (is_rescaled) {
                (is_2x2 ? rescale_pixel_2x2 : rescale_pixel)(&window, &by, data, channels, to);
            } else {
                (is_2x2 ? divide_pixel_2x2 : divide_pixel)(&window, &by, data, channels, to);
            }
        }
        to += channels;
    }
}

static void run_average(const tigris_kernel_call *call)
{
    run(call, 0);
}

static void run_max(const tigris_kernel_call *call)
{
    run(call, 1);
}

static tigris_status check(const tigris_check_call *call)
{
    const tigris_pool_int8_params *params = call->params;
    const uint32_t taps = (uint32_t)params->kernel_height * params->kernel_width;
    const uint32_t most_rescale = call->op->kind == TIGRIS_OP_KIND_AVERAGE_POOL ? 2U : 0U;
    return tigris_check_result(
        tigris_check_pool(call, TIGRIS_DTYPE_INT8, taps) && params->rescale <= most_rescale &&
        params->include_pad <= 1U && tigris_check_int8(params->input_zero_point) &&
        tigris_check_int8(params->output_zero_point) &&
        tigris_check_range(params->activation_min, params->activation_max) &&
        (params->rescale != 1U || tigris_check_requantise(call, params->multiplier, params->shift, taps)));
}

TIGRIS_POOL_ENTRY(tigris_average_pool_int8, AVERAGE_POOL, INT8, tigris_pool_int8_params, run_average, check);
TIGRIS_POOL_ENTRY(tigris_max_pool_int8, MAX_POOL, INT8, tigris_pool_int8_params, run_max, check);
