/* Max pooling, int8. Padded taps do not count. */
#include "inlining.h"
#include "pool_int8.h"
#include "requantise.h"
#include "set.h"
#include "tigris_kernels.h"

static inline int32_t larger(int32_t a, int32_t b)
{
    return b > a ? b : a;
}

/* The largest taps of the channels at `data`. */
static inline tigris_pool_four largest_of_four(const tigris_pool_window *window, const int8_t *data)
{
    tigris_pool_four most = {INT8_MIN, INT8_MIN, INT8_MIN, INT8_MIN};
    uint32_t row = window->first;
    for (uint32_t i = 0; i < window->rows; i++) {
        const uint32_t end = row + window->reach;
        for (uint32_t at = row; at != end; at += window->column_step) {
            const int8_t *tap = data + at;
            most.a = larger(most.a, tap[0]);
            most.b = larger(most.b, tap[1]);
            most.c = larger(most.c, tap[2]);
            most.d = larger(most.d, tap[3]);
        }
        row += window->row_step;
    }
    return most;
}

static inline int32_t largest_of_one(const tigris_pool_window *window, const int8_t *data)
{
    int32_t most = INT8_MIN;
    uint32_t row = window->first;
    for (uint32_t i = 0; i < window->rows; i++) {
        const uint32_t end = row + window->reach;
        for (uint32_t at = row; at != end; at += window->column_step) {
            most = larger(most, data[at]);
        }
        row += window->row_step;
    }
    return most;
}

/* One output pixel: four channels a step, then the rest. Constants are copied: the compiler must assume that writing
 * outputs changes the originals. */
static void run_pixel(const tigris_pool_window *shared_window, const int8_t *data, uint32_t channels, int32_t low,
                      int32_t high, int8_t *to)
{
    const tigris_pool_window window = *shared_window;
    uint32_t channel = 0;
    for (; channel + 4U <= channels; channel += 4U) {
        const tigris_pool_four most = largest_of_four(&window, data + channel);
        to[channel] = (int8_t)tigris_clamp(most.a, low, high);
        to[channel + 1U] = (int8_t)tigris_clamp(most.b, low, high);
        to[channel + 2U] = (int8_t)tigris_clamp(most.c, low, high);
        to[channel + 3U] = (int8_t)tigris_clamp(most.d, low, high);
    }
    for (; channel < channels; channel++) {
        to[channel] = (int8_t)tigris_clamp(largest_of_one(&window, data + channel), low, high);
    }
}

/* The largest of four taps of one channel, clamped. */
TIGRIS_INLINE int8_t largest(int32_t a, int32_t b, int32_t c, int32_t d, int32_t low, int32_t high)
{
    return (int8_t)tigris_clamp(larger(larger(a, b), larger(c, d)), low, high);
}

/* One output pixel of a window of 2 x 2 taps: four channels a step, then the rest. */
static void run_pixel_2x2(const tigris_pool_window *window, const int8_t *data, uint32_t channels, int32_t low,
                          int32_t high, int8_t *to)
{
    const int8_t *a = data + window->first;
    const int8_t *b = a + window->column_step;
    const int8_t *c = a + window->row_step;
    const int8_t *d = c + window->column_step;
    for (uint32_t four = channels / 4U; four != 0U; four--) {
        to[0] = largest(a[0], b[0], c[0], d[0], low, high);
        to[1] = largest(a[1], b[1], c[1], d[1], low, high);
        to[2] = largest(a[2], b[2], c[2], d[2], low, high);
        to[3] = largest(a[3], b[3], c[3], d[3], low, high);
        to += 4;
        a += 4;
        b += 4;
        c += 4;
        d += 4;
    }
    for (uint32_t left = channels % 4U; left != 0U; left--) {
        *to++ = largest(*a++, *b++, *c++, *d++, low, high);
    }
}

TIGRIS_INLINE void write_pixel(const tigris_kernel_call *call, const tigris_pool_window *window, int8_t *to)
{
    const tigris_pool_int8_params *params = tigris_params(call);
    (tigris_pool_is_2x2(window) ? run_pixel_2x2 : run_pixel)(window, tigris_int8_input(call),
                                                             tigris_output_tensor(call)->channels,
                                                             params->activation_min, params->activation_max, to);
}

static void run(const tigris_kernel_call *call)
{
    tigris_pool_int8_run(call, write_pixel);
}

static tigris_status check(const tigris_check_call *call)
{
    const tigris_pool_int8_params *params = call->params;
    const uint32_t taps = (uint32_t)params->kernel_height * params->kernel_width;
    return tigris_check_result(tigris_check_pool(call, TIGRIS_DTYPE_INT8, taps) && params->rescale == 0U &&
                               tigris_check_range(params->activation_min, params->activation_max));
}

TIGRIS_SET_ENTRY(tigris_max_pool_int8, MAX_POOL, INT8, tigris_pool_int8_params, run, check);
