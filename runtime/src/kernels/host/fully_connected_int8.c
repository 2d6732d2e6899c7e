/* FULLY_CONNECTED, int8, several vectors at a time. */
#include "layer.h"
#include "tigris_kernels.h"

#if TIGRIS_HOST_AVX2 || TIGRIS_HOST_NEON

#include "../access.h"

static TIGRIS_HOST_CODE void run(const tigris_kernel_call *call)
{
    const tigris_fully_connected_int8_params *params = call->params;
    const tigris_band *in = &call->inputs[0], *out = call->output;
    const tigris_host_layer layer = {
        tigris_int8_data(call, params->weights), tigris_int32_data(call, params->bias),
        tigris_int32_data(call, params->multiplier), tigris_int8_data(call, params->shift),
        (int32_t)params->requantise_step, (int32_t)params->in_features, (int32_t)params->out_features,
        {params->output_zero_point, params->activation_min, params->activation_max}};
    const int32_t filled = tigris_host_filled(layer.length);
    const int32_t most = tigris_host_vectors_at_once(layer.length);
    if (most == 0) {
        tigris_fully_connected_int8.run(call);
        return;
    }
    const uint32_t row_vectors = tigris_row_elements(out->tensor) / params->out_features;
    const uint32_t first = (uint32_t)out->first * row_vectors;
    const int8_t *input = (const int8_t *)(const void *)in->data;
    int8_t *output = tigris_int8_output(call);
    tigris_host_tap taps[TIGRIS_HOST_TAPS];
    input += first * params->in_features - (uint32_t)in->first * tigris_row_elements(in->tensor);
    for (int32_t left = (int32_t)((uint32_t)out->rows * row_vectors), count; left > 0; left -= count) {
        count = left < most ? left : most;
        for (int32_t i = 0; i < count; i++) {
            tigris_host_order(taps + i * filled, input, layer.length);
            input += layer.length;
        }
        tigris_host_run_layer(&layer, taps, count, output, layer.outputs);
        output += count * layer.outputs;
    }
}

static tigris_status check(const tigris_check_call *call)
{
    return tigris_fully_connected_int8.check(call);
}

const tigris_kernel_entry tigris_host_fully_connected_int8 = {
    TIGRIS_OP_KIND_FULLY_CONNECTED, TIGRIS_DTYPE_INT8, TIGRIS_PACKING_PORTABLE,
    sizeof(tigris_fully_connected_int8_params), run, check};

#endif
