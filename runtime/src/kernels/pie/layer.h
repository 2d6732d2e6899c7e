/* Layers for the assembly functions of pie_int8.h.
 *
 * The weights of an operator with TIGRIS_PACKING_PIE are a stream: a head, blocks of weights and words, then 16 bytes.
 * The head has 16 bytes: tigris_pie_ending, shift of sums, shift of outputs, zeros. The biases follow the stream: they
 * bound its length whenever it is read. */
#ifndef TIGRIS_PIE_LAYER_H
#define TIGRIS_PIE_LAYER_H

#include "../check.h"
#include "pie_int8.h"

#define TIGRIS_PIE_LANES 16U  /* bytes of a vector */
#define TIGRIS_PIE_OUTPUTS 8U /* outputs that are requantised at a time */

/* The first byte of a head: the variant of the function. Sums of at most 64 products have variants of their own. */
typedef enum tigris_pie_ending {
    TIGRIS_PIE_ABOVE,
    TIGRIS_PIE_USUAL,
    TIGRIS_PIE_CLAMPED,
    TIGRIS_PIE_WHOLE,
    TIGRIS_PIE_WHOLE_CLAMPED,
    TIGRIS_PIE_LONG,
    TIGRIS_PIE_LONG_CLAMPED,
    TIGRIS_PIE_ENDINGS
} tigris_pie_ending;

/* The blocks of a stream: their number, and bytes of weights and groups of eight outputs of each. */
typedef struct tigris_pie_blocks {
    uint32_t count;
    uint32_t weights;
    uint32_t eights;
} tigris_pie_blocks;

/* A dense layer of a call, and the two parts of its scratch. */
typedef struct tigris_pie_dense_layer {
    tigris_pie_dense_kernel *run; /* NULL: there is nothing to be done */
    tigris_pie_layer layer;
    uint32_t block;  /* bytes of a block of the stream */
    uint32_t window; /* products of an output */
    uint32_t outputs;
    int8_t *patch;  /* a window, in whole vectors */
    int8_t *result; /* a pixel of whole eights */
} tigris_pie_dense_layer;

static inline uint32_t tigris_pie_vectors(uint32_t bytes)
{
    return bytes / TIGRIS_PIE_LANES + (bytes % TIGRIS_PIE_LANES != 0U);
}

static inline int tigris_pie_is_aligned(const int8_t *values, uint32_t bytes)
{
    return ((uintptr_t)values & (bytes - 1U)) == 0U;
}

/* Whether the plan's tensors are aligned, and the operator's scratch and stream are valid. The stream lies from
 * `weights` up to `bias` of the weight block. */
tigris_status tigris_pie_check(const tigris_check_call *call, uint32_t weights, uint32_t bias,
                               tigris_pie_blocks blocks, uint32_t scratch);

/* Prepares the layer of a call and returns its ending, or TIGRIS_PIE_ENDINGS if the stream is no longer the checked
 * one: a damaged plan may have overwritten it. */
tigris_pie_ending tigris_pie_layer_of(const tigris_kernel_call *call, uint32_t weights, uint32_t bias,
                                      tigris_pie_blocks blocks, tigris_pie_layer *layer);

/* The blocks, bytes of scratch and set-up of a dense layer of `outputs`, each of `window` products. The set-up lacks
 * the activation's limits. */
tigris_pie_blocks tigris_pie_dense_blocks(uint32_t window, uint32_t outputs);
uint32_t tigris_pie_dense_scratch(uint32_t window, uint32_t outputs);
tigris_pie_dense_layer tigris_pie_dense_of(const tigris_kernel_call *call, uint32_t weights, uint32_t bias,
                                           uint32_t window, uint32_t outputs);

/* The functions of TIGRIS_PIE_ENTRY and TIGRIS_POOL_ENTRY (set.h). */
int tigris_conv_2d_int16_by_set(const tigris_kernel_call *call);
int tigris_depthwise_conv_2d_int16_by_set(const tigris_kernel_call *call);
int tigris_fully_connected_int16_by_set(const tigris_kernel_call *call);
int tigris_average_pool_int8_by_set(const tigris_kernel_call *call);
int tigris_max_pool_int8_by_set(const tigris_kernel_call *call);

/* Computes `pixels` contiguous pixels, in one call of the assembly if they are whole aligned vectors. */
void tigris_pie_run_dense(const tigris_pie_dense_layer *d, const int8_t *input, int8_t *output, uint32_t pixels);

#endif
