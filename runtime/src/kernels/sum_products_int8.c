/* A fully connected layer of a map, int8, in two operators. SUM_PRODUCTS adds the products of each row when the row
 * exists, so the whole map is never in memory; SCALE_SUMS requantises the sums after the last row. Sums have 32 bits
 * that wrap, so their order does not matter and outputs equal those of FULLY_CONNECTED. */
#include <string.h>

#include "rows_int8.h"
#include "scale_int8.h"
#include "sum_products.h"
#include "tigris_kernels.h"

static void sum_products(const tigris_kernel_call *call)
{
    const tigris_sum_products_params *params = tigris_params(call);
    const tigris_band *out = tigris_output_band(call);
    const int32_t outputs = (int32_t)params->out_features;
    const uint32_t products = params->in_features * params->out_features;
    const int8_t *input = tigris_int8_row(tigris_input_band(call, 0), tigris_first_row(out));
    uint32_t *sums = (uint32_t *)(void *)tigris_output_data(call);
    tigris_rows rows = {tigris_int8_data(call, params->weights) + (uint32_t)tigris_first_row(out) * products,
                        (int32_t)params->in_features, outputs & ~(TIGRIS_CHANNEL_BLOCK - 1)};
    if (tigris_first_row(out) == 0) {
        memcpy(sums, tigris_int32_data(call, params->bias), params->out_features * sizeof *sums);
    }
    for (int32_t row = 0; row < tigris_row_count(out); row++) {
        for (int32_t from = 0; from < outputs; from += TIGRIS_ROWS) {
            tigris_add_rows(&rows, input, from, outputs - from > TIGRIS_ROWS ? TIGRIS_ROWS : outputs - from, sums + from,
                            sums + from);
        }
        input += params->in_features;
        rows.weights += products;
    }
}

static void scale_sums(const tigris_kernel_call *call)
{
    const tigris_scale_sums_int8_params *params = tigris_params(call);
    const tigris_output_stage output = {params->output_zero_point, params->activation_min, params->activation_max};
    tigris_requantise_channels((const uint32_t *)(const void *)tigris_input_data(call, 0),
                               (int32_t)tigris_input_tensor(call, 0)->channels,
                               tigris_int32_data(call, params->multiplier), tigris_int8_data(call, params->shift),
                               (int32_t)params->requantise_step, &output, tigris_int8_output(call));
}

static tigris_status check_sums(const tigris_check_call *call)
{
    return tigris_check_result(tigris_check_types(call, 1U, TIGRIS_DTYPE_INT8, TIGRIS_DTYPE_INT32) &&
                               tigris_check_sum_products(call));
}

static tigris_status check_scale(const tigris_check_call *call)
{
    const tigris_scale_sums_int8_params *params = call->params;
    const uint32_t scales = params->requantise_step == 0U ? 1U : call->inputs[0]->channels;
    return tigris_check_result(tigris_check_types(call, 1U, TIGRIS_DTYPE_INT32, TIGRIS_DTYPE_INT8) &&
                               tigris_check_scale_sums(call) && params->requantise_step <= 1U &&
                               tigris_check_int8(params->output_zero_point) &&
                               tigris_check_range(params->activation_min, params->activation_max) &&
                               tigris_check_requantise(call, params->multiplier, params->shift, scales));
}

TIGRIS_KERNEL_ENTRY(tigris_sum_products_int8, SUM_PRODUCTS, INT8, tigris_sum_products_params, sum_products, check_sums);
TIGRIS_KERNEL_ENTRY(tigris_scale_sums_int8, SCALE_SUMS, INT8, tigris_scale_sums_int8_params, scale_sums, check_scale);
