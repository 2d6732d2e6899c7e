/* The part of block_int8.h with the DSP instructions of Armv7E-M (Cortex-M4, M7) and Armv8-M.
 *
 * A patch holds taps widened to 16 bits, all of the first pixel, then all of the second. SXTB16 widens bytes 0 and 2 of
 * a word of weights, and after a rotation 1 and 3. Both are neighbouring taps: tiles hold their taps in the order
 * 0 2 1 3. SMLAD adds two products. Two pixels by two channels at a time: 2 loads of words (weights), 2 of
 * pairs of words (taps), 4 SXTB16 and 8 SMLAD for 16 products. */
#ifndef TIGRIS_DSP_BLOCK_INT8_H
#define TIGRIS_DSP_BLOCK_INT8_H

#include "arm_dsp.h"

/* Loops are unrolled by two tiles, except at -Os. */
#if defined(__OPTIMIZE_SIZE__)
#define TIGRIS_TILES_BY_TWO 0
#else
#define TIGRIS_TILES_BY_TWO 1
#endif

TIGRIS_INLINE tigris_taps_4 tigris_widen(const int8_t *from)
{
    uint32_t word;
    memcpy(&word, from, sizeof word); /* any address: a load word may be unaligned */
    return tigris_widen_word(word);
}

/* Stores four taps from `from` on as words, in the order of the input. Returns the end of the stored words. */
TIGRIS_INLINE uint32_t *tigris_store_words(uint32_t *to, const int8_t *from)
{
    const tigris_taps_4 taps = tigris_widen(from);
    TIGRIS_STORE_WORDS(tigris_first_of_both(taps.even, taps.odd), tigris_second_of_both(taps.even, taps.odd), to, 8);
    return to;
}

/* Likewise to any address. */
TIGRIS_INLINE void tigris_store(int16_t *to, const int8_t *from)
{
    const tigris_taps_4 taps = tigris_widen(from);
    const uint32_t first = tigris_first_of_both(taps.even, taps.odd);
    const uint32_t second = tigris_second_of_both(taps.even, taps.odd);
    memcpy(to, &first, sizeof first);
    memcpy(to + 2, &second, sizeof second);
}

/* `count` taps from `from` on, at least four; the last four may be stored twice. */
TIGRIS_INLINE void tigris_fill_four_or_more(int16_t *to, const int8_t *from, int32_t count)
{
    int16_t *const last = to + count - TIGRIS_TILE_TAPS;
    const int8_t *const last_from = from + count - TIGRIS_TILE_TAPS;
    for (; to < last; to += TIGRIS_TILE_TAPS) {
        tigris_store(to, from);
        from += TIGRIS_TILE_TAPS;
    }
    tigris_store(last, last_from);
}

/* `count` taps. A step is 1, or 0 when all are the byte at `from`. */
static TIGRIS_NOINLINE void tigris_fill_taps(int16_t *to, const int8_t *from, int32_t step, int32_t count)
{
    if (step != 0 && count >= TIGRIS_TILE_TAPS) {
        tigris_fill_four_or_more(to, from, count);
        return;
    }
    for (; count > 0; count--) {
        *to++ = *from;
        from += step;
    }
}

/* Taps [at, at + count) of a patch: bytes of the pixels from a and b on. A step is 1, or 0 when all are that byte. */
static inline void tigris_fill_patch(uint32_t *patch, int32_t at, const int8_t *a, int32_t step_a, const int8_t *b,
                                     int32_t step_b, int32_t count)
{
    int16_t *to = (int16_t *)(void *)patch + at;
    tigris_fill_taps(to, a, step_a, count);
    tigris_fill_taps(to + TIGRIS_PATCH_TAPS, b, step_b, count);
}

static inline uint32_t tigris_block_bias(int32_t taps)
{
    (void)taps;
    return 0;
}

/* Initialises the sums of a channel for both pixels with its bias. */
TIGRIS_INLINE void tigris_init_pair(uint32_t *a, uint32_t *b, int32_t bias, uint32_t block_bias)
{
    (void)block_bias;
    *a = *b = (uint32_t)bias;
}

TIGRIS_INLINE void tigris_unpack_pair(const uint32_t sum[2], uint32_t *a, uint32_t *b)
{
    *a = sum[0];
    *b = sum[1];
}

/* Subtracts `a` from the sum of the first pixel and `b` from that of the second. */
TIGRIS_INLINE void tigris_subtract_pair(uint32_t sum[2], uint32_t a, uint32_t b)
{
    sum[0] -= a;
    sum[1] -= b;
}

TIGRIS_INLINE uint32_t tigris_add_4(uint32_t sum, tigris_taps_4 a, tigris_taps_4 b)
{
    return tigris_add_both(a.odd, b.odd, tigris_add_both(a.even, b.even, sum));
}

/* Loads a pixel's taps of a tile and advances `from` to the next pixel's taps of that tile. */
TIGRIS_INLINE tigris_taps_4 tigris_load_first(const uint32_t **from)
{
    tigris_taps_4 taps;
    TIGRIS_LOAD_TAPS(taps, *from, 2 * TIGRIS_PATCH_TAPS);
    return taps;
}

/* Loads the second of two pixels' taps of a tile and advances `from` to the first pixel's next tile. */
TIGRIS_INLINE tigris_taps_4 tigris_load_second(const uint32_t **from)
{
    tigris_taps_4 taps;
    TIGRIS_LOAD_TAPS(taps, *from, 8 - 2 * TIGRIS_PATCH_TAPS);
    return taps;
}

TIGRIS_INLINE tigris_taps_4 tigris_load_taps(const uint32_t **from)
{
    tigris_taps_4 taps;
    TIGRIS_LOAD_TAPS(taps, *from, 8);
    return taps;
}

TIGRIS_INLINE tigris_taps_4 tigris_load_weights(const int8_t **w)
{
    uint32_t word;
    TIGRIS_LOAD_WORD(word, *w, 4);
    return tigris_widen_word(word);
}

/* Loads weights of the second of two channels and advances `w` to the next tile of both. */
TIGRIS_INLINE tigris_taps_4 tigris_load_second_weights(const int8_t **w)
{
    uint32_t word;
    TIGRIS_LOAD_WORD(word, *w, 12);
    return tigris_widen_word(word);
}

/* Adds a tile of two channels of a block for two pixels; `sum` holds two sums of each channel. */
TIGRIS_INLINE void tigris_add_tile_2x2(const uint32_t **patch, const int8_t **w, uint32_t sum[4])
{
    const tigris_taps_4 w0 = tigris_load_weights(w);
    const tigris_taps_4 w1 = tigris_load_second_weights(w);
    const tigris_taps_4 a = tigris_load_first(patch);
    sum[0] = tigris_add_4(sum[0], a, w0);
    sum[2] = tigris_add_4(sum[2], a, w1);
    const tigris_taps_4 b = tigris_load_second(patch);
    sum[1] = tigris_add_4(sum[1], b, w0);
    sum[3] = tigris_add_4(sum[3], b, w1);
}

/* Adds the whole tiles of two channels of a block, whose weights start at w. */
TIGRIS_INLINE void tigris_add_2x2(const uint32_t *patch, const uint32_t *end, const int8_t *w, uint32_t sum[4])
{
    uint32_t sums[4] = {sum[0], sum[1], sum[2], sum[3]};
    if (TIGRIS_TILES_BY_TWO && ((end - patch) & 2) != 0) {
        tigris_add_tile_2x2(&patch, &w, sums);
    }
    while (patch != end) {
        tigris_add_tile_2x2(&patch, &w, sums);
        if (TIGRIS_TILES_BY_TWO) {
            tigris_add_tile_2x2(&patch, &w, sums);
        }
    }
    sum[0] = sums[0], sum[1] = sums[1], sum[2] = sums[2], sum[3] = sums[3];
}

/* Adds the products of a patch's `taps` taps and a block's weights. */
TIGRIS_INLINE void tigris_add_block(const uint32_t *patch, const int8_t *w, int32_t taps,
                                    uint32_t sum[2 * TIGRIS_CHANNEL_BLOCK])
{
    const int32_t tiled = taps & ~(TIGRIS_TILE_TAPS - 1);
    const uint32_t *const end = patch + tiled / 2;
    tigris_add_2x2(patch, end, w, sum);
    tigris_add_2x2(patch, end, w + 2 * TIGRIS_TILE_TAPS, sum + 4);
    const int16_t *from = (const int16_t *)(const void *)end;
    w += tiled * TIGRIS_CHANNEL_BLOCK;
    for (int32_t left = taps - tiled; left > 0; left--) {
        const int32_t a = from[0];
        const int32_t b = from[TIGRIS_PATCH_TAPS];
        sum[0] += (uint32_t)(a * w[0]), sum[1] += (uint32_t)(b * w[0]);
        sum[2] += (uint32_t)(a * w[1]), sum[3] += (uint32_t)(b * w[1]);
        sum[4] += (uint32_t)(a * w[2]), sum[5] += (uint32_t)(b * w[2]);
        sum[6] += (uint32_t)(a * w[3]), sum[7] += (uint32_t)(b * w[3]);
        w += TIGRIS_CHANNEL_BLOCK;
        from++;
    }
}

/* Adds the products of a patch's `taps` taps and the weights of one channel, which are in tiles too. */
static inline void tigris_add_channel(const uint32_t *patch, const int8_t *w, int32_t taps, uint32_t sum[2])
{
    uint32_t a = sum[0], b = sum[1];
    for (; taps >= TIGRIS_TILE_TAPS; taps -= TIGRIS_TILE_TAPS) {
        const tigris_taps_4 weights = tigris_load_weights(&w);
        a = tigris_add_4(a, tigris_load_first(&patch), weights);
        b = tigris_add_4(b, tigris_load_second(&patch), weights);
    }
    const int16_t *from = (const int16_t *)(const void *)patch;
    for (; taps > 0; taps--) {
        a += (uint32_t)(from[0] * *w);
        b += (uint32_t)(from[TIGRIS_PATCH_TAPS] * *w++);
        from++;
    }
    sum[0] = a, sum[1] = b;
}

/* ---- tiles of TIGRIS_PIXELS pixels or of two ---- */

#define TIGRIS_PIXELS 3
#define TIGRIS_PIXELS_TAPS 128 /* of each pixel that a patch has room for */
#define TIGRIS_PIXELS_WORDS (3 * TIGRIS_PIXELS_TAPS / 2)

/* Initialises the sums of a channel at `pixels` pixels with its bias. */
TIGRIS_INLINE void tigris_init_pixels(uint32_t *sum, int32_t pixels, int32_t bias, uint32_t block_bias)
{
    (void)block_bias;
    sum[0] = sum[1] = (uint32_t)bias;
    if (pixels == 3) {
        sum[2] = (uint32_t)bias;
    }
}

TIGRIS_INLINE void tigris_unpack_pixels(const uint32_t *sum, int32_t pixels, uint32_t *a, uint32_t *b, uint32_t *c,
                                        uint32_t *d)
{
    *a = sum[0];
    *b = sum[1];
    *c = pixels == 3 ? sum[2] : 0U;
    *d = 0U;
}

/* Adds a tile of two channels at `pixels` pixels, a constant; `sum` holds three sums of each channel, the third unused
 * for two pixels. */
TIGRIS_INLINE void tigris_add_pixels3_words(const uint32_t **patch, tigris_taps_4 w0, tigris_taps_4 w1, int32_t pixels,
                                            uint32_t sum[6])
{
    tigris_taps_4 a, b, c;
    TIGRIS_LOAD_TAPS(a, *patch, 2 * TIGRIS_PIXELS_TAPS);
    sum[0] = tigris_add_4(sum[0], a, w0);
    sum[3] = tigris_add_4(sum[3], a, w1);
    if (pixels == 2) {
        TIGRIS_LOAD_TAPS(b, *patch, 8 - 2 * TIGRIS_PIXELS_TAPS);
    } else {
        TIGRIS_LOAD_TAPS(b, *patch, 2 * TIGRIS_PIXELS_TAPS);
    }
    sum[1] = tigris_add_4(sum[1], b, w0);
    sum[4] = tigris_add_4(sum[4], b, w1);
    if (pixels == 3) {
        TIGRIS_LOAD_TAPS(c, *patch, 8 - 4 * TIGRIS_PIXELS_TAPS);
        sum[2] = tigris_add_4(sum[2], c, w0);
        sum[5] = tigris_add_4(sum[5], c, w1);
    }
}

TIGRIS_INLINE void tigris_add_pixels3_tile(const uint32_t **patch, const int8_t **w, int32_t pixels, uint32_t sum[6])
{
    const tigris_taps_4 w0 = tigris_load_weights(w);
    tigris_add_pixels3_words(patch, w0, tigris_load_second_weights(w), pixels, sum);
}

/* Adds the products of `words` words of each pixel with two channels of a block, whose weights start at w. Returns the
 * end of the first pixel's words. */
TIGRIS_INLINE const uint32_t *tigris_add_pixels3(const uint32_t *patch, const int8_t *w, int32_t words, int32_t pixels,
                                                 uint32_t sum[6])
{
    const uint32_t *const end = patch + words;
    for (int32_t left = words & 6; left != 0; left -= 2) {
        tigris_add_pixels3_tile(&patch, &w, pixels, sum);
    }
    while (patch != end) {
        tigris_add_pixels3_tile(&patch, &w, pixels, sum);
        tigris_add_pixels3_tile(&patch, &w, pixels, sum);
        tigris_add_pixels3_tile(&patch, &w, pixels, sum);
        tigris_add_pixels3_tile(&patch, &w, pixels, sum);
    }
    return patch;
}

/* The last `count` weights of a channel, less than a tile, as a word of a tile; `from`: the channel's first of them in
 * its block. */
TIGRIS_INLINE uint32_t tigris_tail_tile(const int8_t *from, int32_t count)
{
    uint32_t word = (uint8_t)from[0];
    word |= count > 1 ? (uint32_t)(uint8_t)from[TIGRIS_CHANNEL_BLOCK] << 16 : 0U;
    word |= count > 2 ? (uint32_t)(uint8_t)from[2 * TIGRIS_CHANNEL_BLOCK] << 8 : 0U;
    return word;
}

/* Adds the tile behind the last whole one, whose weights are `tails`. Returns the next tile. */
TIGRIS_INLINE const uint32_t *tigris_add_pixels3_tail(const uint32_t *patch, const uint32_t tails[2], int32_t pixels,
                                                      uint32_t sum[6])
{
    tigris_add_pixels3_words(&patch, tigris_widen_word(tails[0]), tigris_widen_word(tails[1]), pixels, sum);
    return patch;
}

/* ---- one vector ---- */

#define TIGRIS_VECTOR_TAPS 128

typedef struct tigris_vector {
    uint32_t taps[TIGRIS_VECTOR_TAPS / 2]; /* two a word */
} tigris_vector;

static inline void tigris_fill_vector(tigris_vector *vector, const int8_t *from, int32_t count)
{
    tigris_fill_taps((int16_t *)(void *)vector->taps, from, 1, count);
}

TIGRIS_INLINE uint32_t tigris_add_tap(const tigris_vector *vector, int32_t tap, const int8_t *w, uint32_t sum)
{
    const int16_t *taps = (const int16_t *)(const void *)vector->taps;
    return sum + (uint32_t)(taps[tap] * *w);
}

/* Adds a tile of a block of four channels. */
TIGRIS_INLINE void tigris_add_vector_tile(const uint32_t **from, const int8_t **w, uint32_t sum[TIGRIS_CHANNEL_BLOCK])
{
    const tigris_taps_4 a = tigris_load_taps(from);
    sum[0] = tigris_add_4(sum[0], a, tigris_load_weights(w));
    sum[1] = tigris_add_4(sum[1], a, tigris_load_weights(w));
    sum[2] = tigris_add_4(sum[2], a, tigris_load_weights(w));
    sum[3] = tigris_add_4(sum[3], a, tigris_load_weights(w));
}

/* Sums of a block of four channels: `initial` and the products of the whole tiles. */
static inline void tigris_vector_block(const tigris_vector *vector, const int8_t *w, int32_t tiled,
                                       const uint32_t *initial, uint32_t sum[TIGRIS_CHANNEL_BLOCK])
{
    const uint32_t *from = vector->taps;
    uint32_t sums[TIGRIS_CHANNEL_BLOCK] = {initial[0], initial[1], initial[2], initial[3]};
    const uint32_t *const end = from + tiled / 2;
    if (TIGRIS_TILES_BY_TWO && (tiled & TIGRIS_TILE_TAPS) != 0) {
        tigris_add_vector_tile(&from, &w, sums);
    }
    while (from != end) {
        tigris_add_vector_tile(&from, &w, sums);
        if (TIGRIS_TILES_BY_TWO) {
            tigris_add_vector_tile(&from, &w, sums);
        }
    }
    sum[0] = sums[0], sum[1] = sums[1], sum[2] = sums[2], sum[3] = sums[3];
}

/* tigris_vector_block for two blocks, at w and v. */
static inline void tigris_vector_blocks(const tigris_vector *vector, const int8_t *w, const int8_t *v, int32_t tiled,
                                        const uint32_t *initial, uint32_t sum[2 * TIGRIS_CHANNEL_BLOCK])
{
    tigris_vector_block(vector, w, tiled, initial, sum);
    tigris_vector_block(vector, v, tiled, initial + TIGRIS_CHANNEL_BLOCK, sum + TIGRIS_CHANNEL_BLOCK);
}

/* The sum of a channel behind the blocks, at w. */
static inline uint32_t tigris_vector_channel(const tigris_vector *vector, const int8_t *w, int32_t tiled, uint32_t sum)
{
    const uint32_t *from = vector->taps;
    for (const uint32_t *const end = from + tiled / 2; from != end; w += TIGRIS_TILE_TAPS) {
        sum = tigris_add_4(sum, tigris_load_taps(&from), tigris_widen(w));
    }
    return sum;
}

#endif
