/* MAT_MUL, int16: products of the matrices of two activations. */
#include <string.h>

#include "int16.h"
#include "mat_mul.h"
#include "tigris_kernels.h"

static tigris_products geometry(const tigris_mat_mul_int16_params *params)
{
    tigris_products products;
    memcpy(&products, params, sizeof products);
    return products;
}

static void run(const tigris_kernel_call *call)
{
    const tigris_mat_mul_int16_params *params = tigris_params(call);
    const tigris_products p = geometry(params);
    const tigris_span span = tigris_band_span(tigris_output_band(call));
    const int16_t *a = (const int16_t *)(const void *)tigris_input_data(call, 0);
    const int16_t *b = (const int16_t *)(const void *)tigris_input_data(call, 1);
    const uint32_t held = tigris_band_span(tigris_input_band(call, 0)).first;
    const tigris_sum_stage stage = {64U, params->activation_min, params->activation_max};
    int16_t *to = tigris_int16_output(call);
    const uint32_t pace = TIGRIS_YIELD_STEPS / p.depth;
    uint32_t paused = span.first;
    for (uint32_t at = span.first; at < span.end; at++) {
        if (tigris_products_pause(call, pace, at, &paused)) {
            return;
        }
        const uint32_t vector = at / p.columns;
        const int16_t *left = a + (tigris_product_a(&p, vector) - held);
        const int16_t *right = b + tigris_product_b(&p, vector) + at % p.columns * p.column_step_b;
        int64_t sum = 0;
        for (uint32_t k = 0; k < p.depth; k++) {
            sum += left[(size_t)k * p.depth_step_a] * right[(size_t)k * p.depth_step_b];
        }
        *to++ = tigris_to_int16(sum, params->output_multiplier, params->output_shift, &stage);
    }
}

static tigris_status check(const tigris_check_call *call)
{
    const tigris_mat_mul_int16_params *params = call->params;
    const tigris_products products = geometry(params);
    return tigris_check_result(tigris_check_types(call, 2U, TIGRIS_DTYPE_INT16, TIGRIS_DTYPE_INT16) &&
                               tigris_check_products(call, &products) &&
                               tigris_check_multiplier(params->output_multiplier, params->output_shift) &&
                               tigris_check_range_int16(params->activation_min, params->activation_max));
}

TIGRIS_KERNEL_ENTRY(tigris_mat_mul_int16, MAT_MUL, INT16, tigris_mat_mul_int16_params, run, check);
