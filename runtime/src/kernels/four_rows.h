/* Sums of products of a tile: up to four rows of int8 weights, and one vector or two, whose elements a function loads. */
#ifndef TIGRIS_FOUR_ROWS_H
#define TIGRIS_FOUR_ROWS_H

#include <stdint.h>

#include "inlining.h"

/* The loop over two vectors needs 19 registers. */
#if defined(__arm__) || defined(__XTENSA__)
#define TIGRIS_TWO_VECTORS 0
#else
#define TIGRIS_TWO_VECTORS 1
#endif

/* The sums of the four rows, modulo 2^32. */
typedef struct tigris_four_sums {
    uint32_t row[4];
} tigris_four_sums;

typedef int32_t (*tigris_load_element)(const void *vector, int32_t index, int32_t zero_point);

/* Adds a product before all that follows in the source. */
#define TIGRIS_ADD_NEXT(sum, element, weight)                                                                          \
    do {                                                                                                               \
        (sum) += (uint32_t)((element) * (weight));                                                                     \
        TIGRIS_HOLD(sum);                                                                                              \
        TIGRIS_STEP();                                                                                                 \
    } while (0)

#define TIGRIS_ADD_WEIGHT(index, weight)                                                                               \
    do {                                                                                                               \
        const int32_t w_ = (weight);                                                                                   \
        TIGRIS_ADD_NEXT(first.row[index], x_, w_);                                                                     \
        if (two) {                                                                                                     \
            TIGRIS_ADD_NEXT(second.row[index], y_, w_);                                                                \
        }                                                                                                              \
    } while (0)

#define TIGRIS_ADD_TAP(tap)                                                                                            \
    do {                                                                                                               \
        const int32_t x_ = load(vectors[0], tap, zero_point), y_ = two ? load(vectors[1], tap, zero_point) : 0;        \
        TIGRIS_ADD_WEIGHT(0, a[tap]);                                                                                  \
        TIGRIS_ADD_WEIGHT(1, b[tap]);                                                                                  \
        TIGRIS_ADD_WEIGHT(2, c[tap]);                                                                                  \
        TIGRIS_ADD_WEIGHT(3, d[tap]);                                                                                  \
    } while (0)

/* Adds `count` products to each sum of one vector, or of two. `step`: from the weights of a row to those of the next. */
TIGRIS_INLINE void tigris_add_four_rows(tigris_load_element load, int two, const void *const *from, int32_t zero_point,
                                        const int8_t *a, int32_t step, int32_t count, tigris_four_sums *sums)
{
    const void *const vectors[] = {from[0], two ? from[1] : from[0]};
    const int8_t *b = a + step, *c = b + step, *d = c + step;
    tigris_four_sums first = sums[0], second = two ? sums[1] : sums[0];
    int32_t k = 0;
    for (; k < (count & 7); k++) {
        TIGRIS_ADD_TAP(k);
    }
    for (; k < count; k += 8) {
        TIGRIS_ADD_TAP(k);
        TIGRIS_ADD_TAP(k + 1);
        TIGRIS_ADD_TAP(k + 2);
        TIGRIS_ADD_TAP(k + 3);
        TIGRIS_ADD_TAP(k + 4);
        TIGRIS_ADD_TAP(k + 5);
        TIGRIS_ADD_TAP(k + 6);
        TIGRIS_ADD_TAP(k + 7);
    }
    sums[0] = first;
    if (two) {
        sums[1] = second;
    }
}

/* A tile, and its sums. */
typedef struct tigris_tile {
    int32_t vectors; /* 1 or 2 */
    int32_t rows;    /* 1 … 4 */
    int32_t row_step;
    int32_t zero_point; /* of the vectors' elements */
    tigris_four_sums sums[2];
} tigris_tile;

/* tigris_add_four_rows with constants in place of the first two arguments, as a function of its own. */
typedef void (*tigris_four_rows_loop)(const void *const *from, int32_t zero_point, const int8_t *weights, int32_t step,
                                      int32_t count, tigris_four_sums *sums);

/* Adds `count` products to each sum of a tile. */
TIGRIS_INLINE void tigris_add_to_sums(tigris_tile *t, tigris_load_element load, tigris_four_rows_loop one,
                                      tigris_four_rows_loop two, const void *const *from, const int8_t *weights,
                                      int32_t count)
{
    if (t->rows == 4 && t->vectors == 2 && TIGRIS_TWO_VECTORS) {
        two(from, t->zero_point, weights, t->row_step, count, t->sums);
        return;
    }
    for (int32_t vector = 0; vector < t->vectors; vector++) {
        if (t->rows == 4) {
            one(from + vector, t->zero_point, weights, t->row_step, count, t->sums + vector);
            continue;
        }
        for (int32_t row = 0; row < t->rows; row++) {
            const int8_t *w = weights + row * t->row_step;
            uint32_t sum = t->sums[vector].row[row];
            for (int32_t k = 0; k < count; k++) {
                sum += (uint32_t)(load(from[vector], k, t->zero_point) * w[k]);
            }
            t->sums[vector].row[row] = sum;
        }
    }
}

#endif
