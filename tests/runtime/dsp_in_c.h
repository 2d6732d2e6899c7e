/* C in place of runtime/src/kernels/dsp/arm_dsp.h, so that kernels with Arm's DSP instructions run on any machine, under
 * its sanitisers: compile with `-include` of this file.
 *
 * The functions named after instructions do what the Armv7-M Architecture Reference Manual says of them in section A7.7,
 * but for the Q flag, which no kernel reads. Loads are the compiler's, so that they are checked. */
#ifndef TIGRIS_ARM_DSP_H
#define TIGRIS_ARM_DSP_H

#include <stdint.h>

#include "../../runtime/src/kernels/inlining.h"

#define __ARM_FEATURE_DSP 1
#define __ARM_FEATURE_SIMD32 1

typedef int32_t tigris_pair;

typedef struct tigris_taps_4 {
    tigris_pair even;
    tigris_pair odd;
} tigris_taps_4;

static inline int32_t arm_bottom(int32_t word)
{
    return (int16_t)(uint16_t)((uint32_t)word & 0xFFFFU);
}

static inline int32_t arm_top(int32_t word)
{
    return arm_bottom((int32_t)((uint32_t)word >> 16));
}

static inline int32_t arm_pkhbt(int32_t bottom, int32_t top)
{
    return (int32_t)(((uint32_t)bottom & 0xFFFFU) | (uint32_t)top << 16);
}

static inline int32_t arm_sxtb16(uint32_t word)
{
    return arm_pkhbt((int8_t)(uint8_t)(word & 0xFFU), (int8_t)(uint8_t)(word >> 16 & 0xFFU));
}

static inline uint32_t arm_ror(uint32_t word, uint32_t bits)
{
    return word >> bits | word << (32U - bits);
}

/* Arithmetic, whatever the compiler does with negative numbers. */
static inline int32_t arm_asr(int32_t word, uint32_t bits)
{
    return word < 0 ? ~(~word >> bits) : word >> bits;
}

static inline int32_t arm_add(int32_t a, int32_t b)
{
    return (int32_t)((uint32_t)a + (uint32_t)b);
}

static inline int32_t arm_ssat(int32_t word, uint32_t bits)
{
    const int32_t most = (int32_t)((UINT32_C(1) << (bits - 1U)) - 1U);
    return word > most ? most : word < -most - 1 ? -most - 1 : word;
}

static inline int32_t arm_smmlar(int32_t a, int32_t b, int32_t sum)
{
    const uint64_t product = (uint64_t)((int64_t)a * b);
    const uint64_t rounded = ((uint64_t)(uint32_t)sum << 32) + product + UINT64_C(0x80000000);
    return (int32_t)(uint32_t)(rounded >> 32);
}

/* SEL after SSUB16 a, b: the halves of `yes` where a >= b, else those of `no`. */
static inline int32_t arm_ssub16_sel(int32_t a, int32_t b, int32_t yes, int32_t no)
{
    return arm_pkhbt(arm_bottom(a) >= arm_bottom(b) ? arm_bottom(yes) : arm_bottom(no),
                     arm_top(a) >= arm_top(b) ? arm_top(yes) : arm_top(no));
}

TIGRIS_INLINE tigris_taps_4 tigris_widen_word(uint32_t word)
{
    const tigris_taps_4 taps = {arm_sxtb16(word), arm_sxtb16(arm_ror(word, 8U))};
    return taps;
}

TIGRIS_INLINE tigris_pair tigris_pack(int32_t first, int32_t second)
{
    return arm_pkhbt(first, second);
}

TIGRIS_INLINE uint32_t tigris_first_of_both(tigris_pair a, tigris_pair b)
{
    return (uint32_t)arm_pkhbt(a, b);
}

TIGRIS_INLINE uint32_t tigris_second_of_both(tigris_pair a, tigris_pair b)
{
    return (uint32_t)arm_pkhbt(arm_top(a), arm_top(b));
}

TIGRIS_INLINE uint32_t tigris_add_first_first(int32_t a, int32_t b, uint32_t sum)
{
    return sum + (uint32_t)(arm_bottom(a) * arm_bottom(b));
}

TIGRIS_INLINE uint32_t tigris_add_first_second(int32_t a, int32_t b, uint32_t sum)
{
    return sum + (uint32_t)(arm_bottom(a) * arm_top(b));
}

TIGRIS_INLINE uint32_t tigris_add_second_first(int32_t a, int32_t b, uint32_t sum)
{
    return sum + (uint32_t)(arm_top(a) * arm_bottom(b));
}

TIGRIS_INLINE uint32_t tigris_add_second_second(int32_t a, int32_t b, uint32_t sum)
{
    return sum + (uint32_t)(arm_top(a) * arm_top(b));
}

TIGRIS_INLINE uint32_t tigris_add_both(tigris_pair a, tigris_pair b, uint32_t sum)
{
    return tigris_add_second_second(a, b, tigris_add_first_first(a, b, sum));
}

/* LDRD wants a multiple of 4, LDR does not. */
#define TIGRIS_LOAD_TAPS(taps, from, bytes)                                                                            \
    (void)((taps).even = (int32_t)(from)[0], (taps).odd = (int32_t)(from)[1], (from) += (bytes) / 4)
#define TIGRIS_LOAD_WORD(word, from, bytes)                                                                            \
    (void)((word) = (uint32_t)(uint8_t)(from)[0] | (uint32_t)(uint8_t)(from)[1] << 8 |                                 \
                    (uint32_t)(uint8_t)(from)[2] << 16 | (uint32_t)(uint8_t)(from)[3] << 24,                           \
           (from) += (bytes))
#define TIGRIS_STORE_WORDS(first, second, to, bytes)                                                                   \
    (void)((to)[0] = (first), (to)[1] = (second), (to) += (bytes) / 4)

TIGRIS_INLINE uint32_t tigris_add_high_product(uint32_t addend, uint32_t a, uint32_t b)
{
    return (uint32_t)arm_smmlar((int32_t)a, (int32_t)b, (int32_t)addend);
}

TIGRIS_INLINE int32_t tigris_scale_to_int8(uint32_t sum, uint32_t multiplier, int32_t right, int32_t offset)
{
    const int32_t word = (int32_t)sum;
    const int32_t value = arm_smmlar(word, (int32_t)multiplier, arm_add(word, arm_asr(word, 31U)));
    return arm_ssat(arm_asr(arm_add(arm_asr(value, (uint32_t)right), offset), 1U), 8U);
}

TIGRIS_INLINE int32_t tigris_scale_doubled_to_int8(uint32_t sum, uint32_t multiplier, int32_t right, int32_t addend)
{
    const int32_t value = arm_add(arm_smmlar((int32_t)sum, (int32_t)multiplier, addend), arm_asr((int32_t)sum, 31U));
    return arm_ssat(arm_asr(value, (uint32_t)right), 8U);
}

TIGRIS_INLINE int32_t tigris_shift_20_to_int8(int32_t value)
{
    return arm_ssat(arm_asr(value, 20U), 8U);
}

TIGRIS_INLINE int32_t tigris_halve_to_range(int32_t value, int32_t low, int32_t high)
{
    const int32_t half = arm_ssat(arm_asr(value, 1U), 16U);
    const int32_t above = arm_ssub16_sel(half, low, half, low);
    return arm_ssub16_sel(high, above, above, high);
}

#endif
