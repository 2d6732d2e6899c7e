/* Requantisation of the stand-in libraries, written for clearness only. */
#pragma once
#include <assert.h>
#include <stdint.h>

/* TensorFlow Lite's. What does not fit 32 bits wraps, as the runtime's own does. */
static int8_t stand_in_output(int64_t sum, int32_t multiplier, int32_t shift, int32_t offset, int32_t low, int32_t high)
{
    assert(multiplier >= 0 && shift >= -31 && shift <= 31);
    const int32_t left = (int32_t)((uint32_t)sum << (shift > 0 ? shift : 0));
    const int64_t high_product = ((int64_t)left * multiplier + (INT64_C(1) << 30)) >> 31;
    const int32_t right = shift > 0 ? 0 : -shift;
    const int64_t half = right > 0 ? INT64_C(1) << (right - 1) : 0;
    const int64_t magnitude = ((high_product < 0 ? -high_product : high_product) + half) >> right;
    const int32_t value = (int32_t)((uint32_t)(high_product < 0 ? -magnitude : magnitude) + (uint32_t)offset);
    return (int8_t)(value < low ? low : value > high ? high : value);
}
