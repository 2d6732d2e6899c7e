/* Sums of products of int16 and int8 weights: a tile of a few vectors and rows of weights.
 *
 * Products are added to parts of 32 bits. Before they could overflow, a part's upper half moves to a word of its own.
 * Bias, multiplier and shift of a row become one factor and one addend, once for all vectors. */
#ifndef TIGRIS_TILE_INT16_H
#define TIGRIS_TILE_INT16_H

#include "inlining.h"
#include "int16.h"

/* More rows save calls, at 36 bytes of stack each. At -Os an inference takes less than 1 KB. */
#if defined(__OPTIMIZE_SIZE__)
#define TIGRIS_TILE_ROWS 8
#else
#define TIGRIS_TILE_ROWS 16
#endif
#define TIGRIS_TILE_VECTORS 3
#define TIGRIS_ROW_BLOCK 4 /* rows that are multiplied together */

/* Adds a product before all that follows in the source. */
#define TIGRIS_ADD_NEXT(sum, element, weight)                                                                          \
    do {                                                                                                               \
        (sum) += (uint32_t)((element) * (weight));                                                                     \
        TIGRIS_HOLD(sum);                                                                                              \
        TIGRIS_STEP();                                                                                                 \
    } while (0)

/* The output stage of a layer, with one bias, multiplier and shift for each output channel. */
typedef struct tigris_outputs_int16 {
    const uint32_t *bias; /* of two words each */
    const int32_t *multiplier;
    const int8_t *shift;
    tigris_sum_stage stage;
} tigris_outputs_int16;

#define TIGRIS_OUTPUTS_INT16(call, params)                                                                             \
    {(const uint32_t *)(const void *)tigris_int32_data(call, (params)->bias),                                          \
     tigris_int32_data(call, (params)->multiplier), tigris_int8_data(call, (params)->shift),                           \
     {(params)->sum_bits, (params)->activation_min, (params)->activation_max}}

typedef struct tigris_tile_int16 {
    tigris_outputs_int16 outputs;
    int32_t first;                /* channel of the first row */
    int32_t vectors;              /* 1 … TIGRIS_TILE_VECTORS */
    int32_t vector_step;          /* elements from a vector to the next */
    int32_t rows;                 /* 1 … TIGRIS_TILE_ROWS */
    int32_t row_step;             /* weights from a row to the next */
    int32_t left;                 /* products that still fit the parts, which are undefined if none was added */
    int32_t is_fast;              /* outputs are upper halves of `initial` + part * `factor` */
    int32_t is_long;              /* sums are part + `upper` * 2^16, which fits 2^25 products; else `upper` is undefined */
    uint32_t part[TIGRIS_TILE_VECTORS][TIGRIS_TILE_ROWS];
    uint32_t upper[TIGRIS_TILE_VECTORS][TIGRIS_TILE_ROWS];
    int32_t factor[TIGRIS_TILE_ROWS];
    uint64_t initial[TIGRIS_TILE_ROWS];
} tigris_tile_int16;

/* Loads and stores the sums of vectors and a block of rows, if they have any product. */
TIGRIS_INLINE void tigris_load_sums(const tigris_tile_int16 *tile, int32_t vectors, const uint32_t *part, uint32_t *sums)
{
    if (tile->left != TIGRIS_SAFE_PRODUCTS) {
        TIGRIS_UNROLL(12)
        for (int32_t i = 0; i < vectors * TIGRIS_ROW_BLOCK; i++) {
            sums[i] = part[i / TIGRIS_ROW_BLOCK * TIGRIS_TILE_ROWS + i % TIGRIS_ROW_BLOCK];
        }
    }
}

TIGRIS_INLINE void tigris_store_sums(int32_t vectors, const uint32_t *sums, uint32_t *part)
{
    TIGRIS_UNROLL(12)
    for (int32_t i = 0; i < vectors * TIGRIS_ROW_BLOCK; i++) {
        part[i / TIGRIS_ROW_BLOCK * TIGRIS_TILE_ROWS + i % TIGRIS_ROW_BLOCK] = sums[i];
    }
}

/* Prepares tiles of the channels from `first` on, at most `channels`. */
void tigris_start_rows(tigris_tile_int16 *tile, int32_t first, int32_t channels);

/* Starts a tile of at most `vectors` vectors, with the rows of the last one. */
static inline void tigris_start_tile(tigris_tile_int16 *tile, int32_t vectors)
{
    tile->vectors = vectors < TIGRIS_TILE_VECTORS ? vectors : TIGRIS_TILE_VECTORS;
    tile->left = TIGRIS_SAFE_PRODUCTS;
    tile->is_long = 0;
}

/* Adds `count` products to each sum: of the vectors from `vector` on, and weights of which the first row starts at
 * `weights`. */
void tigris_add_to_tile(tigris_tile_int16 *tile, const int16_t *vector, const int8_t *weights, int32_t count);

/* Writes the outputs of each vector; `step`: from a vector's outputs to the next's. */
void tigris_finish_tile(const tigris_tile_int16 *tile, int16_t *to, int32_t step);

/* Computes `features` outputs of each of `vectors` vectors of `inputs` elements, with a tile that has `outputs`. */
void tigris_run_vectors(tigris_tile_int16 *tile, const int8_t *weights, int32_t features, const int16_t *input,
                        int32_t inputs, int32_t vectors, int16_t *to);

#endif
