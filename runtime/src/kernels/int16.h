/* Shared by the int16 kernels: access to elements, sums of products, requantisation.
 *
 * The arithmetic is that of TensorFlow Lite's reference kernels, bit for bit: MultiplyByQuantizedMultiplier of int64
 * (kernels/internal/common.cc), whose multiplier the compiler has reduced to 16 bits, and that of int32. Sums are unsigned
 * where they may leave their range, as in requantise.h. */
#ifndef TIGRIS_INT16_H
#define TIGRIS_INT16_H

#include "access.h"
#include "check.h"
#include "requantise.h"

/* Products of int8 and int16 whose sum always fits 32 bits: each is at most 2^22. */
#define TIGRIS_SAFE_PRODUCTS 256

static inline const int16_t *tigris_int16_data(const tigris_kernel_call *call, uint32_t offset)
{
    return (const int16_t *)(const void *)(tigris_weights(call) + offset);
}

static inline const int16_t *tigris_int16_row(const tigris_band *band, int32_t row)
{
    return (const int16_t *)(const void *)tigris_band_row(band, row);
}

static inline int16_t *tigris_int16_output(const tigris_kernel_call *call)
{
    return (int16_t *)(void *)tigris_output_data(call);
}

/* Entry `index` of an array of int64 that is aligned to four bytes at least. */
static inline uint64_t tigris_int64_at(const uint32_t *words, int32_t index)
{
    return (uint64_t)words[2 * index + 1] << 32 | words[2 * index];
}

/* Width of sums, 32 or 64 bits, and range of outputs. */
typedef struct tigris_sum_stage {
    uint32_t sum_bits;
    int32_t low;
    int32_t high;
} tigris_sum_stage;

/* Whether a sum's result is the upper half of its product with tigris_high_factor, rounded: right shifts of 16 to 31,
 * as nearly always. */
static inline int tigris_is_high_word(int32_t shift)
{
    return (uint32_t)(-1 - shift) < 16U;
}

static inline uint32_t tigris_high_factor(int32_t multiplier, int32_t shift)
{
    return (uint32_t)multiplier << ((17 + shift) & 31);
}

/* (sum * multiplier + half) >> (15 - shift), the lower 32 bits. */
static inline int32_t tigris_scale_sum(int64_t sum, int32_t multiplier, int32_t shift)
{
    if (tigris_is_high_word(shift)) { /* 32-bit processors shift 64 bits by many instructions */
        const uint64_t product = (uint64_t)sum * tigris_high_factor(multiplier, shift);
        return (int32_t)((uint32_t)(product >> 32) + ((uint32_t)product >> 31));
    }
    const int64_t product = (int64_t)((uint64_t)sum * (uint32_t)multiplier);
    return (int32_t)(((product >> ((14 - shift) & 63)) + 1) >> 1);
}

static inline int16_t tigris_to_int16(int64_t sum, int32_t multiplier, int32_t shift, const tigris_sum_stage *stage)
{
    const int32_t scaled = stage->sum_bits == 64U
                               ? tigris_scale_sum(sum, multiplier, shift)
                               : tigris_requantise((int32_t)(uint32_t)sum, multiplier, shift);
    return (int16_t)tigris_clamp(scaled, stage->low, stage->high);
}

static inline int tigris_is_int16(int32_t value)
{
    return value >= INT16_MIN && value <= INT16_MAX;
}

static inline int tigris_check_range_int16(int32_t low, int32_t high)
{
    return low <= high && tigris_is_int16(low) && tigris_is_int16(high);
}

/* The checks of kernels with weights: types, output range, width of sums, and one bias and scale for each output
 * channel. */
static inline int tigris_check_sums(const tigris_check_call *call, const tigris_sum_stage *stage, uint32_t bias,
                                    uint32_t multiplier, uint32_t shift, uint32_t outputs)
{
    return (stage->sum_bits == 64U || stage->sum_bits == 32U) && tigris_check_range_int16(stage->low, stage->high) &&
           tigris_check_types(call, 1U, TIGRIS_DTYPE_INT16, TIGRIS_DTYPE_INT16) &&
           tigris_check_data(call, bias, outputs, sizeof(int64_t)) &&
           tigris_check_requantise(call, multiplier, shift, outputs);
}

#endif
