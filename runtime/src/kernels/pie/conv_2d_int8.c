/* CONV_2D, int8, one group, by sums over whole vectors. A 1x1 kernel reads the pixels in place; any other reads a
 * patch that holds the window of one output pixel. ESP32-S3. */
#include "layer.h"

#if defined(TIGRIS_PIE)

#include <string.h>

#include "../access.h"
#include "../window.h"
#include "tigris_backends.h"

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

/* Copies the window of a pixel to the patch, padding included. */
static void copy_window(const conv *c, const tigris_kernel_call *call, const tigris_pixel *pixel)
{
    const tigris_conv_int8_params *params = c->params;
    const uint32_t step = params->dilation_height * c->row_bytes, column_step = params->dilation_width * c->channels;
    const int32_t rows = tigris_tap_count(pixel->rows), columns = tigris_tap_count(pixel->columns);
    if (rows != params->kernel_height || columns != params->kernel_width) {
        memset(c->dense.patch, params->input_zero_point, c->dense.window);
    }
    if (rows <= 0 || columns <= 0) {
        return;
    }
    const int8_t *from = (const int8_t *)(const void *)c->in->data +
                         tigris_tap_offset(call, pixel, pixel->rows.first, pixel->columns.first);
    int8_t *to = c->dense.patch + (uint32_t)pixel->rows.first * c->row_taps +
                 (uint32_t)pixel->columns.first * c->channels;
    if (params->dilation_width == 1U) {
        tigris_pie_copy(to, from, (uint32_t)columns * c->channels, (uint32_t)rows, c->row_taps, step);
        return;
    }
    for (int32_t i = 0; i < rows; i++, to += c->row_taps, from += step) {
        tigris_pie_copy(to, from, c->channels, (uint32_t)columns, c->channels, column_step);
    }
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
    const int writes = outputs % TIGRIS_PIE_OUTPUTS == 0U && tigris_pie_is_aligned(output, TIGRIS_PIE_OUTPUTS);
    tigris_pixel_loop loop;
    for (tigris_start_pixels(&loop, call, 0); loop.left > 0; tigris_next_pixel(&loop)) {
        copy_window(&c, call, &loop.pixel);
        c.dense.run(c.dense.patch, writes ? output : c.dense.result, &c.dense.layer, 1U);
        if (!writes) {
            memcpy(output, c.dense.result, outputs);
        }
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
