/* Softmax, float32. */
#include <math.h>

#include "access.h"
#include "check.h"
#include "tigris_kernels.h"

static void softmax(const float *input, float *output, uint32_t length)
{
    float largest = input[0];
    for (uint32_t i = 1; i < length; i++) {
        largest = input[i] > largest ? input[i] : largest;
    }
    float sum = 0.0F;
    for (uint32_t i = 0; i < length; i++) {
        output[i] = expf(input[i] - largest);
        sum += output[i];
    }
    for (uint32_t i = 0; i < length; i++) {
        output[i] /= sum;
    }
}

static void run(const tigris_kernel_call *call)
{
    const tigris_softmax_float_params *params = tigris_params(call);
    const uint32_t elements = tigris_band_elements(tigris_output_band(call));
    const float *input = tigris_float_row(tigris_input_band(call, 0), tigris_output_first(call));
    float *output = tigris_float_output(call);
    for (uint32_t i = 0; i < elements; i += params->length) {
        softmax(input + i, output + i, params->length);
    }
}

static tigris_status check(const tigris_check_call *call)
{
    const tigris_softmax_float_params *params = call->params;
    return tigris_check_result(tigris_check_types(call, 1U, TIGRIS_DTYPE_FLOAT32, TIGRIS_DTYPE_FLOAT32) &&
                               tigris_check_pointwise(call, 0U) && params->length != 0U &&
                               tigris_row_elements(call->output) % params->length == 0U);
}

TIGRIS_KERNEL_ENTRY(tigris_softmax_float, SOFTMAX, FLOAT32, tigris_softmax_float_params, run, check);
