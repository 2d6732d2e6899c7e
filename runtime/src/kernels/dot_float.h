/* Dot product of two float vectors. */
#ifndef TIGRIS_DOT_FLOAT_H
#define TIGRIS_DOT_FLOAT_H

#include <stdint.h>

/* Eight partial sums: less rounding error, and independent additions for the processor. */
#define TIGRIS_PARTIAL_SUMS 8U

static inline float tigris_dot(const float *a, const float *b, uint32_t count)
{
    float partial[TIGRIS_PARTIAL_SUMS] = {0.0F};
    uint32_t i = 0;
    for (; count - i >= TIGRIS_PARTIAL_SUMS; i += TIGRIS_PARTIAL_SUMS) {
        for (uint32_t k = 0; k < TIGRIS_PARTIAL_SUMS; k++) {
            partial[k] += a[i + k] * b[i + k];
        }
    }
    float sum = 0.0F;
    for (uint32_t k = 0; k < TIGRIS_PARTIAL_SUMS; k++) {
        sum += partial[k];
    }
    for (count %= TIGRIS_PARTIAL_SUMS; count != 0U; count--, i++) {
        sum += a[i] * b[i];
    }
    return sum;
}

#endif
