/* The machine-dependent part of block_int8.h with the DSP instructions of Armv7E-M (Cortex-M4, M7) and Armv8-M.
 *
 * SXTB16 widens bytes 0 and 2 of a word, and after a rotation 1 and 3, to 16 bits; SMLAD adds two products. A tile's
 * word holds four taps of one channel, so input and weights fall into the same order. Two pixels by two channels
 * at a time: 8 SXTB16 and 8 SMLAD for 16 products, all in registers. */
#ifndef TIGRIS_BLOCK_INT8_DSP_H
#define TIGRIS_BLOCK_INT8_DSP_H

#include <arm_acle.h>

/* Four taps as two pairs. */
typedef struct tigris_taps_4 {
    int16x2_t even;
    int16x2_t odd;
} tigris_taps_4;

TIGRIS_INLINE tigris_taps_4 tigris_widen(const int8_t *from)
{
    tigris_taps_4 taps;
    int8x4_t word;
    memcpy(&word, from, sizeof word); /* any address: a load word may be unaligned */
    taps.even = __sxtb16(word);
    /* Compilers do not merge the rotation into the instruction by themselves. */
    __asm__("sxtb16 %0, %1, ror #8" : "=r"(taps.odd) : "r"(word));
    return taps;
}

TIGRIS_INLINE uint32_t tigris_add_4(uint32_t sum, tigris_taps_4 a, tigris_taps_4 b)
{
    return (uint32_t)__smlad(a.odd, b.odd, __smlad(a.even, b.even, (int32_t)sum));
}

/* Adds the whole tiles of `taps` taps. sum[0 … 3] is pixel a's, sum[4 … 7] pixel b's. */
TIGRIS_INLINE void tigris_add_tiles_pair(const int8_t *a, const int8_t *b, const int8_t *w, int32_t taps,
                                         uint32_t sum[2 * TIGRIS_CHANNEL_BLOCK])
{
    const int32_t bytes = taps & ~(TIGRIS_TILE_TAPS - 1);
    for (int32_t k = 0; k < TIGRIS_CHANNEL_BLOCK; k += 2) {
        uint32_t s0 = sum[k], s1 = sum[k + 1];
        uint32_t s4 = sum[TIGRIS_CHANNEL_BLOCK + k], s5 = sum[TIGRIS_CHANNEL_BLOCK + k + 1];
        const int8_t *pa = a;
        const int8_t *pb = b;
        const int8_t *pw = w + k * TIGRIS_TILE_TAPS;
        for (const int8_t *const end = a + bytes; pa != end;) {
            const tigris_taps_4 va = tigris_widen(pa);
            const tigris_taps_4 vb = tigris_widen(pb);
            const tigris_taps_4 w0 = tigris_widen(pw);
            s0 = tigris_add_4(s0, va, w0);
            s4 = tigris_add_4(s4, vb, w0);
            const tigris_taps_4 w1 = tigris_widen(pw + TIGRIS_TILE_TAPS);
            s1 = tigris_add_4(s1, va, w1);
            s5 = tigris_add_4(s5, vb, w1);
            pa += TIGRIS_TILE_TAPS;
            pb += TIGRIS_TILE_TAPS;
            pw += TIGRIS_TILE_TAPS * TIGRIS_CHANNEL_BLOCK;
        }
        sum[k] = s0, sum[k + 1] = s1;
        sum[TIGRIS_CHANNEL_BLOCK + k] = s4, sum[TIGRIS_CHANNEL_BLOCK + k + 1] = s5;
    }
}

/* The same for one pixel. */
TIGRIS_INLINE void tigris_add_tiles_single(const int8_t *a, const int8_t *w, int32_t taps,
                                           uint32_t sum[TIGRIS_CHANNEL_BLOCK])
{
    const int8_t *const end = a + (taps & ~(TIGRIS_TILE_TAPS - 1));
    uint32_t s0 = sum[0], s1 = sum[1], s2 = sum[2], s3 = sum[3];
    while (a != end) {
        const tigris_taps_4 va = tigris_widen(a);
        s0 = tigris_add_4(s0, va, tigris_widen(w));
        s1 = tigris_add_4(s1, va, tigris_widen(w + TIGRIS_TILE_TAPS));
        s2 = tigris_add_4(s2, va, tigris_widen(w + 2 * TIGRIS_TILE_TAPS));
        s3 = tigris_add_4(s3, va, tigris_widen(w + 3 * TIGRIS_TILE_TAPS));
        a += TIGRIS_TILE_TAPS;
        w += TIGRIS_TILE_TAPS * TIGRIS_CHANNEL_BLOCK;
    }
    sum[0] = s0, sum[1] = s1, sum[2] = s2, sum[3] = s3;
}

/* The same for one pixel and two blocks, w and v. */
static inline void tigris_add_tiles_blocks(const int8_t *a, const int8_t *w, const int8_t *v, int32_t taps,
                                           uint32_t sum[2 * TIGRIS_CHANNEL_BLOCK])
{
    for (int32_t block = 0; block < 2; block++) {
        tigris_add_tiles_single(a, block == 0 ? w : v, taps, sum + block * TIGRIS_CHANNEL_BLOCK);
    }
}

/* Sum of input[i] * weights[i]. */
static inline uint32_t tigris_dot(const int8_t *input, const int8_t *weights, int32_t count)
{
    uint32_t sum = 0U;
    for (; count >= TIGRIS_TILE_TAPS; count -= TIGRIS_TILE_TAPS) {
        sum = tigris_add_4(sum, tigris_widen(input), tigris_widen(weights));
        input += TIGRIS_TILE_TAPS;
        weights += TIGRIS_TILE_TAPS;
    }
    for (; count > 0; count--) {
        sum += tigris_product(*input++, *weights++);
    }
    return sum;
}

#endif
