/* The machine-dependent part of scale_int8.h with the DSP instructions of Armv7E-M (Cortex-M4, M7) and Armv8-M. */
#ifndef TIGRIS_SCALE_INT8_DSP_H
#define TIGRIS_SCALE_INT8_DSP_H

/* sum * doubled / 2^32, rounded to the nearest, halves up; exact.
 *
 * SMMLAR gives the rounded high half of a product of signed numbers plus an addend. From 2^31 on, `doubled` is read as
 * 2^32 less, which takes one sum from the high half. */
static inline int32_t tigris_scale_product(uint32_t sum, uint32_t doubled)
{
    uint32_t high = sum & (uint32_t)((int32_t)doubled >> 31);
    __asm__("smmlar %0, %1, %2, %0" : "+r"(high) : "r"(sum), "r"(doubled));
    return (int32_t)high;
}

/* value / 2 clamped; the low byte counts. The compiler's own code takes two instructions more. SEL chooses by the flags
 * of SSUB16. */
static inline int32_t tigris_scale_end(int32_t value, tigris_output_stage output)
{
    int32_t difference;
    __asm__("ssat %0, #16, %0, asr #1\n\t"
            "ssub16 %1, %0, %2\n\t"
            "sel %0, %0, %2\n\t"
            "ssub16 %1, %3, %0\n\t"
            "sel %0, %0, %3"
            : "+r"(value), "=&r"(difference)
            : "r"(output.low), "r"(output.high)
            : "cc");
    return value;
}

#endif
