/* Fully connected, float32. */
#include "access.h"
#include "check.h"
#include "dot_float.h"
#include "layer_vectors.h"
#include "tigris_kernels.h"

/* A vector that is a whole map is summed row by row: SUM_PRODUCTS does so too, and results must round alike. */
static float sum_of(const float *input, const float *weights, float sum, uint32_t count, uint32_t row)
{
    for (; count > row; count -= row) {
        sum += tigris_dot(input, weights, row);
        input += row;
        weights += row;
    }
    return sum + tigris_dot(input, weights, count);
}

static void run(const tigris_kernel_call *call)
{
    const tigris_fully_connected_float_params *params = tigris_params(call);
    const float *weights = tigris_float_data(call, params->weights);
    const float *bias = tigris_float_data(call, params->bias);
    const uint32_t row = tigris_row_elements(tigris_input_tensor(call, 0));
    const tigris_layer_vectors vectors = tigris_layer_vectors_of(call, params->in_features, params->out_features);
    const float *input = tigris_float_input(call) + vectors.first;
    float *output = tigris_float_output(call);
    for (uint32_t i = 0; i < vectors.count; i++) {
        for (uint32_t k = 0; k < params->out_features; k++) {
            const float *taps = weights + k * params->in_features;
            const float sum = sum_of(input, taps, bias[k], params->in_features, row);
            *output++ = tigris_clamp_float(sum, params->activation_min, params->activation_max);
        }
        input += params->in_features;
    }
}

static tigris_status check(const tigris_check_call *call)
{
    const tigris_fully_connected_float_params *params = call->params;
    const uint32_t weights = tigris_multiply(params->in_features, params->out_features);
    return tigris_check_result(
        tigris_check_types(call, 1U, TIGRIS_DTYPE_FLOAT32, TIGRIS_DTYPE_FLOAT32) &&
        tigris_check_vectors(call, params->rows, params->in_features, params->out_features) &&
        tigris_check_data(call, params->weights, weights, sizeof(float)) &&
        tigris_check_data(call, params->bias, params->out_features, sizeof(float)));
}

TIGRIS_KERNEL_ENTRY(tigris_fully_connected_float, FULLY_CONNECTED, FLOAT32, tigris_fully_connected_float_params, run,
                    check);
