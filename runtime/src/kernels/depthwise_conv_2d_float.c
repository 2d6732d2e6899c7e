/* Depthwise Conv2D, float32, with channel multiplier: out channel c reads in channel c / multiplier. */
#include "access.h"
#include "check.h"
#include "tigris_kernels.h"
#include "window.h"

typedef struct depthwise {
    const tigris_conv_float_params *params;
    const float *input;
    const float *weights;
    const float *bias;
    uint32_t input_width;
    uint32_t input_channels;
    int32_t output_channels;
    int32_t channel_multiplier;
} depthwise;

typedef struct depthwise_pixel {
    int32_t row;
    int32_t column;
    tigris_taps rows;
    tigris_taps columns;
} depthwise_pixel;

static depthwise unpack(const tigris_kernel_call *call)
{
    const tigris_conv_float_params *params = tigris_params(call);
    depthwise d;
    d.params = params;
    d.input = (const float *)(const void *)tigris_input_data(call, 0);
    d.weights = tigris_float_data(call, params->weights);
    d.bias = tigris_float_data(call, params->bias);
    d.input_width = tigris_input_tensor(call, 0)->width;
    d.input_channels = tigris_input_tensor(call, 0)->channels;
    d.output_channels = (int32_t)tigris_output_tensor(call)->channels;
    d.channel_multiplier = d.output_channels / (int32_t)d.input_channels;
    return d;
}

static float channel_sum(const depthwise *d, const depthwise_pixel *pixel, int32_t channel)
{
    const tigris_conv_float_params *params = d->params;
    const float *input = d->input + channel / d->channel_multiplier;
    const int32_t first = pixel->columns.first;
    float sum = d->bias[channel];
    for (int32_t i = pixel->rows.first; i < pixel->rows.end; i++) {
        const int32_t row = pixel->row + i * params->dilation_height;
        uint32_t at = ((uint32_t)row * d->input_width + (uint32_t)(pixel->column + first * params->dilation_width)) *
                      d->input_channels;
        int32_t weight = (i * params->kernel_width + first) * d->output_channels + channel;
        for (int32_t j = first; j < pixel->columns.end; j++) {
            sum += input[at] * d->weights[weight];
            at += params->dilation_width * d->input_channels;
            weight += d->output_channels;
        }
    }
    return tigris_clamp_float(sum, params->activation_min, params->activation_max);
}

static void run(const tigris_kernel_call *call)
{
    const depthwise d = unpack(call);
    const tigris_conv_float_params *params = d.params;
    const tigris_band *in = tigris_input_band(call, 0);
    const int32_t width = (int32_t)tigris_output_tensor(call)->width;
    float *output = tigris_float_output(call);
    for (int32_t y = 0; y < tigris_output_rows(call); y++) {
        depthwise_pixel pixel;
        pixel.row = y * params->stride_height - tigris_pad_top(in);
        pixel.rows = tigris_valid_taps(pixel.row, params->kernel_height, params->dilation_height, tigris_row_count(in));
        for (int32_t x = 0; x < width; x++) {
            pixel.column = x * params->stride_width - params->pad_left;
            pixel.columns =
                tigris_valid_taps(pixel.column, params->kernel_width, params->dilation_width, (int32_t)d.input_width);
            for (int32_t channel = 0; channel < d.output_channels; channel++) {
                *output++ = channel_sum(&d, &pixel, channel);
            }
        }
    }
}

static tigris_status check(const tigris_check_call *call)
{
    const tigris_conv_float_params *params = call->params;
    if (!tigris_check_types(call, 1U, TIGRIS_DTYPE_FLOAT32, TIGRIS_DTYPE_FLOAT32)) {
        return TIGRIS_ERR_PARAMS;
    }
    const uint32_t outputs = call->output->channels;
    const uint32_t window = (uint32_t)params->kernel_height * params->kernel_width;
    const uint32_t weights = tigris_multiply(window, outputs);
    return tigris_check_result(tigris_check_per_image(call) && params->groups == 1U &&
                               outputs % call->inputs[0]->channels == 0U && tigris_check_window(call) &&
                               tigris_check_data(call, params->weights, weights, sizeof(float)) &&
                               tigris_check_data(call, params->bias, outputs, sizeof(float)));
}

TIGRIS_KERNEL_ENTRY(tigris_depthwise_conv_2d_float, DEPTHWISE_CONV_2D, FLOAT32, tigris_conv_float_params, run, check);
