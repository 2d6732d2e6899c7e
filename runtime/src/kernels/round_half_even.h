/* Rounding as ONNX's QuantizeLinear has it. */
#ifndef TIGRIS_ROUND_HALF_EVEN_H
#define TIGRIS_ROUND_HALF_EVEN_H

#include <stdint.h>

/* Adding and taking away 1.5 * 2^23 leaves the nearest integer, halves to even, of any |x| < 2^22. */
#define TIGRIS_ROUNDING_CONSTANT 12582912.0F
#define TIGRIS_LARGEST_ROUNDED 4194303.0F

static inline int32_t tigris_round_half_even(float x)
{
    /* Written so that NaN becomes the lower bound: converting it would be undefined. */
    const float most = TIGRIS_LARGEST_ROUNDED;
    const float bounded = !(x > -most) ? -most : x > most ? most : x;
    /* The store keeps compilers with wider registers or re-association from undoing the rounding. */
    volatile float shifted = bounded + TIGRIS_ROUNDING_CONSTANT;
    return (int32_t)(shifted - TIGRIS_ROUNDING_CONSTANT);
}

#endif
