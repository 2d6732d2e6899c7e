/* CONV_2D, DEPTHWISE_CONV_2D and FULLY_CONNECTED, int16 with weights of int8: the portable entries call these functions.
 * A convolution reads rows of its window in place, or copies a small window to a patch. ESP32-S3. */
#include "layer.h"

#if defined(TIGRIS_PIE)

#include <string.h>

#include "../tile_int16.h"
#include "../window.h"

#define BLOCK 16U /* outputs that are computed together */
#define HALF 8U   /* elements of a vector */

/* A layer's weights, and the output stage of each output. */
typedef struct layer {
    const int8_t *weights;
    tigris_outputs_int16 scales;
    uint32_t outputs;
    uint32_t window; /* weights of an output */
} layer;

/* Rows of inputs and weights of an output: `count` of each, so many from row to row. */
typedef struct rows {
    const int16_t *input;
    uint32_t weight;
    uint32_t rows;
    uint32_t count;
    uint32_t input_step;
    uint32_t weight_step;
} rows;

/* Scales the sums of `count` outputs, without biases, from `first` on. */
static void finish(const layer *l, const int64_t *sums, uint32_t first, uint32_t count, int16_t *to)
{
    const tigris_outputs_int16 *scales = &l->scales;
    for (uint32_t i = first; i < first + count; i++) {
        const int64_t sum = (int64_t)tigris_int64_at(scales->bias, (int32_t)i) + *sums++;
        to[i] = tigris_to_int16(sum, scales->multiplier[i], scales->shift[i], &scales->stage);
    }
}

/* Computes all outputs of a vector or a window. */
static void run_rows(const layer *l, const rows *given, int16_t *to)
{
    for (uint32_t first = 0; first < l->outputs; first += BLOCK) {
        const uint32_t count = l->outputs - first < BLOCK ? l->outputs - first : BLOCK;
        int64_t sums[BLOCK] = {0};
        for (uint32_t row = 0; row < given->rows; row++) {
            const int16_t *input = given->input + row * given->input_step;
            const int8_t *weights = l->weights + first * l->window + given->weight + row * given->weight_step;
            for (uint32_t at = 0; at < given->count; at += TIGRIS_SAFE_PRODUCTS) {
                const uint32_t left = given->count - at;
                int32_t part[BLOCK];
                tigris_pie_sum_rows(part, input + at, weights + at, l->window, count,
                                    left < TIGRIS_SAFE_PRODUCTS ? left : TIGRIS_SAFE_PRODUCTS);
                for (uint32_t i = 0; i < count; i++) {
                    sums[i] += part[i];
                }
            }
        }
        finish(l, sums, first, count, to);
    }
}

/* The layer of a call with `made` outputs, each of `each` weights. */
#define LAYER(params, made, each)                                                                                      \
    {tigris_int8_data(call, (params)->weights), TIGRIS_OUTPUTS_INT16(call, params), made, each}

static int are_vectors(const void *values, uint32_t elements)
{
    return elements % HALF == 0U && tigris_pie_is_aligned(values, TIGRIS_PIE_LANES);
}

int tigris_fully_connected_int16_by_set(const tigris_kernel_call *call)
{
    const tigris_fully_connected_int16_params *params = call->params;
    const uint32_t each = params->in_features;
    const uint32_t row_vectors = tigris_row_elements(call->output->tensor) / params->out_features;
    const layer l = LAYER(params, params->out_features, each);
    const uint32_t held = (uint32_t)tigris_first_row(&call->inputs[0]) * tigris_row_elements(call->inputs[0].tensor);
    const int16_t *input = (const int16_t *)(const void *)call->inputs[0].data +
                           ((uint32_t)tigris_output_first(call) * row_vectors * each - held);
    int16_t *to = tigris_int16_output(call);
    if (!are_vectors(input, each)) {
        return 0;
    }
    for (uint32_t left = (uint32_t)call->output->rows * row_vectors; left > 0U; left--) {
        const rows vector = {input, 0U, 1U, each, 0U, 0U};
        run_rows(&l, &vector, to);
        input += each;
        to += l.outputs;
    }
    return 1;
}

/* The taps of a pixel: rows of the window in place. No rows if all taps are padding. */
static rows taps_of(const tigris_kernel_call *call, const tigris_pixel *at, uint32_t depth)
{
    const tigris_conv_int16_params *params = call->params;
    const uint32_t width = params->kernel_width, columns = (uint32_t)tigris_tap_count(at->columns);
    rows taps = {(const int16_t *)(const void *)call->inputs[0].data,
                 (at->rows.first * width + at->columns.first) * depth,
                 columns == 0U ? 0U : (uint32_t)tigris_tap_count(at->rows), columns * depth,
                 params->dilation_height * tigris_row_elements(call->inputs[0].tensor), width * depth};
    if (taps.rows != 0U) {
        taps.input += tigris_tap_offset(call, at, at->rows.first, at->columns.first);
    }
    return taps;
}

/* The taps of a pixel as one row in `patch`, with zeros for padding and behind them. */
static rows patch_of(const tigris_kernel_call *call, rows taps, uint32_t depth, uint32_t window, int16_t *patch)
{
    const tigris_conv_int16_params *params = call->params;
    const uint32_t step = params->dilation_width == 1U ? taps.count : depth;
    const rows whole = {patch, 0U, 1U, window, 0U, 0U};
    memset(patch, 0, (window + HALF - 1U) / HALF * TIGRIS_PIE_LANES);
    for (uint32_t row = 0; row < taps.rows; row++) {
        const int16_t *from = taps.input + row * taps.input_step;
        int16_t *to = patch + taps.weight + row * taps.weight_step;
        for (uint32_t at = 0; at < taps.count; at += step) {
            memcpy(to + at, from + at * params->dilation_width, step * sizeof *to);
        }
    }
    return whole;
}

int tigris_conv_2d_int16_by_set(const tigris_kernel_call *call)
{
    const tigris_conv_int16_params *params = call->params;
    const uint32_t depth = call->inputs[0].tensor->channels;
    const uint32_t window = (uint32_t)params->kernel_height * params->kernel_width * depth;
    const layer l = LAYER(params, call->output->tensor->channels, window);
    const int in_place = params->dilation_width == 1U && are_vectors(call->inputs[0].data, depth);
    int16_t memory[TIGRIS_SAFE_PRODUCTS + HALF];
    int16_t *const patch = memory + (-(uintptr_t)memory & (TIGRIS_PIE_LANES - 1U)) / sizeof *memory;
    int16_t *to = tigris_int16_output(call);
    if (params->groups != 1U || params->weight_bytes != 1U || !(in_place || window <= TIGRIS_SAFE_PRODUCTS)) {
        return 0;
    }
    tigris_pixel_loop loop;
    for (tigris_start_pixels(&loop, call, 0); loop.left > 0; tigris_next_pixel(&loop)) {
        const rows in = taps_of(call, &loop.pixel, depth);
        const rows taps = in_place ? in : patch_of(call, in, depth, window, patch);
        run_rows(&l, &taps, to);
        to += l.outputs;
    }
    return 1;
}

int tigris_depthwise_conv_2d_int16_by_set(const tigris_kernel_call *call)
{
    const tigris_conv_int16_params *params = call->params;
    const uint32_t channels = call->inputs[0].tensor->channels, step = params->dilation_width * channels;
    const layer l = LAYER(params, call->output->tensor->channels, 1U);
    int16_t *to = tigris_int16_output(call);
    if (l.outputs != channels || !are_vectors(call->inputs[0].data, channels) ||
        !tigris_pie_is_aligned(l.weights, HALF) || params->kernel_height * params->kernel_width > TIGRIS_SAFE_PRODUCTS) {
        return 0;
    }
    tigris_pixel_loop loop;
    for (tigris_start_pixels(&loop, call, 0); loop.left > 0; tigris_next_pixel(&loop)) {
        const rows taps = taps_of(call, &loop.pixel, channels);
        const tigris_pie_window window = {taps.rows, taps.count / channels, 2U * step,
                                          2U * (taps.input_step - taps.count * params->dilation_width), 0U};
        for (uint32_t channel = 0; channel < channels; channel += HALF) {
            int64_t sums[HALF] = {0};
            int32_t part[HALF] = {0};
            if (taps.rows != 0U) {
                tigris_pie_sum_eight(part, taps.input + channel, l.weights + taps.weight + channel, &window, channels,
                                     taps.weight_step - taps.count);
            }
            for (uint32_t i = 0; i < HALF; i++) {
                sums[i] = part[i];
            }
            finish(&l, sums, channel, HALF, to);
        }
        to += channels;
    }
    return 1;
}
#endif
