/* Fully connected, int8: one dot product of in_features bytes per output, up to BATCH outputs at a time.
 *
 * With TIGRIS_WEIGHT_ZEROS weights have zero points, each of
 * which is taken off an output's sum as often as the sum of the vector says. */
#ifndef TIGRIS_FULLY_CONNECTED_INT8_H
#define TIGRIS_FULLY_CONNECTED_INT8_H

#include "access.h"
#include "block_int8.h"
#include "check.h"
#include "scale_int8.h"
#include "tigris_kernels.h"

#define BLOCK TIGRIS_CHANNEL_BLOCK
/* Outputs computed together, a multiple of 2 * BLOCK. */
#define BATCH 32

typedef struct layer {
    const tigris_fully_connected_int8_params *params;
    const int8_t *weights;
    const int32_t *bias;
    const int32_t *multiplier;
    const int8_t *shift;
    tigris_output_stage output;
    int32_t blocked; /* outputs in whole blocks */
#if TIGRIS_WEIGHT_ZEROS
    const int8_t *zeros;
    uint32_t vector_sum;
#endif
} layer;

/* A part of the vector, and of each output's weights. */
typedef struct part {
    int32_t at;
    int32_t taps;
    int32_t tiled; /* taps in whole tiles */
    tigris_vector vector;
} part;

/* Adds the whole tiles of up to `left` outputs from `first` on to their sums. Returns how many outputs it took. */
static int32_t add_tiles(const layer *l, const part *p, int32_t first, int32_t left, uint32_t *sum)
{
    const int32_t length = (int32_t)l->params->in_features;
    const int32_t lane = first % BLOCK;
    const int8_t *w = l->weights + ((first - lane) * length + p->at * BLOCK + lane * TIGRIS_TILE_TAPS);
#if defined(TIGRIS_VECTOR_TEN)
    if (left == 2 * BLOCK + 2) { /* ten classes are common */
        tigris_vector_ten(&p->vector, w, length, p->tiled, sum);
        return left;
    }
#endif
    if (left >= 2 * BLOCK) {
        tigris_vector_blocks(&p->vector, w, w + length * BLOCK, p->tiled, sum);
        return 2 * BLOCK;
    }
    if (first < l->blocked) {
        tigris_vector_two(&p->vector, w, w + TIGRIS_TILE_TAPS, BLOCK * TIGRIS_TILE_TAPS, p->tiled, sum, sum + 1);
        return 2;
    }
    uint32_t unused = 0;
    w = l->weights + (first * length + p->at);
    tigris_vector_two(&p->vector, w, left == 1 ? w : w + length, TIGRIS_TILE_TAPS, p->tiled, sum,
                      left == 1 ? &unused : sum + 1);
    return left == 1 ? 1 : 2;
}

/* Adds the taps behind the whole tiles of one output. */
static void add_rest(const layer *l, const part *p, int32_t output, uint32_t *sum)
{
    const int32_t length = (int32_t)l->params->in_features;
    const int32_t block = output < l->blocked ? BLOCK : 1, lane = output % block;
    const int8_t *w = l->weights + ((output - lane) * length + (p->at + p->tiled) * block + lane);
    for (int32_t tap = p->tiled; tap < p->taps; tap++) {
        *sum = tigris_add_tap(&p->vector, tap, w, *sum);
        w += block;
    }
}

/* Outputs [first, end), at most BATCH, from one vector. */
static void run_batch(const layer *l, const int8_t *input, int32_t first, int32_t end, int8_t *output)
{
    const tigris_fully_connected_int8_params *params = l->params;
    const int32_t length = (int32_t)params->in_features, step = (int32_t)params->requantise_step;
    const int32_t count = end - first;
    uint32_t sums[BATCH];
    part p;
    tigris_begin_sums(sums, l->bias + first, count);
#if TIGRIS_WEIGHT_ZEROS
    for (int32_t i = 0; i < count; i++) {
        sums[i] -= (uint32_t)(int32_t)l->zeros[first + i] * l->vector_sum;
    }
#endif
    for (p.at = 0; p.at < length; p.at += p.taps) {
        p.taps = length - p.at < TIGRIS_VECTOR_TAPS ? length - p.at : TIGRIS_VECTOR_TAPS;
        p.tiled = p.taps & ~(TIGRIS_TILE_TAPS - 1);
        tigris_fill_vector(&p.vector, input + p.at, p.taps);
        for (int32_t i = 0; i < count;) {
            i += add_tiles(l, &p, first + i, count - i, sums + i);
        }
        for (int32_t i = 0; i < count && p.tiled != p.taps; i++) {
            add_rest(l, &p, first + i, sums + i);
        }
    }
    tigris_scale_channels(sums, count, l->multiplier + first * step, l->shift + first * step, step, &l->output,
                          output + first);
}

#if TIGRIS_WEIGHT_ZEROS
static uint32_t sum_of(const int8_t *vector, uint32_t count)
{
    int32_t sum = 0;
    for (const int8_t *const end = vector + count; vector != end; vector++) {
        sum = tigris_wrapping_add(sum, *vector);
    }
    return (uint32_t)sum;
}
#endif

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
    const int32_t outputs = (int32_t)params->out_features;
    l.blocked = outputs & ~(BLOCK - 1);
    const uint32_t first = (uint32_t)out->first * row_vectors;
    const uint32_t count = (uint32_t)out->rows * row_vectors;
    const int8_t *input = (const int8_t *)(const void *)in->data;
    input += first * params->in_features - (uint32_t)in->first * tigris_row_elements(in->tensor);
    int8_t *output = tigris_int8_output(call);
#if TIGRIS_WEIGHT_ZEROS
    const tigris_asymmetric_fully_connected_int8_params *own = call->params;
    l.zeros = tigris_int8_data(call, own->weight_zero_points);
#endif
    for (uint32_t i = 0; i < count; i++) {
#if TIGRIS_WEIGHT_ZEROS
        l.vector_sum = sum_of(input, params->in_features);
#endif
        for (int32_t from = 0; from < outputs; from += BATCH) {
            run_batch(&l, input, from, outputs - from > BATCH ? from + BATCH : outputs, output);
        }
        input += params->in_features;
        output += params->out_features;
    }
}

static tigris_status check(const tigris_check_call *call)
{
    const tigris_fully_connected_int8_params *params = call->params;
    const uint32_t weights = tigris_multiply(params->in_features, params->out_features);
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

#endif
