/* Average pooling, int8. Sums are exact: at most 2^22 taps of 2^8. */
#include <string.h>

#include "pool_int8.h"
#include "scale_int8.h"
#include "set.h"
#include "tigris_kernels.h"

/* The division of one output pixel's sums. */
typedef struct divisor {
    int32_t count;         /* taps that count; 0: all taps are padding */
    int32_t half_positive; /* added before the division of a sum of 0 and above */
    int32_t half_negative; /* subtracted before the division of a sum below 0 */
    int32_t constant;      /* added to each sum: padded taps that count, and with rescale the zero points */
    int32_t multiplier;    /* with rescale */
    int32_t shift;         /* with rescale */
    tigris_output_stage output;
} divisor;

/* Sums of the taps of the channels at `data`. */
static inline tigris_pool_four sum_four(const tigris_pool_window *window, const int8_t *data)
{
    tigris_pool_four sum = {0, 0, 0, 0};
    uint32_t row = window->first;
    for (uint32_t i = 0; i < window->rows; i++) {
        const uint32_t end = row + window->reach;
        for (uint32_t at = row; at != end; at += window->column_step) {
            const int8_t *tap = data + at;
            sum.a += tap[0];
            sum.b += tap[1];
            sum.c += tap[2];
            sum.d += tap[3];
        }
        row += window->row_step;
    }
    return sum;
}

static inline int32_t sum_one(const tigris_pool_window *window, const int8_t *data)
{
    int32_t sum = 0;
    uint32_t row = window->first;
    for (uint32_t i = 0; i < window->rows; i++) {
        const uint32_t end = row + window->reach;
        for (uint32_t at = row; at != end; at += window->column_step) {
            sum += data[at];
        }
        row += window->row_step;
    }
    return sum;
}

/* sum / count, halves away from zero or up. */
static inline int8_t quotient(const divisor *by, int32_t sum)
{
    const int32_t whole = sum + by->constant;
    return (int8_t)tigris_clamp((whole >= 0 ? whole + by->half_positive : whole - by->half_negative) / by->count,
                                by->output.low, by->output.high);
}

/* `constant` holds the zero points too. Sums are below 2^30, so tigris_requantise_right_shift cannot overflow for a
 * right shift of 1 either. */
static inline int8_t scaled(const divisor *by, tigris_scale scale, int32_t sum)
{
    const int32_t whole = sum + by->constant;
    return by->shift < 0 ? (int8_t)tigris_requantise_right_shift((uint32_t)whole, scale, by->output)
                         : tigris_to_int8(whole, by->multiplier, by->shift, &by->output);
}

/* One output pixel: four channels a step, then the rest. Constants are copied: the compiler must assume that writing
 * outputs changes the originals. */
static void run_pixel(const tigris_pool_window *shared_window, const divisor *shared_divisor, const int8_t *data,
                      uint32_t channels, int8_t *to)
{
    const tigris_pool_window window = *shared_window;
    const divisor by = *shared_divisor;
    uint32_t channel = 0;
    for (; channel + 4U <= channels; channel += 4U) {
        const tigris_pool_four sum = sum_four(&window, data + channel);
        to[channel] = quotient(&by, sum.a);
        to[channel + 1U] = quotient(&by, sum.b);
        to[channel + 2U] = quotient(&by, sum.c);
        to[channel + 3U] = quotient(&by, sum.d);
    }
    for (; channel < channels; channel++) {
        to[channel] = quotient(&by, sum_one(&window, data + channel));
    }
}

/* One output pixel of a window of 2 x 2 taps, which needs no loops over taps. */
static void run_pixel_2x2(const tigris_pool_window *window, const divisor *shared_divisor, const int8_t *data,
                          uint32_t channels, int8_t *to)
{
    const divisor by = *shared_divisor;
    const int8_t *a = data + window->first;
    const int8_t *b = a + window->column_step;
    const int8_t *c = a + window->row_step;
    const int8_t *d = c + window->column_step;
    for (const int8_t *const end = to + channels; to != end; to++) {
        *to = quotient(&by, *a++ + *b++ + *c++ + *d++);
    }
}

/* One output pixel, rescaled: the scales of input and output differ. */
static void rescale_pixel(const tigris_pool_window *shared_window, const divisor *shared_divisor, const int8_t *data,
                          uint32_t channels, int8_t *to)
{
    const tigris_pool_window window = *shared_window;
    const divisor by = *shared_divisor;
    const tigris_scale scale = tigris_scale_of(by.multiplier, by.shift, by.output);
    uint32_t channel = 0;
    for (; channel + 4U <= channels; channel += 4U) {
        const tigris_pool_four sum = sum_four(&window, data + channel);
        to[channel] = scaled(&by, scale, sum.a);
        to[channel + 1U] = scaled(&by, scale, sum.b);
        to[channel + 2U] = scaled(&by, scale, sum.c);
        to[channel + 3U] = scaled(&by, scale, sum.d);
    }
    for (; channel < channels; channel++) {
        to[channel] = scaled(&by, scale, sum_one(&window, data + channel));
    }
}

/* One output pixel of a window of 2 x 2 taps, rescaled: four channels a step, then the rest. */
static void rescale_pixel_2x2(const tigris_pool_window *window, const divisor *shared_divisor, const int8_t *data,
                              uint32_t channels, int8_t *to)
{
    const divisor by = *shared_divisor;
    const tigris_scale scale = tigris_scale_of(by.multiplier, by.shift, by.output);
    const int8_t *a = data + window->first;
    const int8_t *b = a + window->column_step;
    const int8_t *c = a + window->row_step;
    const int8_t *d = c + window->column_step;
    for (uint32_t four = channels / 4U; four != 0U; four--) {
        to[0] = scaled(&by, scale, a[0] + b[0] + c[0] + d[0]);
        to[1] = scaled(&by, scale, a[1] + b[1] + c[1] + d[1]);
        to[2] = scaled(&by, scale, a[2] + b[2] + c[2] + d[2]);
        to[3] = scaled(&by, scale, a[3] + b[3] + c[3] + d[3]);
        to += 4;
        a += 4;
        b += 4;
        c += 4;
        d += 4;
    }
    for (uint32_t left = channels % 4U; left != 0U; left--) {
        *to++ = scaled(&by, scale, *a++ + *b++ + *c++ + *d++);
    }
}

static divisor divisor_of(const tigris_kernel_call *call, int32_t taps)
{
    const tigris_pool_int8_params *params = tigris_params(call);
    const int32_t count = params->include_pad != 0U ? params->kernel_height * params->kernel_width : taps;
    divisor by = {count, count / 2, (count - (params->rescale == 2U ? 1 : 0)) / 2, (count - taps) * params->input_zero_point, 0, 0,
                  {params->output_zero_point, params->activation_min, params->activation_max}};
    if (params->rescale == 1U && count != 0) {
        by.constant -= count * params->input_zero_point;
        by.multiplier = tigris_int32_data(call, params->multiplier)[count - 1];
        by.shift = tigris_int8_data(call, params->shift)[count - 1];
    }
    return by;
}

TIGRIS_INLINE void write_pixel(const tigris_kernel_call *call, const tigris_pool_window *window, int8_t *to)
{
    const uint32_t channels = tigris_output_tensor(call)->channels;
    const int is_rescaled = ((const tigris_pool_int8_params *)tigris_params(call))->rescale == 1U;
    const int8_t *data = tigris_int8_input(call);
    const divisor by = divisor_of(call, window->taps);
    if (by.count == 0) {
        memset(to, tigris_clamp(by.output.zero_point, by.output.low, by.output.high), channels);
    } else if (is_rescaled) {
        (tigris_pool_is_2x2(window) ? rescale_pixel_2x2 : rescale_pixel)(window, &by, data, channels, to);
    } else {
        (tigris_pool_is_2x2(window) ? run_pixel_2x2 : run_pixel)(window, &by, data, channels, to);
    }
}

static void run(const tigris_kernel_call *call)
{
    tigris_pool_int8_run(call, write_pixel);
}

static tigris_status check(const tigris_check_call *call)
{
    const tigris_pool_int8_params *params = call->params;
    const uint32_t taps = (uint32_t)params->kernel_height * params->kernel_width;
    return tigris_check_result(
        tigris_check_pool(call, TIGRIS_DTYPE_INT8, taps) && params->rescale <= 2U &&
        params->include_pad <= 1U && tigris_check_int8(params->input_zero_point) &&
        tigris_check_int8(params->output_zero_point) &&
        tigris_check_range(params->activation_min, params->activation_max) &&
        (params->rescale != 1U ||
         tigris_check_requantise(call, params->multiplier, params->shift, taps)));
}

TIGRIS_SET_ENTRY(tigris_average_pool_int8, AVERAGE_POOL, INT8, tigris_pool_int8_params, run, check);
