/* TensorFlow Lite's int8 requantisation: real multiplier = multiplier / 2^31 * 2^shift, rounded twice.
 *
 * The arithmetic is that of gemmlowp's SaturatingRoundingDoublingHighMul and RoundingDivideByPOT
 * (github.com/google/gemmlowp, fixedpoint/fixedpoint.h) and of TensorFlow Lite's
 * MultiplyByQuantizedMultiplier, bit for bit. Sums are unsigned: they wrap where TensorFlow Lite's
 * would be undefined, so that a damaged plan gives wrong numbers and nothing worse. */
#ifndef TIGRIS_REQUANTISE_H
#define TIGRIS_REQUANTISE_H

#include <stdint.h>

#include "tigris_format.h"

/* Right shifts round down: C99 leaves it to the compiler, and all there are do so. */
TIGRIS_STATIC_ASSERT(-3 >> 1 == -2, right_shifts_are_arithmetic);

/* round(a * b / 2^31), halves towards +infinity, saturated (INT32_MIN * INT32_MIN is the only case). */
static inline int32_t tigris_high_multiply(int32_t a, int32_t b)
{
    if (a == b && a == INT32_MIN) {
        return INT32_MAX;
    }
    return (int32_t)(((int64_t)a * b + (INT64_C(1) << 30)) >> 31);
}

/* round(value / 2^exponent), halves away from zero; exponent 0 … 31. */
static inline int32_t tigris_rounding_shift(int32_t value, uint32_t exponent)
{
    const int32_t mask = (int32_t)((UINT32_C(1) << exponent) - 1U);
    const int32_t threshold = (mask >> 1) + (value < 0 ? 1 : 0);
    return (value >> exponent) + ((value & mask) > threshold ? 1 : 0);
}

static inline int32_t tigris_clamp(int32_t value, int32_t low, int32_t high)
{
    return value < low ? low : value > high ? high : value;
}

/* value * 2^left, bounded to +-2^30: where TensorFlow Lite's leaves 32 bits, which is undefined there. Multiplied,
 * what is bounded is 2^29 and more, beyond what any caller clamps to. `left` 1 … 31. */
static inline int32_t tigris_bounded_left(int32_t value, uint32_t left)
{
    const int32_t most = (int32_t)((UINT32_C(1) << 30) >> left);
    return (int32_t)((uint32_t)tigris_clamp(value, -most, most) << left);
}

/* shift -31 … 31, positive: left. Shift amounts are masked because weights in RAM are not trusted. */
static inline int32_t tigris_requantise(int32_t value, int32_t multiplier, int32_t shift)
{
    if (shift > 0) {
        return tigris_high_multiply(tigris_bounded_left(value, (uint32_t)shift & 31U), multiplier);
    }
    return tigris_rounding_shift(tigris_high_multiply(value, multiplier), (uint32_t)-shift & 31U);
}

static inline int32_t tigris_wrapping_add(int32_t a, int32_t b)
{
    return (int32_t)((uint32_t)a + (uint32_t)b);
}

/* Zero point and activation range of an int8 output. */
typedef struct tigris_output_stage {
    int32_t zero_point;
    int32_t low;
    int32_t high;
} tigris_output_stage;

static inline int8_t tigris_to_int8(int32_t value, int32_t multiplier, int32_t shift, const tigris_output_stage *output)
{
    const int32_t scaled = tigris_wrapping_add(tigris_requantise(value, multiplier, shift), output->zero_point);
    return (int8_t)tigris_clamp(scaled, output->low, output->high);
}

#endif
