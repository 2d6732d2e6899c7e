/* The part of scale_int8.h for machines without DSP instructions. */
#ifndef TIGRIS_PORTABLE_SCALE_INT8_H
#define TIGRIS_PORTABLE_SCALE_INT8_H

/* sum * doubled / 2^32, rounded to the nearest, halves up; exact. */
static inline int32_t tigris_high_product(uint32_t sum, uint32_t doubled)
{
    const int64_t product = (int64_t)(int32_t)sum * (int64_t)(uint64_t)doubled;
    return (int32_t)(product >> 32) + (int32_t)((uint32_t)product >> 31);
}

/* A value clamped, in the low byte. */
static inline int32_t tigris_clamp_output(int32_t value, tigris_output_stage output)
{
    if (value < output.low) {
        value = output.low;
    }
    if (value > output.high) {
        value = output.high;
    }
    return value;
}

/* value >> 20 within -128 … 127. */
static inline int32_t tigris_shift_20_to_int8(int32_t value)
{
    return tigris_clamp(value, INT8_MIN * (1 << 20), INT8_MAX * (1 << 20)) >> 20;
}

/* value / 2 clamped. */
static inline int32_t tigris_halve_clamped(int32_t value, tigris_output_stage output)
{
    return tigris_clamp_output(value >> 1, output);
}

#endif
