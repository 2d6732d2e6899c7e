/* Fully connected layer of int16 with weights of int8. */
#include "layer_vectors.h"
#include "set.h"
#include "tigris_kernels.h"
#include "tile_int16.h"

static void run(const tigris_kernel_call *call)
{
    const tigris_fully_connected_int16_params *params = tigris_params(call);
    const tigris_layer_vectors vectors = tigris_layer_vectors_of(call, params->in_features, params->out_features);
    tigris_tile_int16 tile;
    tile.outputs = (tigris_outputs_int16)TIGRIS_OUTPUTS_INT16(call, params);
    tigris_run_vectors(&tile, tigris_int8_data(call, params->weights), (int32_t)params->out_features,
                       (const int16_t *)(const void *)tigris_input_data(call, 0) + vectors.first,
                       (int32_t)params->in_features, (int32_t)vectors.count, tigris_int16_output(call));
}

static tigris_status check(const tigris_check_call *call)
{
    const tigris_fully_connected_int16_params *params = call->params;
    const tigris_sum_stage stage = {params->sum_bits, params->activation_min, params->activation_max};
    return tigris_check_result(
        tigris_check_sums(call, &stage, params->bias, params->multiplier, params->shift, params->out_features) &&
        tigris_check_vectors(call, params->rows, params->in_features, params->out_features) &&
        tigris_check_data(call, params->weights, tigris_multiply(params->in_features, params->out_features), 1U));
}

TIGRIS_PIE_ENTRY(tigris_fully_connected_int16, FULLY_CONNECTED, INT16, tigris_fully_connected_int16_params, run,
                 check);
