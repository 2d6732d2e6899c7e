/* How the sums of a convolution or a fully connected layer become outputs: requantise.h's arithmetic, arranged
 * for few instructions. */
#ifndef TIGRIS_SCALE_INT8_H
#define TIGRIS_SCALE_INT8_H

#include "inlining.h"
#include "instruction_set.h"
#include "requantise.h"

/* tigris_to_int8 for any shift. Not inline: few channels need it, and by value, so that callers keep theirs in
 * registers. */
int32_t tigris_scale_generally(int32_t sum, int32_t multiplier, int32_t shift, int32_t zero_point, int32_t low,
                               int32_t high);

/* Whether tigris_scale_of and tigris_scale_right apply: right shifts of 2 and more. */
static inline int tigris_scales_right(int32_t shift)
{
    return shift < -1;
}

#if defined(TIGRIS_DSP)
#include "dsp/scale_int8.h"
#else
#include "portable/scale_int8.h"
#endif

/* A right shift of 2 or more, prepared. */
typedef struct tigris_scale {
    uint32_t doubled; /* 2 * multiplier */
    int32_t right;    /* one less than the shift */
    int32_t offset;   /* 2 * zero point + 1 */
} tigris_scale;

static inline tigris_scale tigris_scale_of(int32_t multiplier, int32_t shift, tigris_output_stage output)
{
    const tigris_scale scale = {(uint32_t)multiplier << 1, (-1 - shift) & 31, 2 * output.zero_point + 1};
    return scale;
}

/* The exact result of tigris_to_int8, in the low byte.
 *
 * e is the right shift, x the rounded high product, in the open range of 32 bits. With t = x - (x < 0), rounding
 * x / 2^e half away from zero is ((t >> (e - 1)) + 1) >> 1. The addition of 1 + 2 * zero_point before the last halving
 * adds the zero point too, and cannot overflow. */
static inline int32_t tigris_scale_by(uint32_t sum, tigris_scale scale, tigris_output_stage output)
{
    const int32_t high = tigris_scale_product(sum, scale.doubled);
    return tigris_scale_end(((high + (high >> 31)) >> scale.right) + scale.offset, output);
}

#if !defined(TIGRIS_DSP)
/* For tigris_scale_twice. With e for the right shift: twice the product, in `doubled` as above, `right` = e + 1,
 * `offset` = 2^e + 2^(e + 1) * zero point. */
static inline tigris_scale tigris_twice_scale_of(int32_t multiplier, int32_t shift, tigris_output_stage output)
{
    const uint32_t right = (uint32_t)-shift & 31U;
    const tigris_scale scale = {(uint32_t)multiplier << 1, (int32_t)right + 1,
                                (int32_t)((1U << right) + ((uint32_t)output.zero_point << (right + 1U)))};
    return scale;
}

/* tigris_scale_by of a sum that was doubled, where nothing overflows. With h for twice the exact product, rounded down, the
 * rounded product's half away from zero is reached from h + 1 on where h >= 0, from h - 1 on elsewhere: bits below h
 * decide nothing, so the low half of the product is not made. */
static inline int32_t tigris_scale_twice(uint32_t twice, tigris_scale scale, tigris_output_stage output)
{
    const int32_t h = (int32_t)(((int64_t)(int32_t)twice * (int64_t)(uint64_t)scale.doubled) >> 32);
    const uint32_t away = (uint32_t)(h + ((h >> 31) | 1));
    return tigris_scale_clamped((int32_t)(away + (uint32_t)scale.offset) >> scale.right, output);
}
#endif

#if defined(TIGRIS_DSP)

/* Right shifts are usual, with a multiplier above this one: all there are in practice, for an output of any int8. */
static inline int32_t tigris_usual_above(tigris_output_stage output)
{
    return output.low == INT8_MIN && output.high == INT8_MAX ? (1 << 30) - 1 : INT32_MAX;
}

/* Whether tigris_scale_usually applies, given tigris_usual_above. */
static inline int tigris_scales_usually(int32_t multiplier, int32_t shift, int32_t usual_above)
{
    return TIGRIS_LIKELY(tigris_scales_right(shift) && multiplier > usual_above);
}

/* tigris_scale_by for these. That a product x = 0 of a negative sum counts as negative changes nothing: t = -1 gives 0
 * as well. */
static inline int32_t tigris_scale_usually(uint32_t sum, tigris_scale scale, tigris_output_stage output)
{
    (void)output;
    return tigris_scale_to_int8(sum, scale.doubled, scale.right, scale.offset);
}

/* tigris_to_int8 where it is not usual. */
static inline int32_t tigris_scale_otherwise(uint32_t sum, int32_t multiplier, int32_t shift,
                                             tigris_output_stage output)
{
    return tigris_scales_right(shift) ? tigris_scale_by(sum, tigris_scale_of(multiplier, shift, output), output)
                                      : tigris_scale_generally((int32_t)sum, multiplier, shift, output.zero_point,
                                                               output.low, output.high);
}

#else

static inline int32_t tigris_usual_above(tigris_output_stage output)
{
    (void)output;
    return 0;
}

static inline int tigris_scales_usually(int32_t multiplier, int32_t shift, int32_t usual_above)
{
    (void)multiplier;
    (void)usual_above;
    return TIGRIS_LIKELY(tigris_scales_right(shift));
}

static inline int32_t tigris_scale_usually(uint32_t sum, tigris_scale scale, tigris_output_stage output)
{
    return tigris_scale_by(sum, scale, output);
}

static inline int32_t tigris_scale_otherwise(uint32_t sum, int32_t multiplier, int32_t shift,
                                             tigris_output_stage output)
{
    return tigris_scale_generally((int32_t)sum, multiplier, shift, output.zero_point, output.low, output.high);
}

#endif

/* Sums of `count` channels, at least one, become outputs. Multipliers and shifts are `step` apart: 1, or 0 when one
 * scale serves all. */
void tigris_scale_channels(const uint32_t *sums, int32_t count, const int32_t *multiplier, const int8_t *shift,
                           int32_t step, const tigris_output_stage *output, int8_t *to);

#endif
