#include "tile_int16.h"

/* The loop over two vectors needs 19 registers. */
#if defined(__arm__) || defined(__XTENSA__)
#define HAS_TWO_VECTORS 0
#else
#define HAS_TWO_VECTORS 1
#endif

#define ADD_WEIGHT(index, weight)                                                                                      \
    do {                                                                                                               \
        const int32_t w_ = (weight);                                                                                   \
        TIGRIS_ADD_NEXT(first.row[index], x_, w_);                                                                     \
        if (two) {                                                                                                     \
            TIGRIS_ADD_NEXT(second.row[index], y_, w_);                                                                \
        }                                                                                                              \
    } while (0)

#define ADD_TAP(tap)                                                                                                   \
    do {                                                                                                               \
        const int32_t x_ = x[tap], y_ = two ? y[tap] : 0;                                                              \
        ADD_WEIGHT(0, a[tap]);                                                                                         \
        ADD_WEIGHT(1, b[tap]);                                                                                         \
        ADD_WEIGHT(2, c[tap]);                                                                                         \
        ADD_WEIGHT(3, d[tap]);                                                                                         \
    } while (0)

/* Adds `count` products to each sum of one vector, or of two. `step`: from the weights of a row to those of the next. */
TIGRIS_INLINE void add_rows(int two, const int16_t *x, const int16_t *y, const int8_t *a, int32_t step, int32_t count,
                            tigris_four_sums *sums)
{
    const int8_t *b = a + step, *c = b + step, *d = c + step;
    tigris_four_sums first = sums[0], second = two ? sums[1] : sums[0];
    int32_t k = 0;
    for (; k < (count & 7); k++) {
        ADD_TAP(k);
    }
    for (; k < count; k += 8) {
        ADD_TAP(k);
        ADD_TAP(k + 1);
        ADD_TAP(k + 2);
        ADD_TAP(k + 3);
        ADD_TAP(k + 4);
        ADD_TAP(k + 5);
        ADD_TAP(k + 6);
        ADD_TAP(k + 7);
    }
    sums[0] = first;
    if (two) {
        sums[1] = second;
    }
}

static TIGRIS_NOINLINE void add_one(const int16_t *x, const int8_t *weights, int32_t step, int32_t count,
                                    tigris_four_sums *sums)
{
    add_rows(0, x, x, weights, step, count, sums);
}

static TIGRIS_NOINLINE void add_two(const int16_t *x, const int16_t *y, const int8_t *weights, int32_t step,
                                    int32_t count, tigris_four_sums *sums)
{
    add_rows(1, x, y, weights, step, count, sums);
}

/* Adds `count` products to each sum of a tile; they fit 32 bits. */
static void add_to_part(tigris_tile_int16 *t, const int16_t *const *vectors, const int8_t *weights, int32_t count)
{
    if (t->rows == TIGRIS_TILE_ROWS && t->vectors == 2 && HAS_TWO_VECTORS) {
        add_two(vectors[0], vectors[1], weights, t->row_step, count, t->part);
        return;
    }
    for (int32_t vector = 0; vector < t->vectors; vector++) {
        const int16_t *x = vectors[vector];
        if (t->rows == TIGRIS_TILE_ROWS) {
            add_one(x, weights, t->row_step, count, &t->part[vector]);
            continue;
        }
        for (int32_t row = 0; row < t->rows; row++) {
            const int8_t *w = weights + row * t->row_step;
            uint32_t sum = t->part[vector].row[row];
            for (int32_t k = 0; k < count; k++) {
                sum += (uint32_t)(x[k] * w[k]);
            }
            t->part[vector].row[row] = sum;
        }
    }
}

static void fold(tigris_tile_int16 *tile)
{
    for (int32_t vector = 0; vector < tile->vectors; vector++) {
        for (int32_t row = 0; row < tile->rows; row++) {
            tile->sum[vector][row] += (uint64_t)(int64_t)(int32_t)tile->part[vector].row[row];
            tile->part[vector].row[row] = 0U;
        }
    }
    tile->left = TIGRIS_SAFE_PRODUCTS;
}

void tigris_add_to_tile(tigris_tile_int16 *tile, const int16_t *const *vectors, const int8_t *weights, int32_t count)
{
    for (int32_t at = 0; at < count;) {
        const int32_t some = count - at < tile->left ? count - at : tile->left;
        const int16_t *const from[] = {vectors[0] + at, tile->vectors == 1 ? NULL : vectors[1] + at};
        add_to_part(tile, from, weights + at, some);
        at += some;
        tile->left -= some;
        if (tile->left == 0) {
            fold(tile);
        }
    }
}

void tigris_start_tile(tigris_tile_int16 *tile, const tigris_kernel_call *call, const tigris_outputs_int16 *outputs,
                       int32_t first)
{
    for (int32_t row = 0; row < tile->rows; row++) {
        const uint64_t bias = tigris_int64_at(call, outputs->bias, (uint32_t)(first + row));
        for (int32_t vector = 0; vector < tile->vectors; vector++) {
            tile->sum[vector][row] = bias;
            tile->part[vector].row[row] = 0U;
        }
    }
    tile->left = TIGRIS_SAFE_PRODUCTS;
}

void tigris_finish_tile(const tigris_tile_int16 *tile, const tigris_outputs_int16 *outputs, int32_t first,
                        int32_t vector, int16_t *to)
{
    const int32_t *multiplier = outputs->multiplier + first;
    const int8_t *shift = outputs->shift + first;
    const tigris_sum_stage stage = outputs->stage;
    for (int32_t row = 0; row < tile->rows; row++) {
        const uint64_t sum = tile->sum[vector][row] + (uint64_t)(int64_t)(int32_t)tile->part[vector].row[row];
        to[row] = tigris_to_int16((int64_t)sum, multiplier[row], shift[row], &stage);
    }
}
