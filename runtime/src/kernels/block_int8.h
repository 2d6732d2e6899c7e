/* Sums of products over packed int8 weights: a block of four output channels, for one or two pixels at once.
 *
 * A block of n taps is n / 4 tiles of 16 weights [channel][tap], then n % 4 columns of 4 weights [channel]
 * (tigris_pio/compiler/emit/packing.py). Two pixels by four channels take 6 loads for 8 products, and a tile's word holds
 * four taps of one channel, as the DSP instructions of Arm like them. Accumulators are unsigned, so that they
 * wrap instead of being undefined. Everything that depends on the machine is in this file. */
#ifndef TIGRIS_BLOCK_INT8_H
#define TIGRIS_BLOCK_INT8_H

#include <stdint.h>
#include <string.h>

#if defined(__GNUC__)
#define TIGRIS_NOINLINE __attribute__((noinline, unused))
#else
#define TIGRIS_NOINLINE
#endif

#define TIGRIS_CHANNEL_BLOCK 4
#define TIGRIS_TILE_TAPS 4

static inline uint32_t tigris_product(int8_t a, int8_t b)
{
    const int32_t product = (int32_t)a * b;
    return (uint32_t)product;
}

/* GCC would gather the loads of several taps and add products among themselves before they go to the sums: faster
 * only with registers to spare, else the sums are spilled. On small machines both are kept in the order of the
 * source; vectorising compilers get their way. */
#if defined(__GNUC__) && (defined(__riscv) || defined(__arm__) || defined(__XTENSA__))
#if !defined(__clang__)
#pragma GCC optimize("no-tree-reassoc")
#endif
#define TIGRIS_INLINE static inline __attribute__((always_inline))
#define TIGRIS_STEP() __asm__ volatile("" : : : "memory")
#else
#define TIGRIS_INLINE static inline
#define TIGRIS_STEP() (void)0
#endif

/* One tap (or one tile's column k) of four channels that lie `stride` apart, for two pixels. */
#define TIGRIS_ADD_PAIR(k, stride)                                                                                     \
    do {                                                                                                               \
        const int8_t va = a[k];                                                                                        \
        const int8_t vb = b[k];                                                                                        \
        const int8_t w0 = w[k];                                                                                        \
        s0 += tigris_product(va, w0);                                                                                  \
        s4 += tigris_product(vb, w0);                                                                                  \
        const int8_t w1 = w[(k) + (stride)];                                                                           \
        s1 += tigris_product(va, w1);                                                                                  \
        s5 += tigris_product(vb, w1);                                                                                  \
        const int8_t w2 = w[(k) + 2 * (stride)];                                                                       \
        s2 += tigris_product(va, w2);                                                                                  \
        s6 += tigris_product(vb, w2);                                                                                  \
        const int8_t w3 = w[(k) + 3 * (stride)];                                                                       \
        s3 += tigris_product(va, w3);                                                                                  \
        s7 += tigris_product(vb, w3);                                                                                  \
        TIGRIS_STEP();                                                                                                 \
    } while (0)

#define TIGRIS_ADD_SINGLE(k, stride)                                                                                   \
    do {                                                                                                               \
        const int8_t va = a[k];                                                                                        \
        s0 += tigris_product(va, w[k]);                                                                                \
        s1 += tigris_product(va, w[(k) + (stride)]);                                                                   \
        s2 += tigris_product(va, w[(k) + 2 * (stride)]);                                                               \
        s3 += tigris_product(va, w[(k) + 3 * (stride)]);                                                               \
        TIGRIS_STEP();                                                                                                 \
    } while (0)

#define TIGRIS_ADD_BLOCKS(k)                                                                                           \
    do {                                                                                                               \
        const int8_t value = a[k];                                                                                     \
        s0 += tigris_product(value, w[k]);                                                                             \
        s1 += tigris_product(value, w[(k) + 4]);                                                                       \
        s2 += tigris_product(value, w[(k) + 8]);                                                                       \
        s3 += tigris_product(value, w[(k) + 12]);                                                                      \
        s4 += tigris_product(value, v[k]);                                                                             \
        s5 += tigris_product(value, v[(k) + 4]);                                                                       \
        s6 += tigris_product(value, v[(k) + 8]);                                                                       \
        s7 += tigris_product(value, v[(k) + 12]);                                                                      \
        TIGRIS_STEP();                                                                                                 \
    } while (0)

#if defined(__ARM_FEATURE_DSP) && defined(__ARM_FEATURE_SIMD32)
#include "block_int8_dsp.h"
#else

/* Adds the whole tiles of `taps` taps; the pointers advance. sum[0 … 3] is pixel a's, sum[4 … 7] pixel b's. */
TIGRIS_INLINE void tigris_add_tiles_pair(const int8_t *a, const int8_t *b, const int8_t *w, int32_t taps,
                                         uint32_t sum[2 * TIGRIS_CHANNEL_BLOCK])
{
    const int8_t *const end = a + (taps & ~(TIGRIS_TILE_TAPS - 1));
    uint32_t s0 = sum[0], s1 = sum[1], s2 = sum[2], s3 = sum[3], s4 = sum[4], s5 = sum[5], s6 = sum[6], s7 = sum[7];
    while (a != end) {
        TIGRIS_ADD_PAIR(0, 4);
        TIGRIS_ADD_PAIR(1, 4);
        TIGRIS_ADD_PAIR(2, 4);
        TIGRIS_ADD_PAIR(3, 4);
        a += 4;
        b += 4;
        w += 16;
    }
    sum[0] = s0, sum[1] = s1, sum[2] = s2, sum[3] = s3, sum[4] = s4, sum[5] = s5, sum[6] = s6, sum[7] = s7;
}

/* The same for one pixel and two blocks, w and v. */
TIGRIS_INLINE void tigris_add_tiles_blocks(const int8_t *a, const int8_t *w, const int8_t *v, int32_t taps,
                                           uint32_t sum[2 * TIGRIS_CHANNEL_BLOCK])
{
    const int8_t *const end = a + (taps & ~(TIGRIS_TILE_TAPS - 1));
    uint32_t s0 = sum[0], s1 = sum[1], s2 = sum[2], s3 = sum[3], s4 = sum[4], s5 = sum[5], s6 = sum[6], s7 = sum[7];
    while (a != end) {
        TIGRIS_ADD_BLOCKS(0);
        TIGRIS_ADD_BLOCKS(1);
        TIGRIS_ADD_BLOCKS(2);
        TIGRIS_ADD_BLOCKS(3);
        a += 4;
        w += 16;
        v += 16;
    }
    sum[0] = s0, sum[1] = s1, sum[2] = s2, sum[3] = s3, sum[4] = s4, sum[5] = s5, sum[6] = s6, sum[7] = s7;
}

/* The same for one pixel and one block. */
TIGRIS_INLINE void tigris_add_tiles_single(const int8_t *a, const int8_t *w, int32_t taps,
                                           uint32_t sum[TIGRIS_CHANNEL_BLOCK])
{
    const int8_t *const end = a + (taps & ~(TIGRIS_TILE_TAPS - 1));
    uint32_t s0 = sum[0], s1 = sum[1], s2 = sum[2], s3 = sum[3];
    while (a != end) {
        TIGRIS_ADD_SINGLE(0, 4);
        TIGRIS_ADD_SINGLE(1, 4);
        TIGRIS_ADD_SINGLE(2, 4);
        TIGRIS_ADD_SINGLE(3, 4);
        a += 4;
        w += 16;
    }
    sum[0] = s0, sum[1] = s1, sum[2] = s2, sum[3] = s3;
}

/* Sum of input[i] * weights[i]. */
static inline uint32_t tigris_dot(const int8_t *input, const int8_t *weights, int32_t count)
{
    uint32_t sum = 0U;
    int32_t i = 0;
    for (; i + 4 <= count; i += 4) {
        sum += tigris_product(input[i], weights[i]) + tigris_product(input[i + 1], weights[i + 1]) +
               tigris_product(input[i + 2], weights[i + 2]) + tigris_product(input[i + 3], weights[i + 3]);
    }
    for (; i < count; i++) {
        sum += tigris_product(input[i], weights[i]);
    }
    return sum;
}
#endif

/* Adds `taps` taps of a block. Only the last run of a block may end in a part of a tile. */
TIGRIS_INLINE void tigris_add_pair(const int8_t *a, const int8_t *b, const int8_t *w, int32_t taps,
                                   uint32_t sum[2 * TIGRIS_CHANNEL_BLOCK])
{
    const int32_t tiled = taps & ~(TIGRIS_TILE_TAPS - 1);
    tigris_add_tiles_pair(a, b, w, taps, sum);
    if (taps != tiled) {
        uint32_t s0 = sum[0], s1 = sum[1], s2 = sum[2], s3 = sum[3];
        uint32_t s4 = sum[4], s5 = sum[5], s6 = sum[6], s7 = sum[7];
        w += tiled * TIGRIS_CHANNEL_BLOCK;
        a += tiled;
        b += tiled;
        for (int32_t left = taps - tiled; left > 0; left--) {
            TIGRIS_ADD_PAIR(0, 1);
            a++;
            b++;
            w += TIGRIS_CHANNEL_BLOCK;
        }
        sum[0] = s0, sum[1] = s1, sum[2] = s2, sum[3] = s3, sum[4] = s4, sum[5] = s5, sum[6] = s6, sum[7] = s7;
    }
}

/* Columns of one tap, for one pixel. */
static inline void tigris_add_columns(const int8_t *a, const int8_t *w, int32_t taps,
                                      uint32_t sum[TIGRIS_CHANNEL_BLOCK])
{
    for (; taps > 0; taps--) {
        for (int32_t k = 0; k < TIGRIS_CHANNEL_BLOCK; k++) {
            sum[k] += tigris_product(*a, *w++);
        }
        a++;
    }
}

/* As tigris_add_pair, for one pixel. One copy a file: it is called at borders and for odd pixels. */
static TIGRIS_NOINLINE void tigris_add_single(const int8_t *a, const int8_t *w, int32_t taps,
                                     uint32_t sum[TIGRIS_CHANNEL_BLOCK])
{
    const int32_t tiled = taps & ~(TIGRIS_TILE_TAPS - 1);
    tigris_add_tiles_single(a, w, taps, sum);
    if (taps != tiled) {
        tigris_add_columns(a + tiled, w + tiled * TIGRIS_CHANNEL_BLOCK, taps - tiled, sum);
    }
}

/* Adds `taps` taps of two neighbouring blocks for one pixel; sum[4 … 7] is the second's. */
static inline void tigris_add_blocks(const int8_t *a, const int8_t *w, int32_t taps,
                                     uint32_t sum[2 * TIGRIS_CHANNEL_BLOCK])
{
    const int32_t tiled = taps & ~(TIGRIS_TILE_TAPS - 1);
    tigris_add_tiles_blocks(a, w, w + taps * TIGRIS_CHANNEL_BLOCK, taps, sum);
    if (taps != tiled) {
        for (int32_t block = 0; block < 2; block++) {
            tigris_add_columns(a + tiled, w + (block * taps + tiled) * TIGRIS_CHANNEL_BLOCK, taps - tiled,
                               sum + block * TIGRIS_CHANNEL_BLOCK);
        }
    }
}

/* Adds `taps` taps of a block that all read `value`. */
static inline void tigris_add_constant(int32_t value, const int8_t *w, int32_t taps,
                                       uint32_t sum[TIGRIS_CHANNEL_BLOCK])
{
    for (; taps >= TIGRIS_TILE_TAPS; taps -= TIGRIS_TILE_TAPS) {
        for (int32_t k = 0; k < TIGRIS_CHANNEL_BLOCK; k++) {
            const int32_t weights = w[0] + w[1] + w[2] + w[3];
            sum[k] += (uint32_t)(weights * value);
            w += TIGRIS_TILE_TAPS;
        }
    }
    for (taps *= TIGRIS_CHANNEL_BLOCK; taps > 0; taps--) {
        sum[-taps & (TIGRIS_CHANNEL_BLOCK - 1)] += (uint32_t)(*w++ * value);
    }
}

/* Copies a few taps, for which memcpy would take longer to begin. Returns the byte after the last. */
static inline int8_t *tigris_copy_taps(const int8_t *from, int32_t count, int8_t *to)
{
    for (; count >= 4; count -= 4) {
        to[0] = from[0];
        to[1] = from[1];
        to[2] = from[2];
        to[3] = from[3];
        from += 4;
        to += 4;
    }
    for (; count > 0; count--) {
        *to++ = *from++;
    }
    return to;
}

/* Sum of `count` weights. */
static inline uint32_t tigris_weight_sum(const int8_t *weights, int32_t count)
{
    int32_t sum = 0;
    for (int32_t i = 0; i < count; i++) {
        sum += weights[i];
    }
    return (uint32_t)sum;
}

#endif
