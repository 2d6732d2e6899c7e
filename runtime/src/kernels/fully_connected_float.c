/* Fully connected, float32. */
#include "access.h"
#include "check.h"
#include "dot_float.h"
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
    const tigris_band *in = tigris_input_band(call, 0);
    const tigris_band *out = tigris_output_band(call);
    const float *weights = tigris_float_data(call, params->weights);
    const float *bias = tigris_float_data(call, params->bias);
    const uint32_t row_vectors = tigris_row_elements(tigris_tensor_of(out)) / params->out_features;
    const uint32_t first = (uint32_t)tigris_first_row(out) * row_vectors;
    const uint32_t count = (uint32_t)tigris_row_count(out) * row_vectors;
    const float *input = (const float *)(const void *)in->data;
    const uint32_t row = tigris_row_elements(tigris_tensor_of(in));
    input += first * params->in_features - (uint32_t)tigris_first_row(in) * row;
    float *output = tigris_float_output(call);
    for (uint32_t i = 0; i < count; i++) {
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
