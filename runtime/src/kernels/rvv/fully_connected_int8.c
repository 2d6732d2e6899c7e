/* FULLY_CONNECTED of int8 with RVV: the vector is copied in the order of packed weights, in parts if it is longer than
 * PART_BYTES. */
#include "rows_int8.h"

#if TIGRIS_RVV

#include "../access.h"
#include "../layer_vectors.h"

#define PART_BYTES 1024 /* a multiple of TIGRIS_RVV_TILE */

int tigris_rvv_fully_connected(const tigris_kernel_call *call)
{
    const tigris_fully_connected_int8_params *params = call->params;
    const tigris_layer_vectors vectors = tigris_layer_vectors_of(call, params->in_features, params->out_features);
    const tigris_rvv_layer layer = {
        tigris_int8_data(call, params->weights), tigris_int32_data(call, params->bias),
        {tigris_int32_data(call, params->multiplier), tigris_int8_data(call, params->shift),
         {params->output_zero_point, params->activation_min, params->activation_max}},
        (int32_t)params->requantise_step, (int32_t)params->in_features, (int32_t)params->out_features};
    const int8_t *input = vectors.input;
    int8_t *output = tigris_int8_output(call);
    int8_t part[PART_BYTES];
    if (((uintptr_t)layer.weights & 3U) != 0U) {
        return 0;
    }
    for (uint32_t left = vectors.count; left != 0U; left--) {
        if (layer.length <= PART_BYTES) {
            tigris_rvv_order_taps(part, input, layer.length);
            tigris_rvv_run_layer(&layer, part, output);
        } else {
            tigris_rvv_run_long_layer(&layer, input, part, PART_BYTES, output);
        }
        input += layer.length;
        output += layer.outputs;
    }
    return 1;
}

#endif
