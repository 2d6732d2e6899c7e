/* The part of tile_int16.c for 32-bit machines without vector instructions. */
#ifndef TIGRIS_PORTABLE_TILE_INT16_H
#define TIGRIS_PORTABLE_TILE_INT16_H

#include "../tile_int16.h"

/* The loop over three vectors needs 25 registers. */
#if defined(__arm__) || defined(__XTENSA__)
#define TIGRIS_HAS_THREE 0
#else
#define TIGRIS_HAS_THREE 1
#endif

/* Adds the products of tap number `tap`. */
TIGRIS_INLINE void tigris_add_int16_tap(int32_t vectors, const int16_t *const *x, const int8_t *const *w, int32_t tap,
                                        uint32_t *sums)
{
    const int32_t first = x[0][tap], second = vectors > 1 ? x[1][tap] : 0, third = vectors > 1 ? x[2][tap] : 0;
    TIGRIS_UNROLL(4)
    for (int32_t row = 0; row < TIGRIS_ROW_BLOCK; row++) {
        const int32_t weight = w[row][tap];
        TIGRIS_ADD_NEXT(sums[row], first, weight);
        if (vectors > 1) {
            TIGRIS_ADD_NEXT(sums[TIGRIS_ROW_BLOCK + row], second, weight);
            TIGRIS_ADD_NEXT(sums[2 * TIGRIS_ROW_BLOCK + row], third, weight);
        }
    }
}

TIGRIS_INLINE void tigris_skip_int16_taps(const int16_t **x, const int8_t **w, int32_t taps)
{
    x[0] += taps, x[1] += taps, x[2] += taps;
    w[0] += taps, w[1] += taps, w[2] += taps, w[3] += taps;
}

/* Adds `count` products to each sum of `vectors` vectors, one or three, and a block of rows. */
TIGRIS_INLINE void tigris_add_int16_block(int32_t vectors, const tigris_tile_int16 *tile, const int16_t *vector,
                                          const int8_t *weights, int32_t count, uint32_t *part)
{
    const int32_t x_step = vectors > 1 ? tile->vector_step : 0, w_step = tile->row_step;
    const int16_t *x[] = {vector, vector + x_step, vector + 2 * x_step};
    const int8_t *w[] = {weights, weights + w_step, weights + 2 * w_step, weights + 3 * w_step};
    uint32_t sums[TIGRIS_TILE_VECTORS * TIGRIS_ROW_BLOCK] = {0U};
    tigris_load_sums(tile, vectors, part, sums);
    while (x[0] != vector + (count & 7)) {
        tigris_add_int16_tap(vectors, x, w, 0, sums);
        tigris_skip_int16_taps(x, w, 1);
    }
    while (x[0] != vector + count) {
        tigris_add_int16_tap(vectors, x, w, 0, sums);
        tigris_add_int16_tap(vectors, x, w, 1, sums);
        tigris_add_int16_tap(vectors, x, w, 2, sums);
        tigris_add_int16_tap(vectors, x, w, 3, sums);
        tigris_add_int16_tap(vectors, x, w, 4, sums);
        tigris_add_int16_tap(vectors, x, w, 5, sums);
        tigris_add_int16_tap(vectors, x, w, 6, sums);
        tigris_add_int16_tap(vectors, x, w, 7, sums);
        tigris_skip_int16_taps(x, w, 8);
    }
    tigris_store_sums(vectors, sums, part);
}

#endif
