/* Sums of products of one int8 vector with rows of packed int8 weights (block_int8.h). */
#ifndef TIGRIS_ROWS_INT8_H
#define TIGRIS_ROWS_INT8_H

#include "block_int8.h"

/* Rows summed together, a multiple of two blocks. */
#define TIGRIS_ROWS 32

typedef struct tigris_rows {
    const int8_t *weights;
    int32_t length;  /* of a row, and of the vector */
    int32_t blocked; /* rows in whole blocks */
} tigris_rows;

/* A part of the vector, and of each row. */
typedef struct tigris_row_part {
    int32_t at;
    int32_t taps;
    int32_t tiled; /* taps in whole tiles */
    tigris_vector vector;
} tigris_row_part;

/* Adds the whole tiles of up to `left` rows from `first` on to their sums. Returns how many rows it took. */
static int32_t tigris_add_tiles(const tigris_rows *rows, const tigris_row_part *p, int32_t first, int32_t left,
                                uint32_t *sum)
{
    const int32_t length = rows->length;
    const int32_t lane = first & (TIGRIS_CHANNEL_BLOCK - 1);
    const int8_t *w =
        rows->weights + ((first - lane) * length + p->at * TIGRIS_CHANNEL_BLOCK + lane * TIGRIS_TILE_TAPS);
    if (left >= 2 * TIGRIS_CHANNEL_BLOCK) {
        tigris_vector_blocks(&p->vector, w, w + length * TIGRIS_CHANNEL_BLOCK, p->tiled, sum);
        return 2 * TIGRIS_CHANNEL_BLOCK;
    }
    if (first < rows->blocked) {
        tigris_vector_two(&p->vector, w, w + TIGRIS_TILE_TAPS, TIGRIS_CHANNEL_BLOCK * TIGRIS_TILE_TAPS, p->tiled, sum,
                          sum + 1);
        return 2;
    }
    uint32_t unused = 0;
    w = rows->weights + (first * length + p->at);
    tigris_vector_two(&p->vector, w, left == 1 ? w : w + length, TIGRIS_TILE_TAPS, p->tiled, sum,
                      left == 1 ? &unused : sum + 1);
    return left == 1 ? 1 : 2;
}

/* Adds the taps behind the whole tiles of one row. */
static void tigris_add_rest(const tigris_rows *rows, const tigris_row_part *p, int32_t row, uint32_t *sum)
{
    const int32_t length = rows->length;
    const int32_t block = row < rows->blocked ? TIGRIS_CHANNEL_BLOCK : 1, lane = row & (block - 1);
    const int8_t *w = rows->weights + ((row - lane) * length + (p->at + p->tiled) * block + lane);
    for (int32_t tap = p->tiled; tap < p->taps; tap++) {
        *sum = tigris_add_tap(&p->vector, tap, w, *sum);
        w += block;
    }
}

/* Adds the products of the vector with rows [first, first + count) to their sums; first is a multiple of TIGRIS_ROWS,
 * count at most that. */
static void tigris_add_rows(const tigris_rows *rows, const int8_t *vector, int32_t first, int32_t count,
                            uint32_t *sums)
{
    tigris_row_part p;
    for (p.at = 0; p.at < rows->length; p.at += p.taps) {
        p.taps = rows->length - p.at < TIGRIS_VECTOR_TAPS ? rows->length - p.at : TIGRIS_VECTOR_TAPS;
        p.tiled = p.taps & ~(TIGRIS_TILE_TAPS - 1);
        tigris_fill_vector(&p.vector, vector + p.at, p.taps);
        for (int32_t i = 0; i < count;) {
            i += tigris_add_tiles(rows, &p, first + i, count - i, sums + i);
        }
        for (int32_t i = 0; i < count && p.tiled != p.taps; i++) {
            tigris_add_rest(rows, &p, first + i, sums + i);
        }
    }
}

#endif
