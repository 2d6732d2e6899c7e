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

#if !TIGRIS_WEIGHT_ZEROS
/* Two vectors, one behind the other. */
typedef struct vector_pair {
    const int8_t *first;
    int32_t length;
} vector_pair;

TIGRIS_HOT
static void fill_pair(void *vectors, int32_t at, int32_t count, uint32_t *patch)
{
    const vector_pair *pair = vectors;
    tigris_fill_patch(patch, 0, pair->first + at, 1, pair->first + pair->length + at, 1, count);
}
#endif

/* Computes the outputs of `layer`, a part of all, for `count` vectors. */
TIGRIS_HOT
static void run_vectors(const tigris_layer *layer, const int8_t *input, uint32_t count, int8_t *output, int32_t outputs)
{
    const int32_t length = layer->rows.length;
#if !TIGRIS_WEIGHT_ZEROS
    for (; count > 1U; count -= 2U) {
        vector_pair pair = {input, length};
        tigris_run_pair(layer, fill_pair, &pair, output, outputs);
        input += 2 * length;
        output += 2 * outputs;
    }
#endif
    for (; count > 0U; count--) {
        tigris_run_layer(layer, input, output);
        input += length;
        output += outputs;
    }
}

/* Several vectors take passes, each with the weights of some outputs. */
TIGRIS_HOT
static void run(const tigris_kernel_call *call)
{
    const tigris_fully_connected_int8_params *params = tigris_params(call);
    const int32_t outputs = (int32_t)params->out_features, length = (int32_t)params->in_features;
    tigris_layer layer = {
        {tigris_int8_data(call, params->weights), length, 0}, 0, (int32_t)params->requantise_step,
        tigris_int32_data(call, params->bias), tigris_int32_data(call, params->multiplier),
        tigris_int8_data(call, params->shift),
        {params->output_zero_point, params->activation_min, params->activation_max}, NULL};
#if TIGRIS_WEIGHT_ZEROS
    const tigris_asymmetric_fully_connected_int8_params *own = tigris_params(call);
    layer.zeros = tigris_int8_data(call, own->weight_zero_points);
#endif
    const tigris_layer_vectors vectors = tigris_layer_vectors_of(call, params->in_features, params->out_features);
    int8_t *output = tigris_int8_output(call);
    const int32_t most = !TIGRIS_WEIGHT_ZEROS && vectors.count > 1U ? tigris_pass_rows(length, outputs, TIGRIS_PAIR_ROWS) : outputs;
    for (int32_t left = outputs; left > 0; left -= most) {
        layer.outputs = left < most ? left : most;
        layer.rows.blocked = layer.outputs & ~(TIGRIS_CHANNEL_BLOCK - 1);
        run_vectors(&layer, vectors.input, vectors.count, output, outputs);
        layer.rows.weights += most * length;
        layer.bias += most;
        layer.multiplier += most * layer.step;
        layer.shift += most * layer.step;
        output += most;
    }
}

#endif
