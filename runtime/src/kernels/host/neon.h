/* The part of lanes.h for NEON of AArch64. Taps and weights stay bytes: products of eight are 16 bits wide, and
 * neighbours are added as they go to the sums. */
#ifndef TIGRIS_HOST_NEON_H
#define TIGRIS_HOST_NEON_H

#include "host.h"

#if TIGRIS_HOST_NEON
#include <arm_neon.h>
#include <string.h>

#define TIGRIS_HOST_CODE
#define TIGRIS_HOST_INLINE static inline __attribute__((always_inline))

typedef int32x4x2_t tigris_host_words;
typedef int8_t tigris_host_tap;
typedef int8x16_t tigris_host_tile;

static inline uint32_t tigris_host_four(const int8_t *from)
{
    uint32_t four;
    memcpy(&four, from, sizeof four);
    return four;
}

TIGRIS_HOST_INLINE tigris_host_words tigris_host_pair_of(int32x4_t low, int32x4_t high)
{
    const tigris_host_words words = {{low, high}};
    return words;
}

/* ---- sums of products ---- */

TIGRIS_HOST_INLINE tigris_host_words tigris_host_zero(void)
{
    return tigris_host_pair_of(vdupq_n_s32(0), vdupq_n_s32(0));
}

TIGRIS_HOST_INLINE tigris_host_tile tigris_host_tile_at(const int8_t *weights)
{
    return vld1q_s8(weights);
}

TIGRIS_HOST_INLINE tigris_host_tile tigris_host_tile_of(uint32_t a, uint32_t b, uint32_t c, uint32_t d)
{
    const uint32_t words[4] = {a, b, c, d};
    return vreinterpretq_s8_u32(vld1q_u32(words));
}

/* Products of sixteen bytes, neighbours added. */
TIGRIS_HOST_INLINE tigris_host_words tigris_host_add_sixteen(tigris_host_words sum, int8x16_t a, int8x16_t b)
{
    return tigris_host_pair_of(vpadalq_s16(sum.val[0], vmull_s8(vget_low_s8(a), vget_low_s8(b))),
                               vpadalq_s16(sum.val[1], vmull_high_s8(a, b)));
}

TIGRIS_HOST_INLINE tigris_host_words tigris_host_add_tile(tigris_host_words sum, tigris_host_tile tile,
                                                          const tigris_host_tap *taps)
{
    return tigris_host_add_sixteen(sum, tile, vreinterpretq_s8_u32(vdupq_n_u32(tigris_host_four(taps))));
}

TIGRIS_HOST_INLINE tigris_host_words tigris_host_join(tigris_host_words a, tigris_host_words b)
{
    return tigris_host_pair_of(vpaddq_s32(a.val[0], a.val[1]), vpaddq_s32(b.val[0], b.val[1]));
}

TIGRIS_HOST_INLINE tigris_host_words tigris_host_add_pair(tigris_host_words sum, const int8_t *a, const int8_t *b,
                                                          const tigris_host_tap *weights)
{
    const int8x8_t first = vld1_s8(a), second = vld1_s8(b);
    return tigris_host_add_sixteen(sum, vcombine_s8(vzip1_s8(first, second), vzip2_s8(first, second)),
                                   vld1q_s8(weights));
}

/* ---- taps in the order of packed weights ---- */

TIGRIS_HOST_INLINE void tigris_host_order_sixteen(tigris_host_tap *to, const int8_t *from)
{
    static const uint8_t order[16] = {0, 2, 1, 3, 4, 6, 5, 7, 8, 10, 9, 11, 12, 14, 13, 15};
    vst1q_s8(to, vqtbl1q_s8(vld1q_s8(from), vld1q_u8(order)));
}

TIGRIS_HOST_INLINE void tigris_host_order_four(tigris_host_tap *to, const int8_t *from)
{
    const int8_t four[4] = {from[0], from[2], from[1], from[3]};
    memcpy(to, four, sizeof four);
}

/* ---- sums to outputs ---- */

TIGRIS_HOST_INLINE tigris_host_words tigris_host_words_at(const int32_t *from)
{
    return tigris_host_pair_of(vld1q_s32(from), vld1q_s32(from + 4));
}

TIGRIS_HOST_INLINE tigris_host_words tigris_host_bytes_at(const int8_t *from)
{
    const int16x8_t halves = vmovl_s8(vld1_s8(from));
    return tigris_host_pair_of(vmovl_s16(vget_low_s16(halves)), vmovl_high_s16(halves));
}

TIGRIS_HOST_INLINE tigris_host_words tigris_host_same(int32_t value)
{
    return tigris_host_pair_of(vdupq_n_s32(value), vdupq_n_s32(value));
}

TIGRIS_HOST_INLINE tigris_host_words tigris_host_plus(tigris_host_words a, tigris_host_words b)
{
    return tigris_host_pair_of(vaddq_s32(a.val[0], b.val[0]), vaddq_s32(a.val[1], b.val[1]));
}

TIGRIS_HOST_INLINE tigris_host_words tigris_host_minus(tigris_host_words a, tigris_host_words b)
{
    return tigris_host_pair_of(vsubq_s32(a.val[0], b.val[0]), vsubq_s32(a.val[1], b.val[1]));
}

TIGRIS_HOST_INLINE tigris_host_words tigris_host_larger(tigris_host_words a, tigris_host_words b)
{
    return tigris_host_pair_of(vmaxq_s32(a.val[0], b.val[0]), vmaxq_s32(a.val[1], b.val[1]));
}

TIGRIS_HOST_INLINE tigris_host_words tigris_host_smaller(tigris_host_words a, tigris_host_words b)
{
    return tigris_host_pair_of(vminq_s32(a.val[0], b.val[0]), vminq_s32(a.val[1], b.val[1]));
}

TIGRIS_HOST_INLINE tigris_host_words tigris_host_left(tigris_host_words words, tigris_host_words bits)
{
    return tigris_host_pair_of(vshlq_s32(words.val[0], bits.val[0]), vshlq_s32(words.val[1], bits.val[1]));
}

TIGRIS_HOST_INLINE tigris_host_words tigris_host_right(tigris_host_words words, tigris_host_words bits)
{
    return tigris_host_pair_of(vshlq_s32(words.val[0], vnegq_s32(bits.val[0])),
                               vshlq_s32(words.val[1], vnegq_s32(bits.val[1])));
}

TIGRIS_HOST_INLINE tigris_host_words tigris_host_half(tigris_host_words words)
{
    return tigris_host_pair_of(vshrq_n_s32(words.val[0], 1), vshrq_n_s32(words.val[1], 1));
}

TIGRIS_HOST_INLINE tigris_host_words tigris_host_signs(tigris_host_words words)
{
    return tigris_host_pair_of(vshrq_n_s32(words.val[0], 31), vshrq_n_s32(words.val[1], 31));
}

TIGRIS_HOST_INLINE int tigris_host_all_above(tigris_host_words words, int32_t limit)
{
    return vminvq_s32(vminq_s32(words.val[0], words.val[1])) > limit;
}

TIGRIS_HOST_INLINE tigris_host_words tigris_host_high_multiply(tigris_host_words a, tigris_host_words b)
{
    return tigris_host_pair_of(vqrdmulhq_s32(a.val[0], b.val[0]), vqrdmulhq_s32(a.val[1], b.val[1]));
}

/* The instruction rounds halves up: what is below zero goes down by one first, unless no bit is shifted out. */
TIGRIS_HOST_INLINE int32x4_t tigris_host_round_four(int32x4_t value, int32x4_t bits)
{
    const int32x4_t right = vnegq_s32(bits);
    return vrshlq_s32(vqaddq_s32(value, vshrq_n_s32(vandq_s32(value, right), 31)), right);
}

TIGRIS_HOST_INLINE tigris_host_words tigris_host_rounding_shift(tigris_host_words value, tigris_host_words bits)
{
    return tigris_host_pair_of(tigris_host_round_four(value.val[0], bits.val[0]),
                               tigris_host_round_four(value.val[1], bits.val[1]));
}

TIGRIS_HOST_INLINE void tigris_host_store_bytes(int8_t *to, tigris_host_words words)
{
    vst1_s8(to, vmovn_s16(vcombine_s16(vmovn_s32(words.val[0]), vmovn_s32(words.val[1]))));
}

#endif
#endif
