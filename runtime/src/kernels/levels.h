/* Unsigned 32-bit numbers of the audio front end's kernels; tensors hold them as INT32. */
#ifndef TIGRIS_LEVELS_H
#define TIGRIS_LEVELS_H

#include "int16.h"

static inline const uint16_t *tigris_uint16_data(const tigris_kernel_call *call, uint32_t offset)
{
    return (const uint16_t *)(const void *)(tigris_weights(call) + offset);
}

static inline uint32_t *tigris_levels_output(const tigris_kernel_call *call)
{
    return (uint32_t *)(void *)tigris_output_data(call);
}

/* Significant bits of a number; 0 for 0. */
static inline uint32_t tigris_bits(uint32_t value)
{
    uint32_t bits = 0;
    for (uint32_t half = 16; half > 0U; half /= 2U) {
        if (value >> half != 0U) {
            value >>= half;
            bits += half;
        }
    }
    return bits + value;
}

#endif
