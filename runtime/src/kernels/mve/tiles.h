/* Packed weights (tigris_pio/format/packing.py) as vectors. ROWS_16: a vector is 16 taps of a channel. PORTABLE: VLD4
 * loads four tiles of a block of four channels as 16 taps of each; taps of the input must be in the tiles' order. */
#ifndef TIGRIS_MVE_TILES_H
#define TIGRIS_MVE_TILES_H

#include "../../extents.h"
#include "mve.h"

#if TIGRIS_MVE

#define TIGRIS_MVE_BLOCK 4  /* channels */
#define TIGRIS_MVE_TILES 64 /* bytes of four tiles */

/* Bytes of the weights of `outputs` outputs of `taps` taps each in the packing ROWS_16; UINT32_MAX for more. */
static inline uint32_t tigris_mve_rows_bytes(uint32_t taps, uint32_t outputs)
{
    const uint32_t vectors = taps / TIGRIS_MVE_BYTES + (taps % TIGRIS_MVE_BYTES != 0U);
    return tigris_multiply(tigris_multiply(vectors, TIGRIS_MVE_TILES),
                           outputs / TIGRIS_MVE_BLOCK + (outputs % TIGRIS_MVE_BLOCK != 0U));
}

/* The index of tap `tap` in a tile, whose order is 0 2 1 3. */
static inline int32_t tigris_mve_place_of_tap(int32_t tap)
{
    return tap == 1 ? 2 : tap == 2 ? 1 : tap;
}

/* Taps 1 and 2 of each tile of four change places, as in packed weights; whole
 * groups of 64 bytes are read and written. */
static inline void tigris_mve_order_taps(int8_t *patch, int32_t bytes)
{
    int32_t count = (bytes + TIGRIS_MVE_TILES - 1) / TIGRIS_MVE_TILES;
    __asm__ volatile("dls lr, %[count]\n"
                     "1: vld40.8 {q0, q1, q2, q3}, [%[patch]]\n\t"
                     "vld41.8 {q0, q1, q2, q3}, [%[patch]]\n\t"
                     "vld42.8 {q0, q1, q2, q3}, [%[patch]]\n\t"
                     "vld43.8 {q0, q1, q2, q3}, [%[patch]]\n\t"
                     "vmov q4, q1\n\t"
                     "vmov q1, q2\n\t"
                     "vmov q2, q4\n\t"
                     "vst40.8 {q0, q1, q2, q3}, [%[patch]]\n\t"
                     "vst41.8 {q0, q1, q2, q3}, [%[patch]]\n\t"
                     "vst42.8 {q0, q1, q2, q3}, [%[patch]]\n\t"
                     "vst43.8 {q0, q1, q2, q3}, [%[patch]]!\n\t"
                     "le lr, 1b"
                     : [patch] "+r"(patch)
                     : [count] "r"(count)
                     : "lr", "q0", "q1", "q2", "q3", "q4", "memory");
}

/* Copies the `taps` taps of a block behind its last whole group of four tiles into four tiles, padded with zeros. */
static inline void tigris_mve_tail_tiles(const int8_t *from, int32_t taps, int8_t tail[TIGRIS_MVE_TILES])
{
    const uint32x4_t stride = vmulq_n_u32(vidupq_n_u32(0, 1), 4U);
    int8_t *to = tail;
    tigris_mve_fill(tail, 0, TIGRIS_MVE_TILES);
    for (; taps >= 4; taps -= 4) {
        vst1q_s8(to, vld1q_s8(from));
        to += TIGRIS_MVE_BYTES;
        from += TIGRIS_MVE_BYTES;
    }
    for (int32_t tap = 0; tap < taps; tap++) {
        vstrbq_scatter_offset_s32(to + tigris_mve_place_of_tap(tap), stride, vldrbq_s32(from));
        from += TIGRIS_MVE_BLOCK;
    }
}

#endif
#endif
