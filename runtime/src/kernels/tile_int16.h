/* Sums of products of int16 and int8 weights: a tile of one or two vectors and up to four rows of weights.
 *
 * Products are added in 32 bits, as many as always fit, and these sums in 64 bits. */
#ifndef TIGRIS_TILE_INT16_H
#define TIGRIS_TILE_INT16_H

#include "inlining.h"
#include "int16.h"

#define TIGRIS_TILE_ROWS 4

/* Adds a product before all that follows in the source. */
#define TIGRIS_ADD_NEXT(sum, element, weight)                                                                          \
    do {                                                                                                               \
        (sum) += (uint32_t)((element) * (weight));                                                                     \
        TIGRIS_HOLD(sum);                                                                                              \
        TIGRIS_STEP();                                                                                                 \
    } while (0)

/* The sums of the rows, modulo 2^32. */
typedef struct tigris_four_sums {
    uint32_t row[TIGRIS_TILE_ROWS];
} tigris_four_sums;

typedef struct tigris_tile_int16 {
    int32_t vectors; /* 1 or 2 */
    int32_t rows;    /* 1 … TIGRIS_TILE_ROWS */
    int32_t row_step;
    int32_t left; /* products that still fit `part` */
    tigris_four_sums part[2];
    uint64_t sum[2][TIGRIS_TILE_ROWS];
} tigris_tile_int16;

/* The output stage of a layer, with one bias, multiplier and shift for each output channel. */
typedef struct tigris_outputs_int16 {
    uint32_t bias; /* its offset */
    const int32_t *multiplier;
    const int8_t *shift;
    tigris_sum_stage stage;
} tigris_outputs_int16;

/* Initialises the sums with the biases of channels `first`, `first` + 1, … */
void tigris_start_tile(tigris_tile_int16 *tile, const tigris_kernel_call *call, const tigris_outputs_int16 *outputs,
                       int32_t first);

/* Adds `count` products to each sum: of each of the tile's vectors, and weights of which the first row starts at
 * `weights`. */
void tigris_add_to_tile(tigris_tile_int16 *tile, const int16_t *const *vectors, const int8_t *weights, int32_t count);

/* Writes a vector's outputs of channels `first`, `first` + 1, … */
void tigris_finish_tile(const tigris_tile_int16 *tile, const tigris_outputs_int16 *outputs, int32_t first,
                        int32_t vector, int16_t *to);

#endif
