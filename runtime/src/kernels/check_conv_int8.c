#include "check.h"
#include "tigris_kernel.h"

int tigris_check_convolution_int8(const tigris_check_call *call, uint32_t count, uint32_t bytes)
{
    const tigris_conv_int8_params *params = call->params;
    const uint32_t outputs = call->output->channels;
    return tigris_check_types(call, 1U, TIGRIS_DTYPE_INT8, TIGRIS_DTYPE_INT8) && tigris_check_per_image(call) &&
           tigris_check_window(call) && tigris_check_int8(params->input_zero_point) &&
           tigris_check_int8(params->output_zero_point) &&
           tigris_check_range(params->activation_min, params->activation_max) &&
           tigris_check_data(call, params->weights, count, bytes) &&
           tigris_check_data(call, params->bias, outputs, sizeof(int32_t)) &&
           tigris_check_requantise(call, params->multiplier, params->shift, outputs);
}

int tigris_check_conv_int8(const tigris_check_call *call, uint32_t inputs)
{
    const tigris_conv_int8_params *params = call->params;
    const uint32_t window = (uint32_t)params->kernel_height * params->kernel_width;
    return tigris_check_convolution_int8(
        call, tigris_multiply(tigris_multiply(window, inputs), call->output->channels), 1U);
}
