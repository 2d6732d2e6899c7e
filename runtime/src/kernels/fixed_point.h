/* Fixed-point arithmetic of softmax. Qm.n is a number with m integer and n fraction bits. */
#ifndef TIGRIS_FIXED_POINT_H
#define TIGRIS_FIXED_POINT_H

#include "inlining.h"
#include "requantise.h"

/* tigris_high_multiply for products that never saturate. */
static TIGRIS_NOINLINE int32_t tigris_fraction_product(int32_t a, int32_t b)
{
    return (int32_t)(((int64_t)a * b + (INT64_C(1) << 30)) >> 31);
}

/* 1 / (1 + a) for a in [0, 1), Q0.31 both, as gemmlowp's: three steps of Newton's method on d = (1 + a) / 2. */
static inline int32_t tigris_reciprocal_of_one_plus(int32_t a)
{
    const int32_t seed_constant = 1515870810; /* 48/17 in Q2.29 */
    const int32_t seed_slope = -1010580540;   /* -32/17 in Q2.29 */
    const int32_t one = 1 << 29;              /* in Q2.29 */
    const int32_t half = (int32_t)(((uint32_t)a + 0x80000000U) >> 1);
    int32_t x = tigris_wrapping_add(seed_constant, tigris_fraction_product(half, seed_slope));
    for (int32_t i = 0; i < 3; i++) {
        const int32_t error = tigris_wrapping_add(one, -tigris_fraction_product(half, x));
        x = tigris_wrapping_add(x, (int32_t)((uint32_t)tigris_fraction_product(x, error) << 2));
    }
    return x >= 1 << 30 ? INT32_MAX : (int32_t)((uint32_t)x << 1);
}

static inline int32_t tigris_leading_zeros(uint32_t value)
{
    int32_t zeros = 0;
    for (; zeros < 32 && (value & 0x80000000U) == 0U; zeros++) {
        value <<= 1;
    }
    return zeros;
}

#endif
