/* MAT_MUL: products of the matrices of two activations, float32. */
#include <string.h>

#include "mat_mul.h"
#include "tigris_kernels.h"

static tigris_products products_of(const tigris_mat_mul_float_params *params)
{
    tigris_products products;
    memcpy(&products, params, sizeof products);
    return products;
}

static float dot(const float *a, uint32_t a_step, const float *b, uint32_t b_step, uint32_t count)
{
    float partial[4] = {0.0F, 0.0F, 0.0F, 0.0F};
    for (uint32_t k = 0; k < count; k++) {
        partial[k % 4U] += a[k * a_step] * b[k * b_step];
    }
    return partial[0] + partial[1] + partial[2] + partial[3];
}

static void run(const tigris_kernel_call *call)
{
    const tigris_mat_mul_float_params *params = tigris_params(call);
    const tigris_products products = products_of(params);
    const tigris_span span = tigris_band_span(tigris_output_band(call));
    const uint32_t held = tigris_band_span(tigris_input_band(call, 0)).first;
    const float *a = (const float *)(const void *)tigris_input_data(call, 0);
    const float *b = (const float *)(const void *)tigris_input_data(call, 1);
    float *output = tigris_float_output(call);
    const uint32_t pace = TIGRIS_YIELD_STEPS / products.depth;
    uint32_t paused = span.first;
    for (uint32_t at = span.first; at < span.end;) {
        if (tigris_products_pause(call, pace, at, &paused)) {
            return;
        }
        const uint32_t vector = at / products.columns;
        const float *row = a + (tigris_product_a(&products, vector) - held);
        const float *matrix = b + tigris_product_b(&products, vector);
        const uint32_t begin = vector * products.columns;
        const uint32_t end = begin + products.columns < span.end ? begin + products.columns : span.end;
        for (; at < end; at++) {
            const float *column = matrix + (at - begin) * products.column_step_b;
            const float sum = dot(row, products.depth_step_a, column, products.depth_step_b, products.depth);
            *output++ = tigris_clamp_float(sum, params->activation_min, params->activation_max);
        }
    }
}

static tigris_status check(const tigris_check_call *call)
{
    const tigris_products products = products_of(call->params);
    return tigris_check_result(tigris_check_types(call, 2U, TIGRIS_DTYPE_FLOAT32, TIGRIS_DTYPE_FLOAT32) &&
                               tigris_check_products(call, &products));
}

TIGRIS_KERNEL_ENTRY(tigris_mat_mul_float, MAT_MUL, FLOAT32, tigris_mat_mul_float_params, run, check);
