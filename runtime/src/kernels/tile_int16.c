#include "tile_int16.h"

TIGRIS_INLINE int32_t load_int16(const void *vector, int32_t index, int32_t zero_point)
{
    (void)zero_point;
    return ((const int16_t *)vector)[index];
}

static TIGRIS_NOINLINE void add_one(const void *const *from, int32_t zero_point, const int8_t *weights, int32_t step,
                                    int32_t count, tigris_four_sums *sums)
{
    tigris_add_four_rows(load_int16, 0, from, zero_point, weights, step, count, sums);
}

static TIGRIS_NOINLINE void add_two(const void *const *from, int32_t zero_point, const int8_t *weights, int32_t step,
                                    int32_t count, tigris_four_sums *sums)
{
    tigris_add_four_rows(load_int16, 1, from, zero_point, weights, step, count, sums);
}

static void fold(tigris_tile_int16 *tile)
{
    for (int32_t vector = 0; vector < tile->part.vectors; vector++) {
        for (int32_t row = 0; row < tile->part.rows; row++) {
            tile->sum[vector][row] += (uint64_t)(int64_t)(int32_t)tile->part.sums[vector].row[row];
            tile->part.sums[vector].row[row] = 0U;
        }
    }
    tile->left = TIGRIS_SAFE_PRODUCTS;
}

void tigris_add_to_tile(tigris_tile_int16 *tile, const int16_t *const *vectors, const int8_t *weights, int32_t count)
{
    for (int32_t at = 0; at < count;) {
        const int32_t some = count - at < tile->left ? count - at : tile->left;
        const void *const from[] = {vectors[0] + at, tile->part.vectors == 1 ? NULL : vectors[1] + at};
        tigris_add_to_sums(&tile->part, load_int16, add_one, add_two, from, weights + at, some);
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
    for (int32_t row = 0; row < tile->part.rows; row++) {
        const uint64_t bias = tigris_int64_at(call, outputs->bias, (uint32_t)(first + row));
        for (int32_t vector = 0; vector < tile->part.vectors; vector++) {
            tile->sum[vector][row] = bias;
            tile->part.sums[vector].row[row] = 0U;
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
    for (int32_t row = 0; row < tile->part.rows; row++) {
        const uint64_t sum = tile->sum[vector][row] + (uint64_t)(int64_t)(int32_t)tile->part.sums[vector].row[row];
        to[row] = tigris_to_int16((int64_t)sum, multiplier[row], shift[row], &stage);
    }
}
