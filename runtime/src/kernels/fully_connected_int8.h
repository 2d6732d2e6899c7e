/* Fully connected, int8: one dot product of in_features bytes per output, up to TIGRIS_ROWS outputs at a time.
 *
 * With TIGRIS_WEIGHT_ZEROS weights have zero points, each of
 * which is taken off an output's sum as often as the sum of the vector says. */
#ifndef TIGRIS_FULLY_CONNECTED_INT8_H
#define TIGRIS_FULLY_CONNECTED_INT8_H

#include "access.h"
#include "check.h"
#include "instruction_set.h"
#include "rows_int8.h"
#include "scale_int8.h"
#include "tigris_kernels.h"

#if TIGRIS_MVE
#include "mve/mve.h"
#endif

typedef struct layer {
    const tigris_fully_connected_int8_params *params;
    tigris_rows rows;
    const int32_t *bias;
    const int32_t *multiplier;
    const int8_t *shift;
    tigris_output_stage output;
#if TIGRIS_WEIGHT_ZEROS
    const int8_t *zeros;
    uint32_t vector_sum;
#endif
} layer;

/* Outputs [first, end), at most TIGRIS_ROWS, from one vector. */
static void run_batch(const layer *l, const int8_t *input, int32_t first, int32_t end, int8_t *output)
{
    const tigris_fully_connected_int8_params *params = l->params;
    const int32_t step = (int32_t)params->requantise_step;
    const int32_t count = end - first;
    uint32_t sums[TIGRIS_ROWS];
    tigris_begin_sums(sums, l->bias + first, count);
#if TIGRIS_WEIGHT_ZEROS
    for (int32_t i = 0; i < count; i++) {
        sums[i] -= (uint32_t)(int32_t)l->zeros[first + i] * l->vector_sum;
    }
#endif
    tigris_add_rows(&l->rows, input, first, count, sums);
    tigris_scale_channels(sums, count, l->multiplier + first * step, l->shift + first * step, step, &l->output,
                          output + first);
}

#if TIGRIS_WEIGHT_ZEROS
static uint32_t sum_of(const int8_t *vector, uint32_t count)
{
    int32_t sum = 0;
    for (const int8_t *const end = vector + count; vector != end; vector++) {
        sum = tigris_wrapping_add(sum, *vector);
    }
    return (uint32_t)sum;
}
#endif

static void run(const tigris_kernel_call *call)
{
    const tigris_fully_connected_int8_params *params = call->params;
    const tigris_band *in = &call->inputs[0];
    const tigris_band *out = call->output;
#if TIGRIS_MVE
#if !TIGRIS_WEIGHT_ZEROS
    if (tigris_mve_fully_connected(call)) {
        return;
    }
#endif
#endif
    layer l;
    l.params = params;
    l.rows.weights = tigris_int8_data(call, params->weights);
    l.rows.length = (int32_t)params->in_features;
    l.bias = tigris_int32_data(call, params->bias);
    l.multiplier = tigris_int32_data(call, params->multiplier);
    l.shift = tigris_int8_data(call, params->shift);
    l.output = (tigris_output_stage){params->output_zero_point, params->activation_min, params->activation_max};
    const uint32_t row_vectors = tigris_row_elements(out->tensor) / params->out_features;
    const int32_t outputs = (int32_t)params->out_features;
    l.rows.blocked = outputs & ~(TIGRIS_CHANNEL_BLOCK - 1);
    const uint32_t first = (uint32_t)out->first * row_vectors;
    const uint32_t count = (uint32_t)out->rows * row_vectors;
    const int8_t *input = (const int8_t *)(const void *)in->data;
    input += first * params->in_features - (uint32_t)in->first * tigris_row_elements(in->tensor);
    int8_t *output = tigris_int8_output(call);
#if TIGRIS_WEIGHT_ZEROS
    const tigris_asymmetric_fully_connected_int8_params *own = call->params;
    l.zeros = tigris_int8_data(call, own->weight_zero_points);
#endif
    for (uint32_t i = 0; i < count; i++) {
#if TIGRIS_WEIGHT_ZEROS
        l.vector_sum = sum_of(input, params->in_features);
#endif
        for (int32_t from = 0; from < outputs; from += TIGRIS_ROWS) {
            run_batch(&l, input, from, outputs - from > TIGRIS_ROWS ? from + TIGRIS_ROWS : outputs, output);
        }
        input += params->in_features;
        output += params->out_features;
    }
}

static tigris_status check(const tigris_check_call *call)
{
    const tigris_fully_connected_int8_params *params = call->params;
    const uint32_t weights = tigris_multiply(params->in_features, params->out_features);
    const uint32_t scales = params->requantise_step == 0U ? 1U : params->out_features;
    return tigris_check_result(
        tigris_check_types(call, 1U, TIGRIS_DTYPE_INT8, TIGRIS_DTYPE_INT8) &&
        tigris_check_vectors(call, params->rows, params->in_features, params->out_features) &&
        params->requantise_step <= 1U && tigris_check_int8(params->output_zero_point) &&
        tigris_check_range(params->activation_min, params->activation_max) &&
        tigris_check_data(call, params->weights, weights, 1U) &&
        tigris_check_data(call, params->bias, params->out_features, sizeof(int32_t)) &&
        tigris_check_requantise(call, params->multiplier, params->shift, scales));
}

#endif
