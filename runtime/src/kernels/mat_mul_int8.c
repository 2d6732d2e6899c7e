/* MAT_MUL: products of the matrices of two activations, int8 with TensorFlow Lite's arithmetic. */
#include <string.h>

#include "mat_mul.h"
#include "requantise.h"
#include "tigris_kernels.h"

/* 32768 products of at most 255 * 255 stay inside 32 bits. */
#define MOST_TERMS 32768U

static tigris_products products_of(const tigris_mat_mul_int8_params *params)
{
    tigris_products products;
    memcpy(&products, params, sizeof products);
    return products;
}

static int32_t dot(const tigris_mat_mul_int8_params *params, const int8_t *a, const int8_t *b)
{
    int32_t sum = 0;
    for (uint32_t k = 0; k < params->depth; k++) {
        const int32_t first = a[k * params->depth_step_a] - params->zero_point[0];
        sum += first * (b[k * params->depth_step_b] - params->zero_point[1]);
    }
    return sum;
}

static void run(const tigris_kernel_call *call)
{
    const tigris_mat_mul_int8_params *params = call->params;
    const tigris_products products = products_of(params);
    const tigris_output_stage stage = {params->output_zero_point, params->activation_min, params->activation_max};
    const tigris_span span = tigris_band_span(call->output);
    const uint32_t held = tigris_band_span(&call->inputs[0]).first;
    const int8_t *a = (const int8_t *)(const void *)call->inputs[0].data;
    const int8_t *b = (const int8_t *)(const void *)call->inputs[1].data;
    int8_t *output = tigris_int8_output(call);
    for (uint32_t at = span.first; at < span.end; at++) {
        const int32_t sum = dot(params, a + (tigris_product_a(&products, at) - held),
                                b + tigris_product_b(&products, at));
        *output++ = tigris_to_int8(sum, params->output_multiplier, params->output_shift, &stage);
    }
}

static tigris_status check(const tigris_check_call *call)
{
    const tigris_mat_mul_int8_params *params = call->params;
    const tigris_products products = products_of(params);
    return tigris_check_result(
        tigris_check_types(call, 2U, TIGRIS_DTYPE_INT8, TIGRIS_DTYPE_INT8) &&
        tigris_check_products(call, &products) && params->depth <= MOST_TERMS &&
        tigris_check_int8(params->zero_point[0]) && tigris_check_int8(params->zero_point[1]) &&
        tigris_check_int8(params->output_zero_point) &&
        tigris_check_multiplier(params->output_multiplier, params->output_shift) &&
        tigris_check_range(params->activation_min, params->activation_max));
}

const tigris_kernel_entry tigris_mat_mul_int8 = {TIGRIS_OP_KIND_MAT_MUL, TIGRIS_DTYPE_INT8,
                                                 sizeof(tigris_mat_mul_int8_params), run, check};
