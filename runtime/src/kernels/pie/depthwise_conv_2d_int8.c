/* DEPTHWISE_CONV_2D, int8, of 3x3 kernels, sixteen channels at a time. If channels are whole vectors, or
 * eight, outputs whose windows lie inside are computed row by row. Others are computed from a patch that holds one
 * window. ESP32-S3. */
#include "layer.h"

#if defined(TIGRIS_PIE)

#include <string.h>

#include "../access.h"
#include "tigris_backends.h"

#define ROWS 3
#define TAPS 9U
#define HALF (TIGRIS_PIE_LANES / 2U)

typedef struct depthwise {
    const tigris_conv_int8_params *params;
    const tigris_band *in;
    tigris_pie_depthwise_kernel *run;
    tigris_pie_depthwise_kernel *run_pairs; /* of pixels with eight channels */
    tigris_pie_layer layer;
    uint32_t channels;
    uint32_t pitch; /* of a pixel in the patch: whole vectors */
    int8_t *patch;   /* a window, whose first pixel the output may overwrite */
    int8_t *padding; /* a pixel */
} depthwise;

static uint32_t scratch_of(uint32_t channels)
{
    return (TAPS + 1U) * tigris_pie_vectors(channels) * TIGRIS_PIE_LANES;
}

static tigris_pie_blocks blocks_of(uint32_t channels)
{
    const tigris_pie_blocks blocks = {tigris_pie_vectors(channels), TAPS * TIGRIS_PIE_LANES, 2U};
    return blocks;
}

/* Sets the functions of an ending, or NULL. */
static void choose_kernels(depthwise *d, tigris_pie_ending ending)
{
    static tigris_pie_depthwise_kernel *const kernels[] = {
        tigris_pie_depthwise_3x3_above, tigris_pie_depthwise_3x3, tigris_pie_depthwise_3x3_clamped,
        tigris_pie_depthwise_3x3_whole, tigris_pie_depthwise_3x3_whole_clamped};
    static tigris_pie_depthwise_kernel *const pairs[] = {
        tigris_pie_depthwise_3x3_pairs_above, tigris_pie_depthwise_3x3_pairs, tigris_pie_depthwise_3x3_pairs_clamped,
        tigris_pie_depthwise_3x3_pairs_whole, tigris_pie_depthwise_3x3_pairs_whole_clamped};
    d->run = ending < TIGRIS_PIE_LONG ? kernels[ending] : NULL;
    d->run_pairs = ending < TIGRIS_PIE_LONG ? pairs[ending] : NULL;
}

static const int8_t *pixel_of(const depthwise *d, int32_t row, int32_t column)
{
    const uint32_t pixel = (uint32_t)row * d->in->tensor->width + (uint32_t)column;
    return (const int8_t *)(const void *)d->in->data + pixel * d->channels;
}

/* The output pixel whose first tap is at `row` and `column` of the band. */
static void run_patch(const depthwise *d, int32_t row, int32_t column, int8_t *output)
{
    const tigris_conv_int8_params *params = d->params;
    const int32_t dilation = params->dilation_width, width = (int32_t)d->in->tensor->width;
    const int8_t *rows[ROWS];
    int8_t *to = d->patch;
    int32_t first = 0, end = ROWS; /* the columns inside */
    while (first < end && column + first * dilation < 0) {
        first++;
    }
    while (first < end && column + (end - 1) * dilation >= width) {
        end--;
    }
    tigris_pie_copy(to, d->padding, d->pitch, TAPS, d->pitch, 0U);
    for (int32_t i = 0; i < ROWS; i++, to += ROWS * d->pitch) {
        const int32_t y = row + i * params->dilation_height;
        rows[i] = to;
        if (y >= 0 && y < d->in->rows && first < end) {
            tigris_pie_copy(to + (uint32_t)first * d->pitch, pixel_of(d, y, column + first * dilation), d->channels,
                            (uint32_t)(end - first), d->pitch, (uint32_t)dilation * d->channels);
        }
    }
    const int writes = d->pitch == d->channels && tigris_pie_is_aligned(output, TIGRIS_PIE_LANES);
    int8_t *const result = writes ? output : d->patch;
    d->run(rows, result, &d->layer, 1U, (int32_t)d->pitch, 0);
    if (!writes) {
        memmove(output, result, d->channels);
    }
}

/* Output pixels from `first` up to `end` of a row, whose windows lie inside, except an odd one of eight channels at the
 * end. Returns the end. */
static int32_t run_inside(const depthwise *d, int32_t row, int32_t first, int32_t end, int8_t *output)
{
    const int32_t stride = d->params->stride_width, channels = (int32_t)d->channels;
    const int32_t column = first * stride - d->params->pad_left;
    const int8_t *rows[ROWS];
    for (int32_t i = 0; i < ROWS; i++) {
        rows[i] = pixel_of(d, row + i, column);
    }
    output += first * channels;
    if (channels == (int32_t)HALF) {
        if (end - first > 1) {
            d->run_pairs(rows, output, &d->layer, (uint32_t)(end - first) / 2U, channels, stride * channels);
        }
        return end - (end - first) % 2;
    }
    d->run(rows, output, &d->layer, (uint32_t)(end - first), channels, (stride - 1) * channels);
    return end;
}

/* Computes a row of the output. `vectors`: whether inner windows can be read and written in place. */
static void run_row(const depthwise *d, int32_t row, int32_t width, int vectors, int8_t *output)
{
    const tigris_conv_int8_params *params = d->params;
    const int32_t stride = params->stride_width, left = params->pad_left;
    const int32_t last = (int32_t)d->in->tensor->width - ROWS + left; /* the furthest first tap, padding counted */
    int32_t first = width, end = width;
    if (vectors && row >= 0 && row + ROWS <= d->in->rows && last >= left) {
        const int32_t begins = (left + stride - 1) / stride, ends = last / stride + 1;
        if (begins < width && begins < ends) {
            first = begins;
            end = run_inside(d, row, first, ends < width ? ends : width, output);
        }
    }
    for (int32_t x = first > 0 ? 0 : end; x < width; x = x + 1 == first ? end : x + 1) {
        run_patch(d, row, x * stride - left, output + (uint32_t)x * d->channels);
    }
}

static void run(const tigris_kernel_call *call)
{
    const tigris_conv_int8_params *params = call->params;
    const tigris_band *in = &call->inputs[0], *out = call->output;
    const uint32_t channels = in->tensor->channels;
    const int32_t width = (int32_t)out->tensor->width;
    int8_t *output = tigris_int8_output(call);
    depthwise d = {.params = params, .in = in, .channels = channels};
    choose_kernels(&d, tigris_pie_layer_of(call, params->weights, params->bias, blocks_of(channels), &d.layer));
    d.layer.low = (int8_t)params->activation_min;
    d.layer.high = (int8_t)params->activation_max;
    d.pitch = tigris_pie_vectors(channels) * TIGRIS_PIE_LANES;
    d.patch = (int8_t *)(void *)call->scratch;
    d.padding = d.patch + TAPS * d.pitch;
    if (d.run == NULL) {
        return;
    }
    memset(d.padding, params->input_zero_point, d.pitch);
    const uint32_t lanes = channels == HALF ? HALF : TIGRIS_PIE_LANES;
    const int vectors = channels % lanes == 0U && params->dilation_height == 1U && params->dilation_width == 1U &&
                        tigris_pie_is_aligned(output, lanes) &&
                        tigris_pie_is_aligned((const int8_t *)(const void *)in->data, lanes);
    for (int32_t y = 0; y < out->rows; y++, output += (uint32_t)width * channels) {
        run_row(&d, y * params->stride_height - in->pad_top, width, vectors, output);
    }
}

static tigris_status check(const tigris_check_call *call)
{
    const tigris_conv_int8_params *params = call->params;
    if (params->groups != 1U || params->kernel_height != ROWS || params->kernel_width != ROWS ||
        !tigris_check_conv_int8(call, 1U) || call->output->channels != call->inputs[0]->channels) {
        return TIGRIS_ERR_PARAMS;
    }
    const uint32_t channels = call->output->channels;
    return tigris_pie_check(call, params->weights, params->bias, blocks_of(channels), scratch_of(channels));
}

const tigris_kernel_entry tigris_pie_depthwise_conv_2d_int8 = {
    TIGRIS_OP_KIND_DEPTHWISE_CONV_2D, TIGRIS_DTYPE_INT8, TIGRIS_PACKING_PIE, sizeof(tigris_conv_int8_params), run,
    check};

#endif
