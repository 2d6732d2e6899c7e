/* FULLY_CONNECTED, int8, by sums over whole vectors. ESP32-S3. */
#include "layer.h"

#if defined(TIGRIS_PIE)

#include "../layer_vectors.h"
#include "tigris_backends.h"
#include "tigris_kernels.h"

static void run(const tigris_kernel_call *call)
{
    const tigris_fully_connected_int8_params *params = call->params;
    tigris_pie_dense_layer d =
        tigris_pie_dense_of(call, params->weights, params->bias, params->in_features, params->out_features);
    const tigris_layer_vectors vectors = tigris_layer_vectors_of(call, params->in_features, params->out_features);
    d.layer.low = (int8_t)params->activation_min;
    d.layer.high = (int8_t)params->activation_max;
    if (d.run != NULL) {
        tigris_pie_run_dense(&d, vectors.input, tigris_int8_output(call), vectors.count);
    }
}

static tigris_status check(const tigris_check_call *call)
{
    const tigris_fully_connected_int8_params *params = call->params;
    const uint32_t inputs = params->in_features, outputs = params->out_features;
    const tigris_status status = tigris_check_fully_connected_int8(call);
    return status != TIGRIS_OK ? status
                               : tigris_pie_check(call, params->weights, params->bias,
                                                  tigris_pie_dense_blocks(inputs, outputs),
                                                  tigris_pie_dense_scratch(inputs, outputs));
}

const tigris_kernel_entry tigris_pie_fully_connected_int8 = {
    TIGRIS_OP_KIND_FULLY_CONNECTED, TIGRIS_DTYPE_INT8, TIGRIS_PACKING_PIE,
    sizeof(tigris_fully_connected_int8_params), run, check};

#endif
