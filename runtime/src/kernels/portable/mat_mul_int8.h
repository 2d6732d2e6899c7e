/* The part of mat_mul_int8.c for 32-bit machines without vector instructions.
 *
 * A word holds a term of both columns, so one multiplication by an element of A gives both products, as with two pixels
 * in block_int8.h. */
#ifndef TIGRIS_PORTABLE_MAT_MUL_INT8_H
#define TIGRIS_PORTABLE_MAT_MUL_INT8_H

#include "../block_int8.h"

/* Rows that are computed together: each takes two registers for its totals. */
#if defined(TIGRIS_PIXELS4)
#define TIGRIS_ROW_TILE 4
#else
#define TIGRIS_ROW_TILE 2
#endif

/* Packs `count` terms of columns a and b, at most 256, and adds them to the columns' sums. */
static TIGRIS_NOINLINE void tigris_pack_columns(uint32_t *block, const int8_t *a, const int8_t *b, uint32_t step,
                                                int32_t count, uint32_t sums[2])
{
    uint32_t sum = 0U; /* of both columns, as lanes */
    for (const uint32_t *const end = block + count; block != end;) {
        const uint32_t lanes = tigris_lanes(*a, *b);
        *block++ = lanes;
        sum += lanes;
        a += step;
        b += step;
    }
    const uint32_t low = (uint32_t)(int32_t)(int16_t)(sum & 0xFFFFU);
    sums[0] += low;
    sums[1] += (uint32_t)((int32_t)(sum - low) >> 16);
}

/* Adds the totals of two columns to their sums, which are 0 if `is_first`. */
TIGRIS_INLINE void tigris_add_totals(tigris_totals totals, int is_first, uint32_t sums[2])
{
    sums[0] = (is_first ? 0U : sums[0]) + totals.both - (totals.high << 16);
    sums[1] = (is_first ? 0U : sums[1]) + totals.high;
}

/* Totals of TIGRIS_ROW_TILE rows or more. */
typedef struct tigris_row_totals {
    tigris_totals a;
    tigris_totals b;
    tigris_totals c;
    tigris_totals d;
} tigris_row_totals;

/* Adds the products of terms p and q. */
TIGRIS_INLINE void tigris_add_terms(tigris_row_totals *s, uint32_t p, uint32_t q, const int8_t *a, const int8_t *b,
                                    const int8_t *c, const int8_t *d)
{
    tigris_add_two(&s->a, p, a[0], q, a[1]);
    tigris_add_two(&s->b, p, b[0], q, b[1]);
#if TIGRIS_ROW_TILE == 4
    tigris_add_two(&s->c, p, c[0], q, c[1]);
    tigris_add_two(&s->d, p, d[0], q, d[1]);
#else
    (void)c;
    (void)d;
#endif
}

/* Adds the products of `count` terms of a block and of TIGRIS_ROW_TILE rows, `step` from each other. Behind
 * the last of `rows` rows it is repeated. */
TIGRIS_INLINE void tigris_add_row_tile(const uint32_t *block, const int8_t *a, uint32_t step, uint32_t rows,
                                       int32_t count, int is_first, uint32_t sums[2 * TIGRIS_ROW_TILE])
{
    const uint32_t *const last = block + count, *const end = block + (count & ~(TIGRIS_TILE_TAPS - 1));
    const int8_t *b = rows > 1U ? a + step : a, *c = rows > 2U ? b + step : b, *d = rows > 3U ? c + step : c;
    tigris_row_totals s;
    tigris_init_pair(&s.a.both, &s.a.high, 0, tigris_block_bias(count));
    s.b = s.c = s.d = s.a;
    while (block != end) {
        tigris_add_terms(&s, block[0], block[1], a, b, c, d);
        tigris_add_terms(&s, block[2], block[3], a + 2, b + 2, c + 2, d + 2);
        block += TIGRIS_TILE_TAPS;
        a += TIGRIS_TILE_TAPS;
        b += TIGRIS_TILE_TAPS;
        c += TIGRIS_TILE_TAPS;
        d += TIGRIS_TILE_TAPS;
    }
    for (; block != last; block++) {
        tigris_add_one(&s.a, *block, *a++);
        tigris_add_one(&s.b, *block, *b++);
#if TIGRIS_ROW_TILE == 4
        tigris_add_one(&s.c, *block, *c++);
        tigris_add_one(&s.d, *block, *d++);
#endif
    }
    tigris_add_totals(s.a, is_first, sums);
    tigris_add_totals(s.b, is_first, sums + 2);
#if TIGRIS_ROW_TILE == 4
    tigris_add_totals(s.c, is_first, sums + 4);
    tigris_add_totals(s.d, is_first, sums + 6);
#endif
}

#endif
