/* Rounds float32 to the nearest integer: halves to even, as ONNX's QuantizeLinear, or away from zero, as TensorFlow
 * Lite's QUANTIZE. */
#ifndef TIGRIS_ROUNDING_H
#define TIGRIS_ROUNDING_H

#include <stdint.h>

#include "tigris_format.h"

/* Adding and taking away 1.5 * 2^23 leaves the nearest integer, halves to even, of any |x| < 2^22. */
#define TIGRIS_ROUNDING_CONSTANT 12582912.0F
#define TIGRIS_LARGEST_ROUNDED 4194303.0F

/* `rule` is a tigris_rounding. Results are bounded to +-4194303; NaN gives the lower bound. */
static inline int32_t tigris_rounded(float x, uint32_t rule)
{
    /* Written so that NaN becomes the lower bound: converting it would be undefined. */
    const float most = TIGRIS_LARGEST_ROUNDED;
    const float bounded = !(x > -most) ? -most : x > most ? most : x;
    /* The store keeps compilers with wider registers or re-association from undoing the rounding. */
    volatile float shifted = bounded + TIGRIS_ROUNDING_CONSTANT;
    const float nearest = shifted - TIGRIS_ROUNDING_CONSTANT;
    const float remainder = rule == TIGRIS_ROUNDING_HALF_AWAY ? bounded - nearest : 0.0F; /* exact */
    const int32_t upwards = remainder == 0.5F && bounded > 0.0F;
    return (int32_t)nearest + upwards - (int32_t)(remainder == -0.5F && bounded < 0.0F);
}

#endif
