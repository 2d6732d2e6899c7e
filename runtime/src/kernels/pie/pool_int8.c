/* AVERAGE_POOL and MAX_POOL, int8, of channels in multiples of eight: the portable entries call these functions. Output
 * pixels of a row whose windows have the same taps are computed together. ESP32-S3. */
#include "layer.h"

#if defined(TIGRIS_PIE)

#include <string.h>

#include "../pool_int8.h"
#include "../requantise.h"

#define FRACTION 14U /* bits of a multiplier */
#define UNIT 7U

/* Sets the constants of an average of `count` taps, of which `padded` are padding, for sums of at most 128 * count.
 * multiplier * count exceeds 2^shift by at most `count`, which rounds halves away from zero; more offset rounds them up. */
static void set_divisor(tigris_pie_pool *pool, const tigris_pool_int8_params *params, int32_t count, int32_t padded)
{
    pool->shift = FRACTION;
    while (1 << (pool->shift - FRACTION) < count) {
        pool->shift++;
    }
    const int32_t one = 1 << pool->shift, multiplier = one / count + 1, is_up = params->rescale == 2U && count % 2 == 0;
    pool->start = (int16_t)(padded * params->input_zero_point);
    pool->multiplier = (int16_t)multiplier;
    pool->offset = (int16_t)((one >> (UNIT + 1U)) + (is_up ? multiplier * count - one : 0));
    pool->unit = 1 << UNIT;
}

static int are_equal(tigris_taps a, tigris_taps b)
{
    return a.first == b.first && a.end == b.end;
}

/* Goes to the next pixel whose window has other taps or lies in another row; returns how many it passes. */
static uint32_t pass_equal(tigris_pixel_loop *loop)
{
    const tigris_taps columns = loop->pixel.columns;
    uint32_t pixels = 0;
    do {
        tigris_next_pixel(loop);
        pixels++;
    } while (loop->left > 0 && loop->x != 0 && are_equal(columns, loop->pixel.columns));
    return pixels;
}

static int run(const tigris_kernel_call *call, int is_max)
{
    const tigris_pool_int8_params *params = call->params;
    const int32_t size = params->kernel_height * params->kernel_width, has_pad = params->include_pad != 0U;
    const uint32_t channels = call->output->tensor->channels;
    const int8_t *data = tigris_int8_input(call);
    int8_t *to = tigris_int8_output(call);
    tigris_pie_pool pool = {.low = (int8_t)params->activation_min, .high = (int8_t)params->activation_max};
    if ((((uintptr_t)data | (uintptr_t)to | channels) & (TIGRIS_PIE_OUTPUTS - 1U)) != 0U ||
        (!is_max && (params->rescale == 1U || size > TIGRIS_PIE_LARGEST_POOL))) {
        return 0;
    }
    tigris_pixel_loop loop;
    tigris_start_pixels(&loop, call, 0);
    while (loop.left > 0) {
        const tigris_pool_window taps = tigris_pool_window_of(&loop);
        const int32_t inside = tigris_pool_taps(&loop.pixel);
        const tigris_pie_window window = {taps.rows, taps.reach / taps.column_step, taps.column_step,
                                          taps.row_step - taps.reach, params->stride_width * channels};
        const uint32_t pixels = pass_equal(&loop);
        if (inside == 0) {
            const int32_t empty = has_pad ? params->input_zero_point : params->output_zero_point;
            memset(to, is_max ? pool.low : tigris_clamp(empty, pool.low, pool.high), pixels * channels);
        } else if (is_max) {
            tigris_pie_max_pool(data + taps.first, to, &window, channels, &pool, pixels);
        } else {
            set_divisor(&pool, params, has_pad ? size : inside, has_pad ? size - inside : 0);
            tigris_pie_average_pool(data + taps.first, to, &window, channels, &pool, pixels);
        }
        to += pixels * channels;
    }
    return 1;
}

int tigris_average_pool_int8_by_set(const tigris_kernel_call *call)
{
    return run(call, 0);
}

int tigris_max_pool_int8_by_set(const tigris_kernel_call *call)
{
    return run(call, 1);
}

#endif
