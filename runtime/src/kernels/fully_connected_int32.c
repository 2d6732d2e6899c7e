/* Fully connected: int8 vectors and weights, sums of 32 bits, float32 outputs: sum * scale. */
#include "access.h"
#include "check.h"
#include "layer_vectors.h"
#include "rows_int8.h"
#include "tigris_kernels.h"

static void run(const tigris_kernel_call *call)
{
    const tigris_fully_connected_int32_params *params = tigris_params(call);
    const int32_t outputs = (int32_t)params->out_features;
    const tigris_rows rows = {tigris_int8_data(call, params->weights), (int32_t)params->in_features,
                              outputs & ~(TIGRIS_CHANNEL_BLOCK - 1)};
    const int32_t *bias = tigris_int32_data(call, params->bias);
    const float *scale = tigris_float_data(call, params->scale);
    const tigris_layer_vectors vectors = tigris_layer_vectors_of(call, params->in_features, params->out_features);
    const int8_t *input = vectors.input;
    float *output = tigris_float_output(call);
    for (uint32_t left = vectors.count; left > 0U; left--) {
        for (int32_t from = 0; from < outputs; from += TIGRIS_ROWS) {
            uint32_t sums[TIGRIS_ROWS];
            const int32_t count = outputs - from < TIGRIS_ROWS ? outputs - from : TIGRIS_ROWS;
            tigris_add_rows(&rows, input, from, count, (const uint32_t *)(const void *)(bias + from), sums);
            for (int32_t i = 0; i < count; i++) {
                const float value = (float)(int32_t)sums[i] * scale[(uint32_t)(from + i) * params->scale_step];
                *output++ = tigris_clamp_float(value, params->activation_min, params->activation_max);
            }
        }
        input += params->in_features;
    }
}

static tigris_status check(const tigris_check_call *call)
{
    const tigris_fully_connected_int32_params *params = call->params;
    const uint32_t weights = tigris_multiply(params->in_features, params->out_features);
    const uint32_t scales = params->scale_step == 0U ? 1U : params->out_features;
    return tigris_check_result(
        tigris_check_types(call, 1U, TIGRIS_DTYPE_INT8, TIGRIS_DTYPE_FLOAT32) &&
        tigris_check_vectors(call, params->rows, params->in_features, params->out_features) &&
        params->scale_step <= 1U && tigris_check_data(call, params->weights, weights, 1U) &&
        tigris_check_data(call, params->bias, params->out_features, sizeof(int32_t)) &&
        tigris_check_data(call, params->scale, scales, sizeof(float)));
}

TIGRIS_KERNEL_ENTRY(tigris_fully_connected_int32, FULLY_CONNECTED, INT32, tigris_fully_connected_int32_params, run,
                    check);
