/* Fully connected, int8: one dot product of in_features bytes per output, up to BATCH outputs at a time. */
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
} layer;

/* A part of the vector and of each output's weights. */
typedef struct part {
    int32_t at;
    int32_t taps;
} part;

/* Adds the products of `p` to the sums of `count` outputs from `first` on, 8, 4, 2 or 1. */
static void add_outputs(const layer *l, const part *p, const tigris_vector *vector, int32_t first, int32_t count,
                        uint32_t *sum)
{
    const int32_t length = (int32_t)l->params->in_features;
    const int32_t tiled = p->taps & ~(TIGRIS_TILE_TAPS - 1);
    const int32_t block = count < BLOCK ? 1 : BLOCK;
    const int8_t *w = l->weights + (first * length + p->at * block);
    if (count == 2 * BLOCK) {
        tigris_vector_blocks(vector, w, w + length * BLOCK, tiled, sum);
    } else if (count == BLOCK) {
        tigris_vector_block(vector, w, tiled, sum);
    } else {
        uint32_t unused = 0;
        tigris_vector_two(vector, w, count == 2 ? w + length : w, tiled, sum, count == 2 ? sum + 1 : &unused);
    }
    for (int32_t k = 0; k < count && tiled < p->taps; k++) {
        const int32_t in_block = k % block;
        for (int32_t tap = tiled; tap < p->taps; tap++) {
            sum[k] = tigris_add_tap(vector, tap, w + ((k - in_block) * length + tap * block + in_block), sum[k]);
        }
    }
}

/* The sums of outputs [first, end) become outputs. */
static void finish(const layer *l, const uint32_t *sum, int32_t first, int32_t end, int8_t *output)
{
    const tigris_output_stage stage = l->output;
    const int32_t usual_above = tigris_usual_above(stage);
    const int32_t step = (int32_t)l->params->requantise_step;
    const int32_t *multiplier = l->multiplier + first * step;
    const int8_t *shift = l->shift + first * step;
    for (int8_t *const stop = output + end, *to = output + first; to != stop; to++) {
        *to = (int8_t)tigris_scale_sum(*sum++, *multiplier, *shift, usual_above, stage);
        multiplier += step;
        shift += step;
    }
}

/* Outputs [first, end), at most BATCH, from one vector. */
static void run_batch(const layer *l, const int8_t *input, int32_t first, int32_t end, int8_t *output)
{
    const int32_t length = (int32_t)l->params->in_features;
    uint32_t sums[BATCH];
    tigris_vector vector;
    part p;
    memcpy(sums, l->bias + first, (size_t)(end - first) * sizeof *sums);
    for (p.at = 0; p.at < length; p.at += p.taps) {
        p.taps = length - p.at < TIGRIS_VECTOR_TAPS ? length - p.at : TIGRIS_VECTOR_TAPS;
        tigris_fill_vector(&vector, input + p.at, p.taps);
        for (int32_t i = first, count; i < end; i += count) {
            const int32_t left = end - i;
            count = left >= 2 * BLOCK ? 2 * BLOCK : left >= BLOCK ? BLOCK : left >= 2 ? 2 : 1;
            add_outputs(l, &p, &vector, i, count, sums + (i - first));
        }
    }
    finish(l, sums, first, end, output);
}

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
    const uint32_t first = (uint32_t)out->first * row_vectors;
    const uint32_t count = (uint32_t)out->rows * row_vectors;
    const int8_t *input = (const int8_t *)(const void *)in->data;
    input += first * params->in_features - (uint32_t)in->first * tigris_row_elements(in->tensor);
    int8_t *output = tigris_int8_output(call);
    for (uint32_t i = 0; i < count; i++) {
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

const tigris_kernel_entry tigris_fully_connected_int8 = {TIGRIS_OP_KIND_FULLY_CONNECTED, TIGRIS_DTYPE_INT8,
                                                         sizeof(tigris_fully_connected_int8_params), run, check};
