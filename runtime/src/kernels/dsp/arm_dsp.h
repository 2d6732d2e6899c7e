/* All DSP instructions of Armv7E-M (Cortex-M4, M7) and Armv8-M that kernels use; no other file names any.
 *
 * A pair is two numbers of 16 bits in a word, the first in the lower half. Sums wrap. Assembler serves instructions for
 * which compilers have no intrinsic and which they do not choose themselves. */
#ifndef TIGRIS_ARM_DSP_H
#define TIGRIS_ARM_DSP_H

#include <arm_acle.h>
#include <stdint.h>

#include "../inlining.h"

typedef int16x2_t tigris_pair;

/* Four taps as two pairs. */
typedef struct tigris_taps_4 {
    tigris_pair even; /* bytes 0 and 2 of a word: the first two taps of a packed tile */
    tigris_pair odd;  /* bytes 1 and 3: the last two */
} tigris_taps_4;

TIGRIS_INLINE tigris_taps_4 tigris_widen_word(uint32_t word)
{
    tigris_taps_4 taps;
    taps.even = __sxtb16((int8x4_t)word);
    __asm__("sxtb16 %0, %1, ror #8" : "=r"(taps.odd) : "r"(word));
    return taps;
}

/* Two bytes as a pair. */
TIGRIS_INLINE tigris_pair tigris_pack(int32_t first, int32_t second)
{
    tigris_pair pair;
    __asm__("pkhbt %0, %1, %2, lsl #16" : "=r"(pair) : "r"(first), "r"(second));
    return pair;
}

/* The first numbers of two pairs, and the second ones. */
TIGRIS_INLINE uint32_t tigris_first_of_both(tigris_pair a, tigris_pair b)
{
    uint32_t both;
    __asm__("pkhbt %0, %1, %2, lsl #16" : "=r"(both) : "r"(a), "r"(b));
    return both;
}

TIGRIS_INLINE uint32_t tigris_second_of_both(tigris_pair a, tigris_pair b)
{
    uint32_t both;
    __asm__("pkhtb %0, %2, %1, asr #16" : "=r"(both) : "r"(a), "r"(b));
    return both;
}

/* sum + a's first * b's first + a's second * b's second. */
TIGRIS_INLINE uint32_t tigris_add_both(tigris_pair a, tigris_pair b, uint32_t sum)
{
    return (uint32_t)__smlad(a, b, (int32_t)sum);
}

/* sum + one product; the name says which number of a and which of b. */
TIGRIS_INLINE uint32_t tigris_add_first_first(int32_t a, int32_t b, uint32_t sum)
{
    return (uint32_t)__smlabb(a, b, (int32_t)sum);
}

TIGRIS_INLINE uint32_t tigris_add_first_second(int32_t a, int32_t b, uint32_t sum)
{
    return (uint32_t)__smlabt(a, b, (int32_t)sum);
}

TIGRIS_INLINE uint32_t tigris_add_second_first(int32_t a, int32_t b, uint32_t sum)
{
    return (uint32_t)__smlatb(a, b, (int32_t)sum);
}

TIGRIS_INLINE uint32_t tigris_add_second_second(int32_t a, int32_t b, uint32_t sum)
{
    return (uint32_t)__smlatt(a, b, (int32_t)sum);
}

/* Load two words of taps, load a word of weights, store two words; each advances the address by `bytes`, a constant. */
#define TIGRIS_LOAD_TAPS(taps, from, bytes)                                                                            \
    __asm__ volatile("ldrd %0, %1, [%2], %3"                                                                           \
                     : "=&r"((taps).even), "=&r"((taps).odd), "+r"(from)                                               \
                     : "i"(bytes)                                                                                      \
                     : "memory")
#define TIGRIS_LOAD_WORD(word, from, bytes)                                                                            \
    __asm__ volatile("ldr %0, [%1], %2" : "=r"(word), "+r"(from) : "i"(bytes) : "memory")
#define TIGRIS_STORE_WORDS(first, second, to, bytes)                                                                   \
    __asm__ volatile("strd %1, %2, [%0], %3" : "+r"(to) : "r"(first), "r"(second), "i"(bytes) : "memory")

/* addend + a * b / 2^32, rounded to the nearest, halves up; of signed numbers. */
TIGRIS_INLINE uint32_t tigris_add_high_product(uint32_t addend, uint32_t a, uint32_t b)
{
    uint32_t sum;
    __asm__("smmlar %0, %1, %2, %3" : "=r"(sum) : "r"(a), "r"(b), "r"(addend));
    return sum;
}

/* value >> 20 within -128 … 127. */
TIGRIS_INLINE int32_t tigris_shift_20_to_int8(int32_t value)
{
    __asm__("ssat %0, #8, %0, asr #20" : "+r"(value));
    return value;
}

/* ((high >> right) + offset) / 2 within -128 … 127. high is sum * (2^32 + multiplier) / 2^32, rounded, and one less
 * for a negative sum; multiplier is negative. One assembler statement, since GCC has no spare registers around it. */
TIGRIS_INLINE int32_t tigris_scale_to_int8(uint32_t sum, uint32_t multiplier, int32_t right, int32_t offset)
{
    int32_t value;
    __asm__("add %0, %1, %1, asr #31\n\t"
            "smmlar %0, %1, %2, %0\n\t"
            "asr %0, %0, %3\n\t"
            "add %0, %0, %4\n\t"
            "ssat %0, #8, %0, asr #1"
            : "=&r"(value)
            : "r"(sum), "r"(multiplier), "r"(right), "r"(offset));
    return value;
}

/* (high + addend) >> right within -128 … 127; high is sum * multiplier / 2^32, rounded, and one less for a negative
 * sum. */
TIGRIS_INLINE int32_t tigris_scale_doubled_to_int8(uint32_t sum, uint32_t multiplier, int32_t right, int32_t addend)
{
    int32_t value;
    __asm__("smmlar %0, %1, %2, %4\n\t"
            "add %0, %0, %1, asr #31\n\t"
            "asr %0, %0, %3\n\t"
            "ssat %0, #8, %0"
            : "=&r"(value)
            : "r"(sum), "r"(multiplier), "r"(right), "r"(addend));
    return value;
}

/* value / 2 within low … high, an int8 range, in the low byte: two instructions less than the compiler's own code. SEL
 * chooses by the flags of SSUB16. */
TIGRIS_INLINE int32_t tigris_halve_to_range(int32_t value, int32_t low, int32_t high)
{
    int32_t difference;
    __asm__("ssat %0, #16, %0, asr #1\n\t"
            "ssub16 %1, %0, %2\n\t"
            "sel %0, %0, %2\n\t"
            "ssub16 %1, %3, %0\n\t"
            "sel %0, %0, %3"
            : "+r"(value), "=&r"(difference)
            : "r"(low), "r"(high)
            : "cc");
    return value;
}

#endif
