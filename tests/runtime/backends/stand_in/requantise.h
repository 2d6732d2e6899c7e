/* Requantisation of the stand-in libraries, written for clearness only. */
#pragma once
#include <stdint.h>

/* TensorFlow Lite's, in 64 bits, for sums that a left shift leaves within 32. */
static int8_t stand_in_output(int64_t sum, int32_t multiplier, int32_t shift, int32_t offset, int32_t low, int32_t high)
{
    const int64_t left = shift > 0 ? sum << shift : sum;
    const int64_t high_product = (left * multiplier + (INT64_C(1) << 30)) >> 31;
    const int32_t right = shift > 0 ? 0 : -shift;
    const int64_t half = right > 0 ? INT64_C(1) << (right - 1) : 0;
    const int64_t magnitude = ((high_product < 0 ? -high_product : high_product) + half) >> right;
    const int64_t value = (high_product < 0 ? -magnitude : magnitude) + offset;
    return (int8_t)(value < low ? low : value > high ? high : value);
}
