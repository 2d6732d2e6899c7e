/* Taps in slots, for three pixels of a convolution at a time with DSP instructions: beside block_int8.h, for
 * threes_int8.h.
 *
 * A slot holds 16 taps of one place of the input, widened to 16 bits, in the order of the input. The slots of three pixels
 * follow each other; where a pixel's next slot lies the caller says. So weights are loaded and widened once for three
 * pixels: 2 loads of words, 3 of pairs of words, 4 SXTB16 and 12 SMLAD for 24 products. */
#ifndef TIGRIS_DSP_SLOTS_INT8_H
#define TIGRIS_DSP_SLOTS_INT8_H

#include "arm_dsp.h"

#define TIGRIS_SLOT_TAPS 16
#define TIGRIS_SLOT_WORDS (TIGRIS_SLOT_TAPS / 2)
#define TIGRIS_SLOT_BYTES (TIGRIS_SLOT_TAPS * 2)

/* How the sums of two channels go through slots and weights. */
typedef struct tigris_walk {
    int32_t end;    /* words from the first slot to where the pointer is when all were added */
    int32_t across; /* words from the end of the slot that was added to the next */
    int32_t apart;  /* bytes from the end of a slot's weights to the next one's */
    int32_t block;  /* bytes of a block's weights */
} tigris_walk;

/* A tile's taps from `from` on, in the order of the input. Returns the next one's place. */
TIGRIS_INLINE uint32_t *tigris_store_in_slot(uint32_t *to, const int8_t *from)
{
    const tigris_taps_4 taps = tigris_widen(from);
    TIGRIS_STORE_WORDS(tigris_first_of_both(taps.even, taps.odd), tigris_second_of_both(taps.even, taps.odd), to, 8);
    return to;
}

/* 16 taps from `from` on. Returns the next slot. */
TIGRIS_INLINE uint32_t *tigris_fill_slot(uint32_t *to, const int8_t *from)
{
    to = tigris_store_in_slot(to, from);
    to = tigris_store_in_slot(to, from + TIGRIS_TILE_TAPS);
    to = tigris_store_in_slot(to, from + 2 * TIGRIS_TILE_TAPS);
    return tigris_store_in_slot(to, from + 3 * TIGRIS_TILE_TAPS);
}

/* 16 times the same tap. */
TIGRIS_INLINE uint32_t *tigris_fill_slot_with(uint32_t *to, int8_t tap)
{
    const uint32_t both = ((uint32_t)(int32_t)tap & 0xFFFFU) * 0x10001U;
    for (const uint32_t *const end = to + TIGRIS_SLOT_WORDS; to != end; to++) {
        *to = both;
    }
    return to;
}

/* A pixel's taps of a tile; on to the next pixel's, or from the last pixel's to the first one's next tile. */
TIGRIS_INLINE tigris_taps_4 tigris_load_in_slot(const uint32_t **from)
{
    tigris_taps_4 taps;
    TIGRIS_LOAD_TAPS(taps, *from, TIGRIS_SLOT_BYTES);
    return taps;
}

TIGRIS_INLINE tigris_taps_4 tigris_load_second_in_slot(const uint32_t **from)
{
    tigris_taps_4 taps;
    TIGRIS_LOAD_TAPS(taps, *from, 8 - TIGRIS_SLOT_BYTES);
    return taps;
}

TIGRIS_INLINE tigris_taps_4 tigris_load_third_in_slot(const uint32_t **from)
{
    tigris_taps_4 taps;
    TIGRIS_LOAD_TAPS(taps, *from, 8 - 2 * TIGRIS_SLOT_BYTES);
    return taps;
}

/* A tile of two channels of a block. Of each channel, `sum` holds three, of which the last is of no use for two pixels. */
TIGRIS_INLINE void tigris_add_slot_tile(const uint32_t **from, const int8_t **w, uint32_t sum[6], int three)
{
    const tigris_taps_4 w0 = tigris_load_weights(w);
    const tigris_taps_4 w1 = tigris_load_second_weights(w);
    const tigris_taps_4 a = tigris_load_in_slot(from);
    sum[0] = tigris_add_4(sum[0], a, w0);
    sum[3] = tigris_add_4(sum[3], a, w1);
    const tigris_taps_4 b = three ? tigris_load_in_slot(from) : tigris_load_second_in_slot(from);
    sum[1] = tigris_add_4(sum[1], b, w0);
    sum[4] = tigris_add_4(sum[4], b, w1);
    if (three) {
        const tigris_taps_4 c = tigris_load_third_in_slot(from);
        sum[2] = tigris_add_4(sum[2], c, w0);
        sum[5] = tigris_add_4(sum[5], c, w1);
    }
}

/* Adds the products of two channels of a block, whose weights begin at w, for three pixels or two; `shared`: that share
 * columns, so that nothing lies across. */
TIGRIS_INLINE void tigris_add_two_in_slots(const uint32_t *from, const int8_t *w, const tigris_walk *walk, uint32_t sum[6],
                                           int three, int shared)
{
    uint32_t sums[6] = {sum[0], sum[1], sum[2], sum[3], sum[4], sum[5]};
    const uint32_t *const end = from + walk->end;
    do {
        tigris_add_slot_tile(&from, &w, sums, three);
        tigris_add_slot_tile(&from, &w, sums, three);
        tigris_add_slot_tile(&from, &w, sums, three);
        tigris_add_slot_tile(&from, &w, sums, three);
        from += shared ? 0 : walk->across;
        w += walk->apart;
    } while (from != end);
    sum[0] = sums[0], sum[1] = sums[1], sum[2] = sums[2], sum[3] = sums[3], sum[4] = sums[4], sum[5] = sums[5];
}

/* The same for the blocks whose sums end at `end`: of three pixels that share columns, of three, of two. */
static TIGRIS_NOINLINE void tigris_add_sharing_threes(const uint32_t *patch, const int8_t *w, const tigris_walk *walk,
                                                      uint32_t *sums, const uint32_t *end)
{
    for (; sums != end; sums += 3 * TIGRIS_CHANNEL_BLOCK) {
        tigris_add_two_in_slots(patch, w, walk, sums, 1, 1);
        tigris_add_two_in_slots(patch, w + 2 * TIGRIS_TILE_TAPS, walk, sums + 6, 1, 1);
        w += walk->block;
    }
}

static TIGRIS_NOINLINE void tigris_add_threes_in_slots(const uint32_t *patch, const int8_t *w, const tigris_walk *walk,
                                                       uint32_t *sums, const uint32_t *end)
{
    for (; sums != end; sums += 3 * TIGRIS_CHANNEL_BLOCK) {
        tigris_add_two_in_slots(patch, w, walk, sums, 1, 0);
        tigris_add_two_in_slots(patch, w + 2 * TIGRIS_TILE_TAPS, walk, sums + 6, 1, 0);
        w += walk->block;
    }
}

static TIGRIS_NOINLINE void tigris_add_pairs_in_slots(const uint32_t *patch, const int8_t *w, const tigris_walk *walk,
                                                      uint32_t *sums, const uint32_t *end)
{
    for (; sums != end; sums += 3 * TIGRIS_CHANNEL_BLOCK) {
        tigris_add_two_in_slots(patch, w, walk, sums, 0, 0);
        tigris_add_two_in_slots(patch, w + 2 * TIGRIS_TILE_TAPS, walk, sums + 6, 0, 0);
        w += walk->block;
    }
}

#endif
