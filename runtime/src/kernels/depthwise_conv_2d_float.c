/* Depthwise Conv2D, float32, with channel multiplier: out channel c reads in channel c / multiplier. */
#include "access.h"
#include "check.h"
#include "tigris_kernels.h"
#include "window.h"

static float channel_sum(const tigris_kernel_call *call, const tigris_pixel *pixel, uint32_t channel)
{
    const tigris_conv_float_params *params = tigris_params(call);
    const uint32_t inputs = tigris_input_tensor(call, 0)->channels, outputs = tigris_output_tensor(call)->channels;
    const float *input = tigris_float_input(call) + channel / (outputs / inputs);
    const float *weights = tigris_float_data(call, params->weights) + channel;
    float sum = tigris_float_data(call, params->bias)[channel];
    for (int32_t i = pixel->rows.first; i < pixel->rows.end; i++) {
        uint32_t at = tigris_tap_offset(call, pixel, i, pixel->columns.first);
        uint32_t weight = (uint32_t)(i * params->kernel_width + pixel->columns.first) * outputs;
        for (int32_t left = tigris_tap_count(pixel->columns); left > 0; left--) {
            sum += input[at] * weights[weight];
            at += params->dilation_width * inputs;
            weight += outputs;
        }
    }
    return tigris_clamp_float(sum, params->activation_min, params->activation_max);
}

static void run(const tigris_kernel_call *call)
{
    float *output = tigris_float_output(call);
    tigris_pixel_loop loop;
    for (tigris_start_pixels(&loop, call, 0); loop.left > 0; tigris_next_pixel(&loop)) {
        for (uint32_t channel = 0; channel < tigris_output_tensor(call)->channels; channel++) {
            *output++ = channel_sum(call, &loop.pixel, channel);
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
