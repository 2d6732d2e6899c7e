/* The part of scale_int8.h with the DSP instructions of Armv7E-M (Cortex-M4, M7) and Armv8-M. */
#ifndef TIGRIS_DSP_SCALE_INT8_H
#define TIGRIS_DSP_SCALE_INT8_H

#include "arm_dsp.h"

/* sum * doubled / 2^32, rounded to the nearest, halves up; exact. SMMLAR reads `doubled` from 2^31 on as 2^32 less,
 * which is one `sum` less in the high half: the addend gives it back. */
static inline int32_t tigris_high_product(uint32_t sum, uint32_t doubled)
{
    return (int32_t)tigris_add_high_product(sum & (uint32_t)((int32_t)doubled >> 31), sum, doubled);
}

/* value / 2 clamped, in the low byte. */
static inline int32_t tigris_halve_clamped(int32_t value, tigris_output_stage output)
{
    return tigris_halve_to_range(value, output.low, output.high);
}

#endif
