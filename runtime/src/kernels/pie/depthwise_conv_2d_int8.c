/* DEPTHWISE_CONV_2D, int8, sixteen channels at a time. If channels are whole vectors, or eight for 3x3 kernels, outputs
 * whose windows lie inside are computed row by row. Others are computed from a patch that holds one window. ESP32-S3. */
#include "layer.h"

#if defined(TIGRIS_PIE)

#include <string.h>

#include "../access.h"
#include "tigris_backends.h"

#define HALF (TIGRIS_PIE_LANES / 2U)

typedef struct depthwise {
    const tigris_conv_int8_params *params;
    const tigris_band *in;
    tigris_pie_depthwise_kernel *run;
    tigris_pie_depthwise_kernel *run_pairs; /* of 3x3 kernels and eight channels, else NULL */
    tigris_pie_layer layer;
    uint32_t channels;
    uint32_t pitch;     /* of a pixel in the patch: whole vectors */
    uint32_t row_bytes; /* from a kernel's row to the next in the input */
    int32_t reach_y;    /* rows from a window's first to its last */
    int32_t reach_x;
    int8_t *patch;   /* a window, whose first pixel the output may overwrite */
    int8_t *padding; /* a pixel */
} depthwise;

static uint32_t taps_of(const tigris_conv_int8_params *params)
{
    return (uint32_t)params->kernel_height * params->kernel_width;
}

static uint32_t scratch_of(uint32_t taps, uint32_t channels)
{
    return tigris_multiply(taps + 1U, tigris_pie_vectors(channels) * TIGRIS_PIE_LANES);
}

static tigris_pie_blocks blocks_of(uint32_t taps, uint32_t channels)
{
    const tigris_pie_blocks blocks = {tigris_pie_vectors(channels), tigris_multiply(taps, TIGRIS_PIE_LANES), 2U};
    return blocks;
}

/* Sets the functions of an ending of short sums. */
static void choose_kernels(depthwise *d, tigris_pie_ending ending)
{
    static tigris_pie_depthwise_kernel *const kernels[][TIGRIS_PIE_LONG] = {
        {tigris_pie_depthwise_above, tigris_pie_depthwise, tigris_pie_depthwise_clamped, tigris_pie_depthwise_whole,
         tigris_pie_depthwise_whole_clamped},
        {tigris_pie_depthwise_3x3_above, tigris_pie_depthwise_3x3, tigris_pie_depthwise_3x3_clamped,
         tigris_pie_depthwise_3x3_whole, tigris_pie_depthwise_3x3_whole_clamped},
        {tigris_pie_depthwise_3x3_pairs_above, tigris_pie_depthwise_3x3_pairs, tigris_pie_depthwise_3x3_pairs_clamped,
         tigris_pie_depthwise_3x3_pairs_whole, tigris_pie_depthwise_3x3_pairs_whole_clamped},
    };
    const int is_3x3 = d->params->kernel_height == 3U && d->params->kernel_width == 3U;
    d->run = kernels[is_3x3][ending];
    d->run_pairs = is_3x3 && d->channels == HALF ? kernels[2][ending] : NULL;
}

static const int8_t *pixel_of(const depthwise *d, int32_t row, int32_t column)
{
    const uint32_t pixel = (uint32_t)row * d->in->tensor->width + (uint32_t)column;
    return (const int8_t *)(const void *)d->in->data + pixel * d->channels;
}

/* The window of a kernel. Steps in bytes: from row to row, from tap to tap, and from window to window. */
static tigris_pie_window window_of(const depthwise *d, uint32_t row, uint32_t tap, uint32_t next)
{
    const uint32_t height = d->params->kernel_height, width = d->params->kernel_width;
    const tigris_pie_window column = {1U, height, row, 0U, next}, window = {height, width, tap, row - width * tap, next};
    return width == 1U ? column : window;
}

/* The output pixel whose first tap is at `row` and `column` of the band. */
static void run_patch(const depthwise *d, int32_t row, int32_t column, int8_t *output)
{
    const tigris_conv_int8_params *params = d->params;
    const int32_t dilation = params->dilation_width, width = (int32_t)d->in->tensor->width;
    const uint32_t row_bytes = params->kernel_width * d->pitch;
    int32_t first = 0, end = params->kernel_width; /* the columns inside */
    while (first < end && column + first * dilation < 0) {
        first++;
    }
    while (first < end && column + (end - 1) * dilation >= width) {
        end--;
    }
    if (row < 0 || row + d->reach_y >= d->in->rows || end - first != params->kernel_width) {
        tigris_pie_copy(d->patch, d->padding, d->pitch, taps_of(params), d->pitch, 0U);
    }
    int8_t *to = d->patch + (uint32_t)first * d->pitch;
    for (int32_t i = 0; i < params->kernel_height && first < end; i++, to += row_bytes) {
        const int32_t y = row + i * params->dilation_height;
        if (y >= 0 && y < d->in->rows) {
            tigris_pie_copy(to, pixel_of(d, y, column + first * dilation), d->channels, (uint32_t)(end - first),
                            d->pitch, (uint32_t)dilation * d->channels);
        }
    }
    const int writes = d->pitch == d->channels && tigris_pie_is_aligned(output, TIGRIS_PIE_LANES);
    int8_t *const result = writes ? output : d->patch;
    const tigris_pie_window window = window_of(d, row_bytes, d->pitch, d->pitch);
    d->run(d->patch, result, &d->layer, 1U, &window);
    if (!writes) {
        memmove(output, result, d->channels);
    }
}

/* Output pixels from `first` up to `end` of a row, whose windows lie inside, except an odd one of eight channels at the
 * end. Returns the end. */
static int32_t run_inside(const depthwise *d, int32_t row, int32_t first, int32_t end, int8_t *output)
{
    const int32_t column = first * d->params->stride_width - d->params->pad_left;
    const tigris_pie_window window = window_of(d, d->row_bytes, d->params->dilation_width * d->channels,
                                               d->params->stride_width * d->channels);
    const uint32_t pixels = (uint32_t)(end - first), odd = d->run_pairs != NULL ? pixels % 2U : 0U;
    tigris_pie_depthwise_kernel *const own = d->run_pairs != NULL ? d->run_pairs : d->run;
    const uint32_t count = d->run_pairs != NULL ? pixels / 2U : pixels;
    if (count != 0U) {
        own(pixel_of(d, row, column), output + (uint32_t)first * d->channels, &d->layer, count, &window);
    }
    return end - (int32_t)odd;
}

/* Computes a row of the output. `vectors`: whether inner windows can be read and written in place. */
static void run_row(const depthwise *d, int32_t row, int32_t width, int vectors, int8_t *output)
{
    const tigris_conv_int8_params *params = d->params;
    const int32_t stride = params->stride_width, left = params->pad_left;
    const int32_t last = (int32_t)d->in->tensor->width - 1 - d->reach_x + left; /* the furthest first tap, padding counted */
    int32_t first = width, end = width;
    if (vectors && row >= 0 && row + d->reach_y < d->in->rows && last >= left) {
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
    const uint32_t channels = in->tensor->channels, taps = taps_of(params);
    const int32_t width = (int32_t)out->tensor->width;
    int8_t *output = tigris_int8_output(call);
    depthwise d = {.params = params, .in = in, .channels = channels};
    const tigris_pie_ending ending =
        tigris_pie_layer_of(call, params->weights, params->bias, blocks_of(taps, channels), &d.layer);
    if (ending >= TIGRIS_PIE_LONG) {
        return;
    }
    choose_kernels(&d, ending);
    d.layer.low = (int8_t)params->activation_min;
    d.layer.high = (int8_t)params->activation_max;
    d.pitch = tigris_pie_vectors(channels) * TIGRIS_PIE_LANES;
    d.row_bytes = params->dilation_height * tigris_row_bytes(in->tensor);
    d.reach_y = (params->kernel_height - 1) * params->dilation_height;
    d.reach_x = (params->kernel_width - 1) * params->dilation_width;
    d.patch = (int8_t *)(void *)call->scratch;
    d.padding = d.patch + taps * d.pitch;
    memset(d.padding, params->input_zero_point, d.pitch);
    const uint32_t lanes = d.run_pairs != NULL ? HALF : TIGRIS_PIE_LANES;
    const int vectors = channels % lanes == 0U && tigris_pie_is_aligned(output, lanes) &&
                        tigris_pie_is_aligned((const int8_t *)(const void *)in->data, lanes);
    for (int32_t y = 0; y < out->rows; y++, output += (uint32_t)width * channels) {
        run_row(&d, y * params->stride_height - in->pad_top, width, vectors, output);
    }
}

static tigris_status check(const tigris_check_call *call)
{
    const tigris_conv_int8_params *params = call->params;
    if (params->groups != 1U || !tigris_check_conv_int8(call, 1U) ||
        call->output->channels != call->inputs[0]->channels) {
        return TIGRIS_ERR_PARAMS;
    }
    const uint32_t channels = call->output->channels, taps = taps_of(params);
    return tigris_pie_check(call, params->weights, params->bias, blocks_of(taps, channels), scratch_of(taps, channels));
}

const tigris_kernel_entry tigris_pie_depthwise_conv_2d_int8 = {
    TIGRIS_OP_KIND_DEPTHWISE_CONV_2D, TIGRIS_DTYPE_INT8, TIGRIS_PACKING_PIE, sizeof(tigris_conv_int8_params), run,
    check};

#endif
