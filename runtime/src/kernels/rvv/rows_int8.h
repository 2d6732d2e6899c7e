/* Products of a vector with rows of packed int8 weights (tigris_pio/compiler/weights/packing.py), with RVV: what a fully
 * connected layer is, and a convolution for the taps of each pixel. */
#ifndef TIGRIS_RVV_ROWS_INT8_H
#define TIGRIS_RVV_ROWS_INT8_H

#include "rvv.h"

#if TIGRIS_RVV

#define TIGRIS_RVV_BLOCK 4 /* channels of a block of packed weights */
#define TIGRIS_RVV_TILE 4  /* taps */

typedef struct tigris_rvv_layer {
    const int8_t *weights; /* [outputs][length], packed; on a multiple of 4 */
    const int32_t *bias;
    tigris_rvv_end end;
    int32_t step; /* from a multiplier to the next: 0 or 1 */
    int32_t length;
    int32_t outputs;
} tigris_rvv_layer;

/* Copies `count` taps, 0 or more, in the order of packed weights; `to` may be `from`. */
void tigris_rvv_order_taps(int8_t *to, const int8_t *from, int32_t count);

/* Computes all outputs of a vector whose taps are in the order of packed weights. */
void tigris_rvv_run_layer(const tigris_rvv_layer *layer, const int8_t *taps, int8_t *output);

/* tigris_rvv_run_layer for a long `vector` in the input's order, which is reordered in parts. `part` has room for
 * `most` taps, a multiple of 4. */
void tigris_rvv_run_long_layer(const tigris_rvv_layer *layer, const int8_t *vector, int8_t *part, int32_t most,
                               int8_t *output);

#endif
#endif
