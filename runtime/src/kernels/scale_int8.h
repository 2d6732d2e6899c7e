/* How the sums of a convolution or a fully connected layer become outputs: requantise.h's arithmetic, arranged
 * for few instructions. */
#ifndef TIGRIS_SCALE_INT8_H
#define TIGRIS_SCALE_INT8_H

#include "requantise.h"

/* tigris_to_int8 for any shift. Not inline: few channels need it, and by value, so that callers keep theirs in
 * registers. */
int32_t tigris_scale_generally(int32_t sum, int32_t multiplier, int32_t shift, int32_t zero_point, int32_t low,
                               int32_t high);

/* Whether tigris_scale_right applies: right shifts of 2 and more. */
static inline int tigris_scales_right(int32_t shift)
{
    return shift < -1;
}

/* The exact result of tigris_to_int8 for right shifts e of 2 and more.
 *
 * x is the rounded high product, in the open range of 32 bits. With t = x - (x < 0), rounding x / 2^e half away from
 * zero is ((t >> (e - 1)) + 1) >> 1; the addition of 1 + 2 * zero_point before the last halving adds the zero point
 * as well, and cannot overflow. */
static inline int32_t tigris_scale_right(uint32_t sum, int32_t multiplier, int32_t shift, tigris_output_stage output)
{
    const uint32_t doubled = (uint32_t)multiplier << 1;
    const int64_t product = (int64_t)(int32_t)sum * (int64_t)(uint64_t)doubled;
    const int32_t high = (int32_t)(product >> 32) + (int32_t)((uint32_t)product >> 31);
    int32_t value = (((high + (high >> 31)) >> ((-1 - shift) & 31)) + (2 * output.zero_point + 1)) >> 1;
    if (value < output.low) {
        value = output.low;
    }
    if (value > output.high) {
        value = output.high;
    }
    return value;
}

/* The exact result of tigris_to_int8. */
static inline int8_t tigris_scale_to_int8(uint32_t sum, int32_t multiplier, int32_t shift,
                                          tigris_output_stage output)
{
    const int32_t value =
        tigris_scales_right(shift)
            ? tigris_scale_right(sum, multiplier, shift, output)
            : tigris_scale_generally((int32_t)sum, multiplier, shift, output.zero_point, output.low, output.high);
    return (int8_t)value;
}

#endif
