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

/* At -Os vectors are computed one by one. */
#if defined(__OPTIMIZE_SIZE__)
#define HAS_PAIRS 0
#else
#define HAS_PAIRS !TIGRIS_WEIGHT_ZEROS
#endif

#if HAS_PAIRS
/* Weights of one pass over the vectors, in bytes, and its outputs, a multiple of the rows whose sums tigris_run_pair
 * keeps. A pass reads its weights again for each pair, from flash through a cache: larger layers take several passes. */
#define PASS_BYTES 8192
#define PASS_OUTPUTS 16

/* Two vectors, one behind the other. */
typedef struct vector_pair {
    const int8_t *first;
    int32_t length;
} vector_pair;

TIGRIS_HOT
static void fill_pair(const void *vectors, int32_t at, int32_t count, uint32_t *patch)
{
    const vector_pair *pair = vectors;
    tigris_fill_patch(patch, 0, pair->first + at, 1, pair->first + pair->length + at, 1, count);
}
#endif

/* Computes the outputs of `layer`, a part of all, for `count` vectors. */
TIGRIS_HOT
static void run_vectors(const tigris_fully_connected_int8_params *params, const tigris_layer *layer,
                        const int8_t *zeros, const int8_t *input, uint32_t count, int8_t *output)
{
#if HAS_PAIRS
    for (; count > 1U; count -= 2U) {
        const vector_pair pair = {input, layer->rows.length};
        tigris_run_pair(layer, fill_pair, &pair, output, (int32_t)params->out_features);
        input += 2U * params->in_features;
        output += 2U * params->out_features;
    }
#endif
    for (; count > 0U; count--) {
        tigris_run_layer(layer, zeros, input, output);
        input += params->in_features;
        output += params->out_features;
    }
}

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
    int8_t *output = tigris_int8_output(call);
    const int8_t *zeros = NULL;
#if TIGRIS_WEIGHT_ZEROS
    const tigris_asymmetric_fully_connected_int8_params *own = tigris_params(call);
    zeros = tigris_int8_data(call, own->weight_zero_points);
#endif
#if HAS_PAIRS
    const int32_t length = layer.rows.length;
    if (vectors.count > 1U && length * outputs > 3 * PASS_BYTES / 2) {
        const int32_t most = length < PASS_BYTES / PASS_OUTPUTS ? PASS_BYTES / length & ~(PASS_OUTPUTS - 1) : PASS_OUTPUTS;
        for (int32_t first = 0; first < outputs; first += most) {
            tigris_layer part = layer;
            part.rows.weights += first * length;
            part.outputs = outputs - first < most ? outputs - first : most;
            part.rows.blocked = part.outputs & ~(TIGRIS_CHANNEL_BLOCK - 1);
            part.bias += first;
            part.multiplier += first * layer.step;
            part.shift += first * layer.step;
            run_vectors(params, &part, zeros, vectors.input, vectors.count, output + first);
        }
        return;
    }
#endif
    run_vectors(params, &layer, zeros, vectors.input, vectors.count, output);
}

#endif
