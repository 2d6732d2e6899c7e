/* Fully connected, int8: one dot product of in_features bytes per output, two blocks of outputs at a time. */
#include "access.h"
#include "block_int8.h"
#include "check.h"
#include "scale_int8.h"
#include "tigris_kernels.h"

typedef struct layer {
    const tigris_fully_connected_int8_params *params;
    const int8_t *weights;
    const int32_t *bias;
    const int32_t *multiplier;
    const int8_t *shift;
    tigris_output_stage output;
} layer;

static void finish(const layer *l, const uint32_t *sum, uint32_t first, uint32_t count, int8_t *output)
{
    const tigris_output_stage stage = l->output;
    const uint32_t step = l->params->requantise_step;
    for (uint32_t i = first; i < first + count; i++) {
        output[i] = tigris_scale_to_int8(*sum++, l->multiplier[i * step], l->shift[i * step], stage);
    }
}

static void vector_outputs(const layer *l, const int8_t *input, int8_t *output)
{
    const uint32_t outputs = l->params->out_features;
    const uint32_t length = l->params->in_features;
    const int8_t *weights = l->weights;
    uint32_t sum[2 * TIGRIS_CHANNEL_BLOCK];
    uint32_t i = 0;
    while (i < outputs) {
        const uint32_t left = outputs - i;
        const uint32_t count = left >= 2U * TIGRIS_CHANNEL_BLOCK ? 2U * TIGRIS_CHANNEL_BLOCK
                               : left >= TIGRIS_CHANNEL_BLOCK    ? TIGRIS_CHANNEL_BLOCK
                                                                 : 1U;
        for (uint32_t k = 0; k < count; k++) {
            sum[k] = (uint32_t)l->bias[i + k];
        }
        if (count == 2U * TIGRIS_CHANNEL_BLOCK) {
            tigris_add_blocks(input, weights, (int32_t)length, sum);
        } else if (count == TIGRIS_CHANNEL_BLOCK) {
            tigris_add_single(input, weights, (int32_t)length, sum);
        } else {
            sum[0] += tigris_dot(input, weights, (int32_t)length);
        }
        finish(l, sum, i, count, output);
        weights += count * length;
        i += count;
    }
}

static void run(const tigris_kernel_call *call)
{
    const tigris_fully_connected_int8_params *params = call->params;
    const tigris_band *in = &call->inputs[0];
    const tigris_band *out = call->output;
    layer l;
    l.params = params;
    l.weights = tigris_int8_data(call, params->weights);
    l.bias = tigris_int32_data(call, params->bias);
    l.multiplier = tigris_int32_data(call, params->multiplier);
    l.shift = tigris_int8_data(call, params->shift);
    l.output = (tigris_output_stage){params->output_zero_point, params->activation_min, params->activation_max};
    const uint32_t row_vectors = tigris_row_elements(out->tensor) / params->out_features;
    const uint32_t first = (uint32_t)out->first * row_vectors;
    const uint32_t count = (uint32_t)out->rows * row_vectors;
    const int8_t *input = (const int8_t *)(const void *)in->data;
    input += first * params->in_features - (uint32_t)in->first * tigris_row_elements(in->tensor);
    int8_t *output = tigris_int8_output(call);
    for (uint32_t i = 0; i < count; i++) {
        vector_outputs(&l, input, output);
        input += params->in_features;
        output += params->out_features;
    }
}

static tigris_status check(const tigris_check_call *call)
{
    const tigris_fully_connected_int8_params *params = call->params;
    const uint64_t weights = (uint64_t)params->in_features * params->out_features;
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

const tigris_kernel_entry tigris_fully_connected_int8 = {TIGRIS_OP_KIND_FULLY_CONNECTED, TIGRIS_DTYPE_INT8,
                                                         sizeof(tigris_fully_connected_int8_params), run, check};
