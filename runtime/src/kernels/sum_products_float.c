/* A fully connected layer of a map, float32, in two operators; see sum_products_int8.c. */
#include <string.h>

#include "dot_float.h"
#include "sum_products.h"
#include "tigris_kernels.h"

static void sum_products(const tigris_kernel_call *call)
{
    const tigris_sum_products_params *params = tigris_params(call);
    const tigris_band *out = tigris_output_band(call);
    const float *input = tigris_float_row(tigris_input_band(call, 0), tigris_first_row(out));
    const float *weights = tigris_float_data(call, params->weights);
    float *sums = tigris_float_output(call);
    weights += (uint32_t)tigris_first_row(out) * params->out_features * params->in_features;
    if (tigris_first_row(out) == 0) {
        memcpy(sums, tigris_float_data(call, params->bias), params->out_features * sizeof *sums);
    }
    for (int32_t row = 0; row < tigris_row_count(out); row++) {
        for (uint32_t k = 0; k < params->out_features; k++) {
            sums[k] += tigris_dot(input, weights, params->in_features);
            weights += params->in_features;
        }
        input += params->in_features;
    }
}

static void scale_sums(const tigris_kernel_call *call)
{
    const tigris_scale_sums_float_params *params = tigris_params(call);
    const float *sums = (const float *)(const void *)tigris_input_data(call, 0);
    float *to = tigris_float_output(call);
    for (uint32_t k = 0; k < tigris_input_tensor(call, 0)->channels; k++) {
        to[k] = tigris_clamp_float(sums[k], params->activation_min, params->activation_max);
    }
}

static tigris_status check_sums(const tigris_check_call *call)
{
    return tigris_check_result(tigris_check_types(call, 1U, TIGRIS_DTYPE_FLOAT32, TIGRIS_DTYPE_FLOAT32) &&
                               tigris_check_sum_products(call));
}

static tigris_status check_scale(const tigris_check_call *call)
{
    return tigris_check_result(tigris_check_types(call, 1U, TIGRIS_DTYPE_FLOAT32, TIGRIS_DTYPE_FLOAT32) &&
                               tigris_check_scale_sums(call));
}

TIGRIS_KERNEL_ENTRY(tigris_sum_products_float, SUM_PRODUCTS, FLOAT32, tigris_sum_products_params, sum_products,
                    check_sums);
TIGRIS_KERNEL_ENTRY(tigris_scale_sums_float, SCALE_SUMS, FLOAT32, tigris_scale_sums_float_params, scale_sums,
                    check_scale);
