/* Checks that the kernels of SUM_PRODUCTS and SCALE_SUMS share. */
#ifndef TIGRIS_SUM_PRODUCTS_H
#define TIGRIS_SUM_PRODUCTS_H

#include "access.h"
#include "check.h"

/* The output has one sum for each feature; output row r adds the products of input row r, one image a call. */
static inline int tigris_check_sum_products(const tigris_check_call *call)
{
    const tigris_tensor_record *in = call->inputs[0];
    const tigris_sum_products_params *params = call->params;
    const uint32_t products = tigris_multiply(params->in_features, params->out_features);
    return tigris_is_folded(call->output) && in->batch == 1U && call->output->batch == 1U && call->op->images == 1U &&
           call->output->width == 1U && call->output->channels == params->out_features &&
           tigris_row_elements(in) == params->in_features && call->operands[0].numerator == 1U &&
           tigris_check_same_rows(call, 0U) &&
           tigris_check_data(call, params->weights, tigris_multiply(in->height, products),
                             tigris_dtype_bytes(in->dtype)) &&
           tigris_check_data(call, params->bias, params->out_features, sizeof(int32_t));
}

/* The output is one pixel, computed from the last row of sums. */
static inline int tigris_check_scale_sums(const tigris_check_call *call)
{
    const tigris_tensor_record *in = call->inputs[0];
    const tigris_tensor_record *out = call->output;
    return tigris_is_folded(in) && in->batch == 1U && out->batch == 1U && call->op->images == 1U && in->width == 1U &&
           out->height == 1U && tigris_row_elements(out) == in->channels && tigris_check_all_rows(call, 0U);
}

#endif
