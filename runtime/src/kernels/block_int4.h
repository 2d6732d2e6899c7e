/* Sums of products with weights of 4 bits (tigris_pio/format/packing.py), a block of four outputs at a time.
 *
 * A word holds the weights of two outputs for a tile of four taps, each plus 8. A mask gives a pair: an output's weights
 * for taps 0 and 2, or for 1 and 3, each in a half of a word. A patch holds pairs of taps. With DSP instructions SMLAD
 * adds both products of two pairs. Elsewhere the patch's pairs are in reverse order, so that one multiplication adds
 * both products in the upper half of a word:
 *
 *   (a + 2^16 b) * (y + 2^16 x) = a y + 2^16 (a x + b y)   modulo 2^32
 *
 * A product lies in -1920 ... 1905. After TIGRIS_INT4_TILES tiles the upper half has 16 of them and the lower one 8, so
 * neither overflows; 2^15 keeps the lower one from borrowing.
 *
 * Eight times the sum of the taps is subtracted from each sum: tigris_int4_fill returns the sum. Sums wrap. */
#ifndef TIGRIS_BLOCK_INT4_H
#define TIGRIS_BLOCK_INT4_H

#include <stdint.h>
#include <string.h>

#include "../extents.h"
#include "inlining.h"
#include "instruction_set.h"

#define TIGRIS_INT4_BLOCK 4
#define TIGRIS_INT4_TAPS 4   /* of a tile */
#define TIGRIS_INT4_TILES 4  /* by as many loops are unrolled */
#define TIGRIS_INT4_RAISED 8U
#define TIGRIS_INT4_LANES 0x000F000FU

/* Tiles of `taps` taps. */
static inline int32_t tigris_int4_tiles(int32_t taps)
{
    return (int32_t)(((uint32_t)taps + (TIGRIS_INT4_TAPS - 1U)) / TIGRIS_INT4_TAPS);
}

/* Words of the weights of `outputs` outputs with `taps` taps, for checks; UINT32_MAX on overflow. */
static inline uint32_t tigris_int4_words(uint32_t taps, uint32_t outputs)
{
    const uint32_t tiles = taps / TIGRIS_INT4_TAPS + (taps % TIGRIS_INT4_TAPS != 0U);
    const uint32_t blocks = outputs / TIGRIS_INT4_BLOCK + (outputs % TIGRIS_INT4_BLOCK != 0U);
    return tigris_multiply(tigris_multiply(tiles, 2U), blocks);
}

#if defined(TIGRIS_DSP)
#include "dsp/arm_dsp.h"

/* Loads two words and advances `from` behind them. */
TIGRIS_INLINE void tigris_int4_load(const uint32_t **from, uint32_t words[2])
{
    tigris_taps_4 both;
    TIGRIS_LOAD_TAPS(both, *from, 8);
    words[0] = (uint32_t)both.even;
    words[1] = (uint32_t)both.odd;
}

/* Loads the first of two words and advances `from` behind both. */
TIGRIS_INLINE uint32_t tigris_int4_load_first(const uint32_t **from)
{
    const int8_t *at = (const int8_t *)(const void *)*from;
    uint32_t word;
    TIGRIS_LOAD_WORD(word, at, 8);
    *from = (const uint32_t *)(const void *)at;
    return word;
}

/* Fills a tile of a patch. Returns `sum` plus the taps. */
TIGRIS_INLINE uint32_t tigris_int4_fill_tile(uint32_t *patch, const int8_t *taps, uint32_t sum)
{
    const tigris_pair ones = (tigris_pair)0x00010001;
    uint32_t word;
    memcpy(&word, taps, sizeof word); /* any address */
    const tigris_taps_4 wide = tigris_widen_word(word);
    patch[0] = (uint32_t)wide.even;
    patch[1] = (uint32_t)wide.odd;
    return tigris_add_both(wide.odd, ones, tigris_add_both(wide.even, ones, sum));
}

TIGRIS_INLINE uint32_t tigris_int4_start(uint32_t sum)
{
    return sum;
}

TIGRIS_INLINE uint32_t tigris_int4_add(uint32_t sum, uint32_t weights, uint32_t taps)
{
    return tigris_add_both((tigris_pair)weights, (tigris_pair)taps, sum);
}

TIGRIS_INLINE uint32_t tigris_int4_end(uint32_t initial, uint32_t sum)
{
    (void)initial;
    return sum;
}
#else
TIGRIS_INLINE void tigris_int4_load(const uint32_t **from, uint32_t words[2])
{
    words[0] = (*from)[0];
    words[1] = (*from)[1];
    *from += 2;
}

TIGRIS_INLINE uint32_t tigris_int4_load_first(const uint32_t **from)
{
    const uint32_t word = **from;
    *from += 2;
    return word;
}

TIGRIS_INLINE uint32_t tigris_int4_fill_tile(uint32_t *patch, const int8_t *taps, uint32_t sum)
{
    const int32_t a = taps[0], b = taps[1], c = taps[2], d = taps[3];
    patch[0] = ((uint32_t)a << 16) + (uint32_t)c;
    patch[1] = ((uint32_t)b << 16) + (uint32_t)d;
    return sum + (uint32_t)(a + b + (c + d));
}

TIGRIS_INLINE uint32_t tigris_int4_start(uint32_t sum)
{
    (void)sum;
    return 1U << 15;
}

TIGRIS_INLINE uint32_t tigris_int4_add(uint32_t sum, uint32_t weights, uint32_t taps)
{
    sum += weights * taps;
    TIGRIS_HOLD(sum);
    return sum;
}

TIGRIS_INLINE uint32_t tigris_int4_end(uint32_t initial, uint32_t sum)
{
    return initial + (uint32_t)((int32_t)sum >> 16);
}
#endif

/* Fills a patch with `count` taps, and with zeros up to a whole tile; `step`: words from a tile to the next. Returns
 * the sum of the taps. */
static TIGRIS_NOINLINE uint32_t tigris_int4_fill(uint32_t *patch, int32_t step, const int8_t *taps, int32_t count)
{
    uint32_t sum = 0;
    for (; count >= 2 * TIGRIS_INT4_TAPS; count -= 2 * TIGRIS_INT4_TAPS) {
        sum = tigris_int4_fill_tile(patch, taps, sum);
        sum = tigris_int4_fill_tile(patch + step, taps + TIGRIS_INT4_TAPS, sum);
        taps += 2 * TIGRIS_INT4_TAPS;
        patch += 2 * step;
    }
    for (; count >= TIGRIS_INT4_TAPS; count -= TIGRIS_INT4_TAPS) {
        sum = tigris_int4_fill_tile(patch, taps, sum);
        taps += TIGRIS_INT4_TAPS;
        patch += step;
    }
    if (count > 0) {
        const int8_t tail[TIGRIS_INT4_TAPS] = {taps[0], count > 1 ? taps[1] : 0, count > 2 ? taps[2] : 0, 0};
        sum = tigris_int4_fill_tile(patch, tail, sum);
    }
    return sum;
}

/* Likewise with `count` times one tap, in whole tiles. */
static TIGRIS_NOINLINE uint32_t tigris_int4_fill_same(uint32_t *patch, int32_t step, int8_t tap, int32_t count)
{
    const int8_t tile[TIGRIS_INT4_TAPS] = {tap, tap, tap, tap};
    uint32_t sum = 0;
    for (; count > 0; count -= TIGRIS_INT4_TAPS) {
        sum = tigris_int4_fill_tile(patch, tile, sum);
        patch += step;
    }
    return sum;
}

/* Adds a tile of one vector to the sums of four outputs. */
TIGRIS_INLINE void tigris_int4_add_tile_1x4(const uint32_t **patch, const uint32_t **w, uint32_t lanes,
                                            uint32_t sums[4])
{
    uint32_t taps[2], weights[2];
    tigris_int4_load(patch, taps);
    tigris_int4_load(w, weights);
    sums[0] = tigris_int4_add(sums[0], weights[0] & lanes, taps[0]);
    sums[1] = tigris_int4_add(sums[1], weights[0] >> 8 & lanes, taps[0]);
    sums[2] = tigris_int4_add(sums[2], weights[1] & lanes, taps[0]);
    sums[3] = tigris_int4_add(sums[3], weights[1] >> 8 & lanes, taps[0]);
    sums[0] = tigris_int4_add(sums[0], weights[0] >> 4 & lanes, taps[1]);
    sums[1] = tigris_int4_add(sums[1], weights[0] >> 12 & lanes, taps[1]);
    sums[2] = tigris_int4_add(sums[2], weights[1] >> 4 & lanes, taps[1]);
    sums[3] = tigris_int4_add(sums[3], weights[1] >> 12 & lanes, taps[1]);
    TIGRIS_STEP();
}

/* The sums of a part, and their addition to those before. */
TIGRIS_INLINE void tigris_int4_start_four(const uint32_t totals[4], uint32_t sums[4])
{
    sums[0] = tigris_int4_start(totals[0]), sums[1] = tigris_int4_start(totals[1]);
    sums[2] = tigris_int4_start(totals[2]), sums[3] = tigris_int4_start(totals[3]);
}

TIGRIS_INLINE void tigris_int4_end_four(uint32_t totals[4], const uint32_t sums[4])
{
    totals[0] = tigris_int4_end(totals[0], sums[0]), totals[1] = tigris_int4_end(totals[1], sums[1]);
    totals[2] = tigris_int4_end(totals[2], sums[2]), totals[3] = tigris_int4_end(totals[3], sums[3]);
}

/* Adds `tiles` tiles of one vector to the sums of four outputs. Its tiles follow each other in the patch. */
static TIGRIS_NOINLINE void tigris_int4_add_1x4(const uint32_t *patch, const uint32_t *w, int32_t tiles,
                                                uint32_t sum[TIGRIS_INT4_BLOCK])
{
    uint32_t lanes = TIGRIS_INT4_LANES; /* in a register, which Arm's AND takes with a shifted word */
    uint32_t totals[4] = {sum[0], sum[1], sum[2], sum[3]}, sums[4];
    TIGRIS_HOLD(lanes);
    const uint32_t *const end = patch + 2 * tiles, *const whole = end - 2 * (tiles % TIGRIS_INT4_TILES);
    while (patch != whole) {
        tigris_int4_start_four(totals, sums);
        tigris_int4_add_tile_1x4(&patch, &w, lanes, sums);
        tigris_int4_add_tile_1x4(&patch, &w, lanes, sums);
        tigris_int4_add_tile_1x4(&patch, &w, lanes, sums);
        tigris_int4_add_tile_1x4(&patch, &w, lanes, sums);
        tigris_int4_end_four(totals, sums);
    }
    tigris_int4_start_four(totals, sums);
    while (patch != end) {
        tigris_int4_add_tile_1x4(&patch, &w, lanes, sums);
    }
    tigris_int4_end_four(totals, sums);
    sum[0] = totals[0], sum[1] = totals[1], sum[2] = totals[2], sum[3] = totals[3];
}

/* Adds a tile of two pixels to their sums of two outputs, two an output. */
TIGRIS_INLINE void tigris_int4_add_tile_2x2(const uint32_t **patch, const uint32_t **w, uint32_t lanes,
                                            uint32_t sums[4])
{
    uint32_t a[2], b[2];
    const uint32_t weights = tigris_int4_load_first(w);
    tigris_int4_load(patch, a);
    tigris_int4_load(patch, b);
    uint32_t pair = weights & lanes;
    sums[0] = tigris_int4_add(sums[0], pair, a[0]);
    sums[1] = tigris_int4_add(sums[1], pair, b[0]);
    pair = weights >> 4 & lanes;
    sums[0] = tigris_int4_add(sums[0], pair, a[1]);
    sums[1] = tigris_int4_add(sums[1], pair, b[1]);
    pair = weights >> 8 & lanes;
    sums[2] = tigris_int4_add(sums[2], pair, a[0]);
    sums[3] = tigris_int4_add(sums[3], pair, b[0]);
    pair = weights >> 12 & lanes;
    sums[2] = tigris_int4_add(sums[2], pair, a[1]);
    sums[3] = tigris_int4_add(sums[3], pair, b[1]);
    TIGRIS_STEP();
}

/* Adds `tiles` tiles of two pixels, which alternate in the patch, to their sums of two outputs, two an output. */
TIGRIS_INLINE void tigris_int4_add_2x2(const uint32_t *patch, const uint32_t *w, int32_t tiles, uint32_t sum[4])
{
    uint32_t lanes = TIGRIS_INT4_LANES;
    uint32_t totals[4] = {sum[0], sum[1], sum[2], sum[3]}, sums[4];
    TIGRIS_HOLD(lanes);
    const uint32_t *const end = patch + 4 * tiles, *const whole = end - 4 * (tiles % TIGRIS_INT4_TILES);
    while (patch != whole) {
        tigris_int4_start_four(totals, sums);
        tigris_int4_add_tile_2x2(&patch, &w, lanes, sums);
        tigris_int4_add_tile_2x2(&patch, &w, lanes, sums);
        tigris_int4_add_tile_2x2(&patch, &w, lanes, sums);
        tigris_int4_add_tile_2x2(&patch, &w, lanes, sums);
        tigris_int4_end_four(totals, sums);
    }
    tigris_int4_start_four(totals, sums);
    while (patch != end) {
        tigris_int4_add_tile_2x2(&patch, &w, lanes, sums);
    }
    tigris_int4_end_four(totals, sums);
    sum[0] = totals[0], sum[1] = totals[1], sum[2] = totals[2], sum[3] = totals[3];
}

/* ---- weights that are indices of 4 bits into a table of 16 values above -128 ---- */

#define TIGRIS_TABLE_PAIRS 256 /* words: the pair of weights of each byte of two indices */

/* Fills `pairs` from a table. */
static TIGRIS_NOINLINE void tigris_table_fill(uint32_t *pairs, const int8_t *table)
{
    for (const int8_t *second = table; second != table + 16; second++) {
        const uint32_t upper = (uint32_t)(int32_t)*second << 16;
        for (const int8_t *first = table; first != table + 16; first++) {
            const uint32_t lower = (uint32_t)(int32_t)*first;
#if defined(TIGRIS_DSP)
            *pairs++ = upper + (lower & 0xFFFFU);
#else
            *pairs++ = upper + lower;
#endif
            TIGRIS_STEP();
        }
    }
}

/* Adds the products of a pair of weights and a pair of taps. */
TIGRIS_INLINE uint32_t tigris_table_add(uint32_t sum, uint32_t weights, uint32_t taps)
{
#if defined(TIGRIS_DSP)
    return tigris_int4_add(sum, weights, taps);
#else
    return sum + (uint32_t)((int32_t)(weights * taps + (1U << 15)) >> 16);
#endif
}

/* Adds `tiles` tiles of one vector to the sums of four outputs, as tigris_int4_add_1x4 does. */
static TIGRIS_NOINLINE void tigris_table_add_1x4(const uint32_t *pairs, const uint32_t *patch, const uint8_t *w,
                                                 int32_t tiles, uint32_t sum[TIGRIS_INT4_BLOCK])
{
    uint32_t a = sum[0], b = sum[1], c = sum[2], d = sum[3], taps[2];
    for (const uint32_t *const end = patch + 2 * tiles; patch != end;) {
        tigris_int4_load(&patch, taps);
        a = tigris_table_add(a, pairs[w[0]], taps[0]);
        b = tigris_table_add(b, pairs[w[2]], taps[0]);
        c = tigris_table_add(c, pairs[w[4]], taps[0]);
        d = tigris_table_add(d, pairs[w[6]], taps[0]);
        a = tigris_table_add(a, pairs[w[1]], taps[1]);
        b = tigris_table_add(b, pairs[w[3]], taps[1]);
        c = tigris_table_add(c, pairs[w[5]], taps[1]);
        d = tigris_table_add(d, pairs[w[7]], taps[1]);
        w += 8;
        TIGRIS_STEP();
    }
    sum[0] = a, sum[1] = b, sum[2] = c, sum[3] = d;
}

#endif
