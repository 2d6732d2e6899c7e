/* Fully connected, int8: one dot product of in_features bytes per output, up to TIGRIS_ROWS outputs at a time.
 *
 * With TIGRIS_WEIGHT_ZEROS weights have zero points: an output's sum loses its zero point times the sum of the vector. */
#ifndef TIGRIS_FULLY_CONNECTED_INT8_H
#define TIGRIS_FULLY_CONNECTED_INT8_H

#include "access.h"
#include "check.h"
#include "rows_int8.h"
#include "scale_int8.h"
#include "set.h"
#include "tigris_kernels.h"

static void run(const tigris_kernel_call *call)
{
    const tigris_fully_connected_int8_params *params = tigris_params(call);
    const tigris_band *in = tigris_input_band(call, 0);
    const tigris_band *out = tigris_output_band(call);
    const int32_t outputs = (int32_t)params->out_features;
    const tigris_layer layer = {
        {tigris_int8_data(call, params->weights), (int32_t)params->in_features, outputs & ~(TIGRIS_CHANNEL_BLOCK - 1)},
        outputs, (int32_t)params->requantise_step, tigris_int32_data(call, params->bias),
        tigris_int32_data(call, params->multiplier), tigris_int8_data(call, params->shift),
        {params->output_zero_point, params->activation_min, params->activation_max}};
    const uint32_t row_vectors = tigris_row_elements(tigris_tensor_of(out)) / params->out_features;
    const uint32_t first = (uint32_t)tigris_first_row(out) * row_vectors;
    const int8_t *input = (const int8_t *)(const void *)in->data;
    input += first * params->in_features - (uint32_t)tigris_first_row(in) * tigris_row_elements(tigris_tensor_of(in));
    int8_t *output = tigris_int8_output(call);
    const int8_t *zeros = NULL;
#if TIGRIS_WEIGHT_ZEROS
    const tigris_asymmetric_fully_connected_int8_params *own = tigris_params(call);
    zeros = tigris_int8_data(call, own->weight_zero_points);
#endif
    for (uint32_t left = (uint32_t)tigris_row_count(out) * row_vectors; left > 0U; left--) {
        tigris_run_layer(&layer, zeros, input, output);
        input += params->in_features;
        output += params->out_features;
    }
}

#endif
