/* The part of mat_mul_int8.c with the DSP instructions of Armv7E-M (Cortex-M4, M7) and Armv8-M.
 *
 * A block holds terms widened to 16 bits, in tiles: the even and the odd ones of four terms of column a, then those
 * of column b. SXTB16 widens a word of A in that order. Behind the tiles each term is a word, column a in the lower
 * half. */
#ifndef TIGRIS_DSP_MAT_MUL_INT8_H
#define TIGRIS_DSP_MAT_MUL_INT8_H

#include "../block_int8.h"

#define TIGRIS_ROW_TILE 2 /* rows that are computed together */

TIGRIS_INLINE uint32_t tigris_lanes(int32_t a, int32_t b)
{
    return tigris_first_of_both((tigris_pair)a, (tigris_pair)b);
}

/* Packs `count` terms of columns a and b, and adds them to the columns' sums. */
static TIGRIS_NOINLINE void tigris_pack_columns(uint32_t *block, const int8_t *a, const int8_t *b, uint32_t step,
                                                int32_t count, uint32_t sums[2])
{
    for (; count >= TIGRIS_TILE_TAPS; count -= TIGRIS_TILE_TAPS) {
        for (int32_t column = 0; column < 2; column++) {
            const int8_t *from = column == 0 ? a : b;
            const int32_t first = from[0], second = from[step], third = from[2U * step], last = from[3U * step];
            *block++ = tigris_lanes(first, third);
            *block++ = tigris_lanes(second, last);
            sums[column] += (uint32_t)(first + second + third + last);
        }
        a += TIGRIS_TILE_TAPS * step;
        b += TIGRIS_TILE_TAPS * step;
    }
    for (; count > 0; count--) {
        const int32_t first = *a, second = *b;
        *block++ = tigris_lanes(first, second);
        sums[0] += (uint32_t)first;
        sums[1] += (uint32_t)second;
        a += step;
        b += step;
    }
}

/* Adds the products of `count` terms of a block and of TIGRIS_ROW_TILE rows, `step` from each other. Behind
 * the last of `rows` rows it is repeated. */
TIGRIS_INLINE void tigris_add_row_tile(const uint32_t *block, const int8_t *first, uint32_t step, uint32_t rows,
                                       int32_t count, int is_first, uint32_t sums[2 * TIGRIS_ROW_TILE])
{
    const uint32_t *const end = block + (count & ~(TIGRIS_TILE_TAPS - 1));
    const int8_t *second = rows > 1U ? first + step : first;
    uint32_t s0 = 0U, s1 = 0U, s2 = 0U, s3 = 0U;
    if (!is_first) {
        s0 = sums[0], s1 = sums[1], s2 = sums[2], s3 = sums[3];
    }
    while (block != end) {
        const tigris_taps_4 p = tigris_load_weights(&first), q = tigris_load_weights(&second);
        const tigris_taps_4 a = tigris_load_taps(&block), b = tigris_load_taps(&block);
        s0 = tigris_add_4(s0, p, a);
        s1 = tigris_add_4(s1, p, b);
        s2 = tigris_add_4(s2, q, a);
        s3 = tigris_add_4(s3, q, b);
    }
    for (count &= TIGRIS_TILE_TAPS - 1; count > 0; count--) {
        const int32_t a = (int16_t)(*block & 0xFFFFU), b = (int32_t)*block >> 16;
        s0 += (uint32_t)(*first * a), s1 += (uint32_t)(*first++ * b);
        s2 += (uint32_t)(*second * a), s3 += (uint32_t)(*second++ * b);
        block++;
    }
    sums[0] = s0, sums[1] = s1, sums[2] = s2, sums[3] = s3;
}

#endif
