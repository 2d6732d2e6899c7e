#include "tile_int16.h"

#include "instruction_set.h"

#if defined(TIGRIS_DSP)
#include "dsp/tile_int16.h"
#else
#include "portable/tile_int16.h"
#endif

/* Adds the products of one vector and the rows from `row` on. */
static TIGRIS_NOINLINE void add_one(const tigris_tile_int16 *tile, int32_t row, const int16_t *x, const int8_t *weights,
                                    int32_t count, uint32_t *sums)
{
    weights += row * tile->row_step;
    for (; row + TIGRIS_ROW_BLOCK <= tile->rows; row += TIGRIS_ROW_BLOCK) {
        tigris_add_int16_block(1, tile, x, weights, count, sums + row);
        weights += TIGRIS_ROW_BLOCK * tile->row_step;
    }
    for (; row < tile->rows; row++) {
        uint32_t sum = tile->left == TIGRIS_SAFE_PRODUCTS ? 0U : sums[row];
        for (int32_t k = 0; k < count; k++) {
            sum += (uint32_t)(x[k] * weights[k]);
        }
        sums[row] = sum;
        weights += tile->row_step;
    }
}

/* Adds the products of three vectors and all blocks of rows. */
static TIGRIS_NOINLINE void add_three(const tigris_tile_int16 *tile, const int16_t *x, const int8_t *weights,
                                      int32_t count, uint32_t *sums)
{
    for (int32_t row = 0; row + TIGRIS_ROW_BLOCK <= tile->rows; row += TIGRIS_ROW_BLOCK) {
        tigris_add_int16_block(3, tile, x, weights, count, sums + row);
        weights += TIGRIS_ROW_BLOCK * tile->row_step;
    }
}

/* Adds `count` products to each sum of a tile; they fit 32 bits. */
static void add_to_part(tigris_tile_int16 *tile, const int16_t *vector, const int8_t *weights, int32_t count)
{
    int32_t row = 0;
    if (TIGRIS_HAS_THREE && tile->vectors == TIGRIS_TILE_VECTORS) {
        add_three(tile, vector, weights, count, tile->part[0]);
        row = tile->rows & -TIGRIS_ROW_BLOCK;
    }
    for (int32_t i = 0; i < tile->vectors && row < tile->rows; i++) {
        add_one(tile, row, vector, weights, count, tile->part[i]);
        vector += tile->vector_step;
    }
}

/* Makes room for more products. */
static void fold(tigris_tile_int16 *tile)
{
    for (int32_t vector = 0; vector < tile->vectors; vector++) {
        for (int32_t row = 0; row < tile->rows; row++) {
            const uint32_t part = tile->part[vector][row];
            tile->upper[vector][row] = (tile->is_long ? tile->upper[vector][row] : 0U) + (uint32_t)((int32_t)part >> 16);
            tile->part[vector][row] = part & 0xFFFFU;
        }
    }
    tile->is_long = 1;
    tile->left = TIGRIS_SAFE_PRODUCTS - 1;
}

void tigris_add_to_tile(tigris_tile_int16 *tile, const int16_t *vector, const int8_t *weights, int32_t count)
{
    while (count > 0) {
        if (tile->left == 0) {
            fold(tile);
        }
        const int32_t some = count < tile->left ? count : tile->left;
        add_to_part(tile, vector, weights, some);
        vector += some;
        weights += some;
        count -= some;
        tile->left -= some;
    }
}

void tigris_start_rows(tigris_tile_int16 *tile, int32_t first, int32_t channels)
{
    const tigris_outputs_int16 *outputs = &tile->outputs;
    tile->first = first;
    tile->rows = channels < TIGRIS_TILE_ROWS ? channels : TIGRIS_TILE_ROWS;
    tile->is_fast = outputs->stage.sum_bits == 64U;
    for (int32_t row = 0; row < tile->rows; row++) {
        const int32_t shift = outputs->shift[first + row];
        const uint32_t factor = tigris_high_factor(outputs->multiplier[first + row], shift);
        tile->is_fast &= tigris_is_high_word(shift);
        tile->factor[row] = (int32_t)factor;
        tile->initial[row] = tigris_int64_at(outputs->bias, first + row) * factor + (UINT32_C(1) << 31);
    }
}

/* Writes the outputs of any scales and sums. */
static void finish_any(const tigris_tile_int16 *tile, int16_t *to, int32_t step)
{
    const tigris_outputs_int16 *outputs = &tile->outputs;
    for (int32_t vector = 0; vector < tile->vectors; vector++) {
        for (int32_t row = 0; row < tile->rows; row++) {
            const int32_t channel = tile->first + row;
            uint64_t sum = tigris_int64_at(outputs->bias, channel);
            if (tile->left != TIGRIS_SAFE_PRODUCTS) {
                sum += (uint64_t)(int64_t)(int32_t)tile->part[vector][row];
            }
            if (tile->is_long) {
                sum += (uint64_t)(int64_t)(int32_t)tile->upper[vector][row] << 16;
            }
            to[row] = tigris_to_int16((int64_t)sum, outputs->multiplier[channel], outputs->shift[channel],
                                      &outputs->stage);
        }
        to += step;
    }
}

/* The output of a part, if the tile is fast and not long. */
TIGRIS_INLINE int16_t output_of(uint32_t part, int32_t factor, uint64_t initial, int32_t low, int32_t high)
{
    int32_t scaled = (int32_t)(uint32_t)((initial + (uint64_t)((int64_t)(int32_t)part * factor)) >> 32);
    if (scaled < low) {
        scaled = low;
    }
    if (scaled > high) {
        scaled = high;
    }
    return (int16_t)scaled;
}

void tigris_finish_tile(const tigris_tile_int16 *tile, int16_t *to, int32_t step)
{
    const int32_t low = tile->outputs.stage.low, high = tile->outputs.stage.high;
    if (!tile->is_fast || tile->is_long || tile->left == TIGRIS_SAFE_PRODUCTS) {
        finish_any(tile, to, step);
        return;
    }
    int16_t *second = to + (tile->vectors > 1 ? step : 0), *third = to + (tile->vectors > 2 ? 2 * step : 0);
    for (int32_t row = 0; row < tile->rows; row++) {
        const int32_t factor = tile->factor[row];
        const uint64_t initial = tile->initial[row];
        if (tile->vectors == 3) {
            *third++ = output_of(tile->part[2][row], factor, initial, low, high);
        }
        if (tile->vectors > 1) {
            *second++ = output_of(tile->part[1][row], factor, initial, low, high);
        }
        *to++ = output_of(tile->part[0][row], factor, initial, low, high);
    }
}

void tigris_run_vectors(tigris_tile_int16 *tile, const int8_t *weights, int32_t features, const int16_t *input,
                        int32_t inputs, int32_t vectors, int16_t *to)
{
    tile->vector_step = tile->row_step = inputs;
    for (int32_t first = 0; first < features; first += tile->rows) {
        tigris_start_rows(tile, first, features - first);
        for (int32_t at = 0; at < vectors; at += tile->vectors) {
            tigris_start_tile(tile, vectors - at);
            tigris_add_to_tile(tile, input + at * inputs, weights + first * inputs, inputs);
            tigris_finish_tile(tile, to + (at * features + first), features);
        }
    }
}
