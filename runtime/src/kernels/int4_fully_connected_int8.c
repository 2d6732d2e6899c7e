/* INT4_FULLY_CONNECTED and TABLE_FULLY_CONNECTED, int8: FULLY_CONNECTED with weights of 4 bits, or with indices of
 * 4 bits into a table of weights (block_int4.h). */
#include "access.h"
#include "block_int4.h"
#include "check.h"
#include "layer_vectors.h"
#include "scale_int8.h"
#include "tigris_kernels.h"

#define TAPS 128 /* of a vector that are in a patch at once */
#define ROWS 32  /* outputs whose sums are kept at once, a multiple of TIGRIS_INT4_BLOCK */

/* Adds the products of a vector to the sums of `count` outputs; `w`: the weights of the first; `pairs`: of the table, or
 * NULL. */
static TIGRIS_NOINLINE void add_vector(const uint32_t *pairs, const uint32_t *w, const int8_t *vector, int32_t length,
                                       int32_t count, uint32_t *sums)
{
    uint32_t patch[TAPS / 2];
    const int32_t block_words = 2 * tigris_int4_tiles(length);
    for (int32_t at = 0; at < length; at += TAPS) {
        const int32_t taps = length - at < TAPS ? length - at : TAPS;
        const uint32_t raised = TIGRIS_INT4_RAISED * tigris_int4_fill(patch, 2, vector + at, taps);
        const uint32_t *from = w + 2 * tigris_int4_tiles(at);
        for (int32_t i = 0; i < count; i += TIGRIS_INT4_BLOCK) {
            if (pairs != NULL) {
                tigris_table_add_1x4(pairs, patch, (const uint8_t *)from, tigris_int4_tiles(taps), sums + i);
            } else {
                sums[i] -= raised, sums[i + 1] -= raised, sums[i + 2] -= raised, sums[i + 3] -= raised;
                tigris_int4_add_1x4(patch, from, tigris_int4_tiles(taps), sums + i);
            }
            from += block_words;
        }
    }
}

TIGRIS_HOT
static void run_vector(const tigris_kernel_call *call, const uint32_t *pairs, const int8_t *vector, int8_t *output)
{
    const tigris_fully_connected_int8_params *params = tigris_params(call);
    const tigris_output_stage stage = {params->output_zero_point, params->activation_min, params->activation_max};
    const int32_t length = (int32_t)params->in_features, outputs = (int32_t)params->out_features;
    const int32_t step = (int32_t)params->requantise_step;
    const int32_t *bias = tigris_int32_data(call, params->bias);
    const uint32_t *w = (const uint32_t *)(const void *)tigris_int8_data(call, params->weights);
    uint32_t sums[ROWS];
    for (int32_t first = 0, count; first < outputs; first += count) {
        count = outputs - first < ROWS ? outputs - first : ROWS;
        for (int32_t i = 0; i < ROWS; i++) {
            sums[i] = i < count ? (uint32_t)bias[first + i] : 0U;
        }
        add_vector(pairs, w, vector, length, count, sums);
        w += ROWS / TIGRIS_INT4_BLOCK * 2 * tigris_int4_tiles(length);
        tigris_requantise_channels(sums, count, tigris_int32_data(call, params->multiplier) + first * step,
                                   tigris_int8_data(call, params->shift) + first * step, step, &stage, output + first);
    }
}

TIGRIS_HOT
static void run_vectors(const tigris_kernel_call *call, const uint32_t *pairs)
{
    const tigris_fully_connected_int8_params *params = tigris_params(call);
    const tigris_layer_vectors vectors = tigris_layer_vectors_of(call, params->in_features, params->out_features);
    const int8_t *input = vectors.input;
    int8_t *output = tigris_int8_output(call);
    for (uint32_t left = vectors.count; left > 0U; left--) {
        run_vector(call, pairs, input, output);
        input += params->in_features;
        output += params->out_features;
    }
}

TIGRIS_HOT
static void run(const tigris_kernel_call *call)
{
    run_vectors(call, NULL);
}

TIGRIS_HOT
static void run_table(const tigris_kernel_call *call)
{
    const tigris_table_fully_connected_int8_params *params = tigris_params(call);
    uint32_t *const pairs = (uint32_t *)(void *)tigris_scratch(call);
    tigris_table_fill(pairs, tigris_int8_data(call, params->table));
    run_vectors(call, pairs);
}

static tigris_status check(const tigris_check_call *call)
{
    const tigris_fully_connected_int8_params *params = call->params;
    const uint32_t words = tigris_int4_words(params->in_features, params->out_features);
    return tigris_check_layer_int8(call, words, sizeof(uint32_t));
}

TIGRIS_KERNEL_ENTRY(tigris_int4_fully_connected_int8, INT4_FULLY_CONNECTED, INT8, tigris_fully_connected_int8_params,
                    run, check);

static tigris_status check_table(const tigris_check_call *call)
{
    const tigris_table_fully_connected_int8_params *params = call->params;
    if (tigris_scratch_of_a_core(call->op) < TIGRIS_TABLE_PAIRS * sizeof(uint32_t) ||
        !tigris_check_data(call, params->table, 1U, 16U)) {
        return TIGRIS_ERR_PARAMS;
    }
    return check(call);
}

TIGRIS_KERNEL_ENTRY(tigris_table_fully_connected_int8, TABLE_FULLY_CONNECTED, INT8,
                    tigris_table_fully_connected_int8_params, run_table, check_table);
