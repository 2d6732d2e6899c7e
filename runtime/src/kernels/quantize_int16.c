/* QUANTIZE float32 to int16, with halves rounded as the model says, and DEQUANTIZE back. */
#include "int16.h"
#include "rounding.h"
#include "tigris_kernels.h"

static void run_quantize(const tigris_kernel_call *call)
{
    const tigris_quantize_int16_params *params = tigris_params(call);
    const uint32_t elements = tigris_band_elements(tigris_output_band(call));
    const float *input = tigris_float_row(tigris_input_band(call, 0), tigris_output_first(call));
    int16_t *output = tigris_int16_output(call);
    for (uint32_t i = 0; i < elements; i++) {
        const int32_t value = tigris_rounded(input[i] / params->scale, params->rounding) + params->zero_point;
        output[i] = (int16_t)tigris_clamp(value, INT16_MIN, INT16_MAX);
    }
}

static void run_dequantize(const tigris_kernel_call *call)
{
    const tigris_quantize_int16_params *params = tigris_params(call);
    const uint32_t elements = tigris_band_elements(tigris_output_band(call));
    const int16_t *input = tigris_int16_row(tigris_input_band(call, 0), tigris_output_first(call));
    float *output = tigris_float_output(call);
    for (uint32_t i = 0; i < elements; i++) {
        output[i] = (float)(input[i] - params->zero_point) * params->scale;
    }
}

static int is_quantization(const tigris_check_call *call)
{
    const tigris_quantize_int16_params *params = call->params;
    return tigris_check_pointwise(call, 0U) && params->scale > 0.0F && tigris_is_int16(params->zero_point) &&
           params->rounding <= TIGRIS_ROUNDING_HALF_AWAY;
}

static tigris_status check_quantize(const tigris_check_call *call)
{
    return tigris_check_result(tigris_check_types(call, 1U, TIGRIS_DTYPE_FLOAT32, TIGRIS_DTYPE_INT16) &&
                               is_quantization(call));
}

static tigris_status check_dequantize(const tigris_check_call *call)
{
    return tigris_check_result(tigris_check_types(call, 1U, TIGRIS_DTYPE_INT16, TIGRIS_DTYPE_FLOAT32) &&
                               is_quantization(call));
}

TIGRIS_KERNEL_ENTRY(tigris_quantize_int16, QUANTIZE, INT16, tigris_quantize_int16_params, run_quantize, check_quantize);
TIGRIS_KERNEL_ENTRY(tigris_dequantize_int16, DEQUANTIZE, INT16, tigris_quantize_int16_params, run_dequantize,
                    check_dequantize);
