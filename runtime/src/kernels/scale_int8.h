/* Requantises the sums of convolutions and fully connected layers: the arithmetic of requantise.h in fewer
 * instructions.
 *
 * The fast path handles right shifts of 2 and more, which quantised networks have almost everywhere. With DSP
 * instructions it also needs a multiplier of at least 2^30 and an output that is clamped to no less than int8.
 * tigris_is_fast_scale chooses; the slow path handles any shift. All results are bit-exact with tigris_to_int8. */
#ifndef TIGRIS_SCALE_INT8_H
#define TIGRIS_SCALE_INT8_H

#include "inlining.h"
#include "instruction_set.h"
#include "requantise.h"

/* tigris_to_int8 for any shift. It is not inline, as few channels need it; arguments are values, so that callers keep
 * theirs in registers. */
int32_t tigris_requantise_any_shift(int32_t sum, int32_t multiplier, int32_t shift, int32_t zero_point, int32_t low,
                                    int32_t high);

/* Whether tigris_scale_of and tigris_requantise_right_shift apply: right shifts of 2 and more. */
static inline int tigris_is_right_shift(int32_t shift)
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

/* The result of tigris_to_int8 for a right shift of 2 or more, in the low byte.
 *
 * e is the right shift, x the rounded high product, in the open range of 32 bits. With t = x - (x < 0), rounding
 * x / 2^e half away from zero is ((t >> (e - 1)) + 1) >> 1. The addition of 1 + 2 * zero_point before the last halving
 * adds the zero point too, and cannot overflow. */
static inline int32_t tigris_requantise_right_shift(uint32_t sum, tigris_scale scale, tigris_output_stage output)
{
    const int32_t high = tigris_high_product(sum, scale.doubled);
    return tigris_halve_clamped(((high + (high >> 31)) >> scale.right) + scale.offset, output);
}

#if defined(TIGRIS_DSP)
/* The scale for tigris_requantise_doubled. With e for the right shift: `doubled` = multiplier, `right` = e,
 * `offset` = 2^(e - 1) + 2^e * zero point. */
static inline tigris_scale tigris_doubled_sum_scale(int32_t multiplier, int32_t shift, tigris_output_stage output)
{
    const uint32_t right = (uint32_t)-shift & 31U;
    const uint32_t half = 1U << right >> 1;
    const tigris_scale scale = {(uint32_t)multiplier, (int32_t)right,
                                (int32_t)(half + ((uint32_t)output.zero_point << right))};
    return scale;
}

/* tigris_requantise_right_shift of `twice`, a sum that was doubled, on the fast path; the caller makes sure that nothing
 * overflows. With x for the rounded high product, rounding x / 2^e half away from zero is (t + 2^(e - 1)) >> e with
 * t = x - (x < 0). As in tigris_requantise_fast x = 0 of a negative sum counts as negative. */
static inline int32_t tigris_requantise_doubled(uint32_t twice, tigris_scale scale)
{
    return tigris_scale_doubled_to_int8(twice, scale.doubled, scale.right, scale.offset);
}
#else
/* The scale for tigris_requantise_doubled. With e for the right shift: `doubled` = 2 * multiplier, `right` = e + 1,
 * `offset` = 2^e + 2^(e + 1) * zero point. */
static inline tigris_scale tigris_doubled_sum_scale(int32_t multiplier, int32_t shift, tigris_output_stage output)
{
    const uint32_t right = (uint32_t)-shift & 31U;
    const tigris_scale scale = {(uint32_t)multiplier << 1, (int32_t)right + 1,
                                (int32_t)((1U << right) + ((uint32_t)output.zero_point << (right + 1U)))};
    return scale;
}

/* tigris_requantise_right_shift of `twice`, a sum that was doubled; the caller makes sure that nothing overflows.
 * h is twice the exact product, rounded down. Rounding half away from zero adds 1 to h >= 0 and subtracts 1 from h < 0
 * before the shift. Bits below h do not matter, so the low half of the product is not computed. */
static inline int32_t tigris_requantise_doubled(uint32_t twice, tigris_scale scale, tigris_output_stage output)
{
    const int32_t h = (int32_t)(((int64_t)(int32_t)twice * (int64_t)(uint64_t)scale.doubled) >> 32);
    const uint32_t away = (uint32_t)(h + ((h >> 31) | 1));
    return tigris_clamp_output((int32_t)(away + (uint32_t)scale.offset) >> scale.right, output);
}
#endif

#if defined(TIGRIS_DSP)

/* The fast path needs a multiplier above this one. INT32_MAX if the output is clamped to less than int8: no fast
 * path. */
static inline int32_t tigris_fast_above(tigris_output_stage output)
{
    return output.low == INT8_MIN && output.high == INT8_MAX ? (1 << 30) - 1 : INT32_MAX;
}

/* Whether tigris_requantise_fast applies; `fast_above` comes from tigris_fast_above. */
static inline int tigris_is_fast_scale(int32_t multiplier, int32_t shift, int32_t fast_above)
{
    return TIGRIS_LIKELY(tigris_is_right_shift(shift) && multiplier > fast_above);
}

/* tigris_requantise_right_shift on the fast path. A product x = 0 of a negative sum counts as negative here, which
 * changes nothing: t = -1 gives 0 as well. */
static inline int32_t tigris_requantise_fast(uint32_t sum, tigris_scale scale, tigris_output_stage output)
{
    (void)output;
    return tigris_scale_to_int8(sum, scale.doubled, scale.right, scale.offset);
}

/* tigris_to_int8 where the fast path does not apply. */
static inline int32_t tigris_requantise_slow(uint32_t sum, int32_t multiplier, int32_t shift,
                                             tigris_output_stage output)
{
    return tigris_is_right_shift(shift)
        ? tigris_requantise_right_shift(sum, tigris_scale_of(multiplier, shift, output), output)
        : tigris_requantise_any_shift((int32_t)sum, multiplier, shift, output.zero_point, output.low, output.high);
}

#else

static inline int32_t tigris_fast_above(tigris_output_stage output)
{
    (void)output;
    return 0;
}

static inline int tigris_is_fast_scale(int32_t multiplier, int32_t shift, int32_t fast_above)
{
    (void)multiplier;
    (void)fast_above;
    return TIGRIS_LIKELY(tigris_is_right_shift(shift));
}

static inline int32_t tigris_requantise_fast(uint32_t sum, tigris_scale scale, tigris_output_stage output)
{
    return tigris_requantise_right_shift(sum, scale, output);
}

static inline int32_t tigris_requantise_slow(uint32_t sum, int32_t multiplier, int32_t shift,
                                             tigris_output_stage output)
{
    return tigris_requantise_any_shift((int32_t)sum, multiplier, shift, output.zero_point, output.low, output.high);
}

#endif

/* Requantises the sums of `count` channels, at least one. `step` is the stride of multipliers and shifts: 1, or 0 if
 * one scale serves all channels. */
void tigris_requantise_channels(const uint32_t *sums, int32_t count, const int32_t *multiplier, const int8_t *shift,
                                int32_t step, const tigris_output_stage *output, int8_t *to);

#endif
