/* The part of scale_int8.h with the DSP instructions of Armv7E-M (Cortex-M4, M7) and Armv8-M. */
#ifndef TIGRIS_DSP_SCALE_INT8_H
#define TIGRIS_DSP_SCALE_INT8_H

#include "arm_dsp.h"

/* sum * doubled / 2^32, rounded to the nearest, halves up; exact. From 2^31 on, `doubled` is read as 2^32 less, which
 * takes one sum from the high half. */
static inline int32_t tigris_scale_product(uint32_t sum, uint32_t doubled)
{
    return (int32_t)tigris_add_high_product(sum & (uint32_t)((int32_t)doubled >> 31), sum, doubled);
}

/* value / 2 clamped; the low byte counts. */
static inline int32_t tigris_scale_end(int32_t value, tigris_output_stage output)
{
    return tigris_halve_to_range(value, output.low, output.high);
}

#endif
