/* im2col tiles with DSP instructions, for the pixel tiles of conv_pixels3_int8.h.
 *
 * An im2col tile holds 16 taps of one input position, widened to 16 bits, in the order of the input. The im2col
 * tiles of three pixels follow each other; the caller gives the distance to a pixel's next one. Weights are loaded
 * and widened once for three pixels: 2 loads of words, 3 of pairs of words, 4 SXTB16 and 12 SMLAD for 24 products. */
#ifndef TIGRIS_DSP_IM2COL_INT8_H
#define TIGRIS_DSP_IM2COL_INT8_H

#include "arm_dsp.h"

#define TIGRIS_IM2COL_TAPS 16
#define TIGRIS_IM2COL_WORDS (TIGRIS_IM2COL_TAPS / 2)
#define TIGRIS_IM2COL_BYTES (TIGRIS_IM2COL_TAPS * 2)

/* The steps of a loop over im2col tiles and weights, for two channels. */
typedef struct tigris_steps {
    int32_t end;         /* words from the first im2col tile to the pointer behind the last */
    int32_t next_tile;   /* words from the end of one im2col tile to the next; 0 if pixels share columns */
    int32_t weights_gap; /* bytes from the end of an im2col tile's weights to the next one's */
    int32_t block;       /* bytes of a block's weights */
} tigris_steps;

/* Fills an im2col tile with the 16 taps from `from` on. Returns the next im2col tile. */
TIGRIS_INLINE uint32_t *tigris_fill_im2col(uint32_t *to, const int8_t *from)
{
    to = tigris_store_words(to, from);
    to = tigris_store_words(to, from + TIGRIS_TILE_TAPS);
    to = tigris_store_words(to, from + 2 * TIGRIS_TILE_TAPS);
    return tigris_store_words(to, from + 3 * TIGRIS_TILE_TAPS);
}

/* Fills an im2col tile with 16 times the tap `tap`: padding. Returns the next im2col tile. */
TIGRIS_INLINE uint32_t *tigris_fill_im2col_padding(uint32_t *to, int8_t tap)
{
    const uint32_t both = ((uint32_t)(int32_t)tap & 0xFFFFU) * 0x10001U;
    for (const uint32_t *const end = to + TIGRIS_IM2COL_WORDS; to != end; to++) {
        *to = both;
    }
    return to;
}

/* Adds a weight tile of two channels of a block; `sum` holds three sums of each channel, the third unused for two
 * pixels. A load advances `from` to the next pixel's taps, the last one to the first pixel's next four. */
TIGRIS_INLINE void tigris_add_im2col_tile(const uint32_t **from, const int8_t **w, uint32_t sum[6], int three)
{
    const tigris_taps_4 w0 = tigris_load_weights(w);
    const tigris_taps_4 w1 = tigris_load_second_weights(w);
    tigris_taps_4 a, b, c;
    TIGRIS_LOAD_TAPS(a, *from, TIGRIS_IM2COL_BYTES);
    sum[0] = tigris_add_4(sum[0], a, w0);
    sum[3] = tigris_add_4(sum[3], a, w1);
    if (three) {
        TIGRIS_LOAD_TAPS(b, *from, TIGRIS_IM2COL_BYTES);
    } else {
        TIGRIS_LOAD_TAPS(b, *from, 8 - TIGRIS_IM2COL_BYTES);
    }
    sum[1] = tigris_add_4(sum[1], b, w0);
    sum[4] = tigris_add_4(sum[4], b, w1);
    if (three) {
        TIGRIS_LOAD_TAPS(c, *from, 8 - 2 * TIGRIS_IM2COL_BYTES);
        sum[2] = tigris_add_4(sum[2], c, w0);
        sum[5] = tigris_add_4(sum[5], c, w1);
    }
}

/* Adds the products of two channels of a block, whose weights start at w, for three pixels or two; `shared`: pixels
 * share columns. */
TIGRIS_INLINE void tigris_add_im2col_2x3(const uint32_t *from, const int8_t *w, const tigris_steps *steps,
                                         uint32_t sum[6], int three, int shared)
{
    uint32_t sums[6] = {sum[0], sum[1], sum[2], sum[3], sum[4], sum[5]};
    const uint32_t *const end = from + steps->end;
    do {
        tigris_add_im2col_tile(&from, &w, sums, three);
        tigris_add_im2col_tile(&from, &w, sums, three);
        tigris_add_im2col_tile(&from, &w, sums, three);
        tigris_add_im2col_tile(&from, &w, sums, three);
        from += shared ? 0 : steps->next_tile;
        w += steps->weights_gap;
    } while (from != end);
    sum[0] = sums[0], sum[1] = sums[1], sum[2] = sums[2], sum[3] = sums[3], sum[4] = sums[4], sum[5] = sums[5];
}

/* Add the products of all blocks up to the sums at `end`: three pixels that share columns, three with tiles of
 * their own, two. */
static TIGRIS_NOINLINE void tigris_add_im2col_shared3(const uint32_t *patch, const int8_t *w, const tigris_steps *steps,
                                                      uint32_t *sums, const uint32_t *end)
{
    for (; sums != end; sums += 3 * TIGRIS_CHANNEL_BLOCK) {
        tigris_add_im2col_2x3(patch, w, steps, sums, 1, 1);
        tigris_add_im2col_2x3(patch, w + 2 * TIGRIS_TILE_TAPS, steps, sums + 6, 1, 1);
        w += steps->block;
    }
}

static TIGRIS_NOINLINE void tigris_add_im2col_pixels3(const uint32_t *patch, const int8_t *w, const tigris_steps *steps,
                                                      uint32_t *sums, const uint32_t *end)
{
    for (; sums != end; sums += 3 * TIGRIS_CHANNEL_BLOCK) {
        tigris_add_im2col_2x3(patch, w, steps, sums, 1, 0);
        tigris_add_im2col_2x3(patch, w + 2 * TIGRIS_TILE_TAPS, steps, sums + 6, 1, 0);
        w += steps->block;
    }
}

static TIGRIS_NOINLINE void tigris_add_im2col_pixels2(const uint32_t *patch, const int8_t *w, const tigris_steps *steps,
                                                      uint32_t *sums, const uint32_t *end)
{
    for (; sums != end; sums += 3 * TIGRIS_CHANNEL_BLOCK) {
        tigris_add_im2col_2x3(patch, w, steps, sums, 0, 0);
        tigris_add_im2col_2x3(patch, w + 2 * TIGRIS_TILE_TAPS, steps, sums + 6, 0, 0);
        w += steps->block;
    }
}

#endif
