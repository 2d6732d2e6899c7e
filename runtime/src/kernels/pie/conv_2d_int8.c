/* CONV_2D, int8, one group, by sums over whole vectors. A 1x1 kernel reads the pixels in place; any other reads a
 * patch that holds the window of one output pixel. ESP32-S3. */
#include "layer.h"

#if defined(TIGRIS_PIE)

#include <string.h>

#include "../access.h"
#include "../window.h"
#include "tigris_backends.h"

#define MOST_ROWS 8 /* of a window that tigris_pie_gather copies */

typedef struct conv {
    const tigris_conv_int8_params *params;
    const tigris_band *in;
    tigris_pie_dense_layer dense;
    uint32_t channels;
    uint32_t row_bytes; /* of the input */
    uint32_t row_taps;  /* bytes of a window's row */
} conv;

static uint32_t window_of(const tigris_conv_int8_params *params, uint32_t channels)
{
    return (uint32_t)params->kernel_height * params->kernel_width * channels;
}

/* Copies a row of a window, padding included; its taps `columns` lie inside, the first of them at `input`. */
static void copy_row(const conv *c, const int8_t *input, tigris_taps columns, int8_t *to)
{
    const uint32_t channels = c->channels, step = c->params->dilation_width * channels;
    memset(to, c->params->input_zero_point, c->row_taps);
    to += (uint32_t)columns.first * channels;
    if (c->params->dilation_width == 1U) {
        memmove(to, input, (uint32_t)(columns.end - columns.first) * channels);
        return;
    }
    for (int32_t i = columns.first; i < columns.end; i++, input += step, to += channels) {
        memmove(to, input, channels);
    }
}

/* Copies the window of a pixel to the patch. */
static void copy_window(const conv *c, const tigris_kernel_call *call, const tigris_pixel *pixel)
{
    const int32_t first = pixel->columns.first;
    int8_t *to = c->dense.patch;
    for (int32_t i = 0; i < c->params->kernel_height; i++, to += c->row_taps) {
        if (i < pixel->rows.first || i >= pixel->rows.end || first == pixel->columns.end) {
            memset(to, c->params->input_zero_point, c->row_taps);
        } else {
            copy_row(c, (const int8_t *)(const void *)c->in->data + tigris_tap_offset(call, pixel, i, first),
                     pixel->columns, to);
        }
    }
}

/* copy_window for a window that lies inside, in whole vectors. Returns 0 if it does not. */
static int gather_window(const conv *c, const tigris_kernel_call *call, const tigris_pixel *pixel)
{
    const tigris_conv_int8_params *params = c->params;
    const int8_t *rows[MOST_ROWS];
    const int8_t *from = (const int8_t *)(const void *)c->in->data;
    const uint32_t step = params->dilation_height * c->row_bytes;
    if (params->kernel_height > MOST_ROWS || params->dilation_width != 1U ||
        tigris_tap_count(pixel->rows) != params->kernel_height ||
        tigris_tap_count(pixel->columns) != params->kernel_width || c->row_taps % TIGRIS_PIE_LANES != 0U ||
        step % TIGRIS_PIE_LANES != 0U) {
        return 0;
    }
    from += tigris_tap_offset(call, pixel, 0, 0);
    if (!tigris_pie_is_aligned(from, TIGRIS_PIE_LANES)) {
        return 0;
    }
    for (int32_t i = 0; i < params->kernel_height; i++, from += step) {
        rows[i] = from;
    }
    tigris_pie_gather(c->dense.patch, rows, c->row_taps / TIGRIS_PIE_LANES, params->kernel_height);
    return 1;
}

/* Whether each output pixel reads one input pixel, in order. */
static int is_pointwise(const tigris_kernel_call *call)
{
    const tigris_conv_int8_params *params = call->params;
    const tigris_band *in = &call->inputs[0];
    return params->kernel_height == 1U && params->kernel_width == 1U && params->stride_height == 1U &&
           params->stride_width == 1U && params->pad_left == 0U && in->pad_top == 0 && in->pad_bottom == 0 &&
           in->rows >= call->output->rows && in->tensor->width == call->output->tensor->width;
}

static void run(const tigris_kernel_call *call)
{
    const tigris_conv_int8_params *params = call->params;
    const tigris_band *in = &call->inputs[0], *out = call->output;
    const uint32_t outputs = out->tensor->channels, channels = in->tensor->channels;
    int8_t *output = tigris_int8_output(call);
    conv c = {params, in, tigris_pie_dense_of(call, params->weights, params->bias, window_of(params, channels), outputs),
              channels, tigris_row_bytes(in->tensor), params->kernel_width * channels};
    c.dense.layer.low = (int8_t)params->activation_min;
    c.dense.layer.high = (int8_t)params->activation_max;
    if (c.dense.run == NULL) {
        return;
    }
    if (is_pointwise(call)) {
        tigris_pie_run_dense(&c.dense, (const int8_t *)(const void *)in->data, output,
                             (uint32_t)out->rows * out->tensor->width);
        return;
    }
    tigris_pixel_loop loop;
    for (tigris_start_pixels(&loop, call, 0); loop.left > 0; tigris_next_pixel(&loop)) {
        if (!gather_window(&c, call, &loop.pixel)) {
            copy_window(&c, call, &loop.pixel);
        }
        tigris_pie_run_dense(&c.dense, c.dense.patch, output, 1U);
        output += outputs;
    }
}

static tigris_status check(const tigris_check_call *call)
{
    const tigris_conv_int8_params *params = call->params;
    if (params->groups != 1U || call->op->operand_count != 1U) {
        return TIGRIS_ERR_PARAMS;
    }
    const uint32_t inputs = call->inputs[0]->channels, outputs = call->output->channels;
    if (!tigris_check_conv_int8(call, inputs)) {
        return TIGRIS_ERR_PARAMS;
    }
    const uint32_t window = window_of(params, inputs); /* at most the weights' bytes */
    return tigris_pie_check(call, params->weights, params->bias, tigris_pie_dense_blocks(window, outputs),
                            tigris_pie_dense_scratch(window, outputs));
}

const tigris_kernel_entry tigris_pie_conv_2d_int8 = {
    TIGRIS_OP_KIND_CONV_2D, TIGRIS_DTYPE_INT8, TIGRIS_PACKING_PIE, sizeof(tigris_conv_int8_params), run, check};

#endif
