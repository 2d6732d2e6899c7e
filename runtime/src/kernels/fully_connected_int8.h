/* Fully connected, int8: one dot product of in_features bytes per output, up to TIGRIS_ROWS outputs at a time.
 *
 * With TIGRIS_WEIGHT_ZEROS weights have zero points: an output's sum loses its zero point times the sum of the vector. */
#ifndef TIGRIS_FULLY_CONNECTED_INT8_H
#define TIGRIS_FULLY_CONNECTED_INT8_H

#include "access.h"
#include "check.h"
#include "layer_vectors.h"
#include "rows_int8.h"
#include "scale_int8.h"
#include "set.h"
#include "tigris_kernels.h"

TIGRIS_HOT
static void run(const tigris_kernel_call *call)
{
    const tigris_fully_connected_int8_params *params = tigris_params(call);
    const int32_t outputs = (int32_t)params->out_features;
    const tigris_layer layer = {
        {tigris_int8_data(call, params->weights), (int32_t)params->in_features, outputs & ~(TIGRIS_CHANNEL_BLOCK - 1)},
        outputs, (int32_t)params->requantise_step, tigris_int32_data(call, params->bias),
        tigris_int32_data(call, params->multiplier), tigris_int8_data(call, params->shift),
        {params->output_zero_point, params->activation_min, params->activation_max}};
    const tigris_layer_vectors vectors = tigris_layer_vectors_of(call, params->in_features, params->out_features);
    const int8_t *input = vectors.input;
    int8_t *output = tigris_int8_output(call);
    const int8_t *zeros = NULL;
#if TIGRIS_WEIGHT_ZEROS
    const tigris_asymmetric_fully_connected_int8_params *own = tigris_params(call);
    zeros = tigris_int8_data(call, own->weight_zero_points);
#endif
    for (uint32_t left = vectors.count; left > 0U; left--) {
        tigris_run_layer(&layer, zeros, input, output);
        input += params->in_features;
        output += params->out_features;
    }
}

#endif
