/* The arithmetic of requantise.h on eight numbers at once. */
#ifndef TIGRIS_HOST_SCALE_H
#define TIGRIS_HOST_SCALE_H

#include "../requantise.h"
#include "lanes.h"

#if TIGRIS_HOST_AVX2 || TIGRIS_HOST_NEON

/* Multipliers and shifts of eight lanes; in each lane `left` or `right` is 0. */
typedef struct tigris_host_scale {
    tigris_host_words multiplier;
    tigris_host_words left;
    tigris_host_words least; /* bounds of values that `left`, if above 0, keeps within +-2^30: tigris_bounded_left */
    tigris_host_words most;
    tigris_host_words right;
    int is_fast; /* all right shifts are 2 or more, the fast path of scale_int8.h */
} tigris_host_scale;

TIGRIS_HOST_INLINE tigris_host_scale tigris_host_scale_of(tigris_host_words multiplier, tigris_host_words shift)
{
    const tigris_host_words none = tigris_host_zero(), most = tigris_host_same(31);
    const tigris_host_words left = tigris_host_larger(shift, none);
    const tigris_host_words right = tigris_host_larger(tigris_host_minus(none, shift), none);
    /* Bounded, where tigris_requantise masks: the same for all shifts that checks accept. */
    const tigris_host_words bits = tigris_host_smaller(left, most);
    const tigris_host_words one_more = tigris_host_minus(bits, tigris_host_signs(tigris_host_minus(none, bits)));
    const tigris_host_words bound = tigris_host_right(tigris_host_same(INT32_MAX), tigris_host_smaller(one_more, most));
    const tigris_host_words least = tigris_host_minus(tigris_host_same(-1), bound);
    const tigris_host_scale scale = {multiplier, bits, least, bound, tigris_host_smaller(right, most),
                                     tigris_host_all_above(right, 1)};
    return scale;
}

/* One multiplier and shift for all lanes. */
TIGRIS_HOST_INLINE tigris_host_scale tigris_host_same_scale(int32_t multiplier, int32_t shift)
{
    return tigris_host_scale_of(tigris_host_same(multiplier), tigris_host_same(shift));
}

/* tigris_requantise of each lane. */
TIGRIS_HOST_INLINE tigris_host_words tigris_host_requantise(tigris_host_words value, const tigris_host_scale *scale)
{
    const tigris_host_words bounded = tigris_host_smaller(tigris_host_larger(value, scale->least), scale->most);
    const tigris_host_words high = tigris_host_high_multiply(tigris_host_left(bounded, scale->left), scale->multiplier);
    return tigris_host_rounding_shift(high, scale->right);
}

/* tigris_output_stage in vectors. */
typedef struct tigris_host_stage {
    tigris_host_words zero_point;
    tigris_host_words rounding; /* 2 * zero point + 1 */
    tigris_host_words low;
    tigris_host_words high;
} tigris_host_stage;

TIGRIS_HOST_INLINE tigris_host_stage tigris_host_stage_of(const tigris_output_stage *stage)
{
    const tigris_host_stage end = {tigris_host_same(stage->zero_point), tigris_host_same(2 * stage->zero_point + 1),
                                   tigris_host_same(stage->low), tigris_host_same(stage->high)};
    return end;
}

/* Outputs before they are clamped. Right shifts are computed as in tigris_requantise_right_shift: the rounding adds the
 * zero point too. */
TIGRIS_HOST_INLINE tigris_host_words tigris_host_scaled(tigris_host_words sums, const tigris_host_scale *scale,
                                                        const tigris_host_stage *end)
{
    if (!scale->is_fast) {
        return tigris_host_plus(tigris_host_requantise(sums, scale), end->zero_point);
    }
    const tigris_host_words high = tigris_host_high_multiply(sums, scale->multiplier);
    const tigris_host_words but_one = tigris_host_minus(scale->right, tigris_host_same(1));
    const tigris_host_words shifted = tigris_host_right(tigris_host_plus(high, tigris_host_signs(high)), but_one);
    return tigris_host_half(tigris_host_plus(shifted, end->rounding));
}

/* Requantises the first `count` lanes and stores them. */
TIGRIS_HOST_INLINE void tigris_host_output(tigris_host_words sums, const tigris_host_scale *scale,
                                           const tigris_host_stage *end, int32_t count, int8_t *to)
{
    const tigris_host_words value = tigris_host_scaled(sums, scale, end);
    const tigris_host_words result = tigris_host_smaller(tigris_host_larger(value, end->low), end->high);
    if (count >= TIGRIS_HOST_LANES) {
        tigris_host_store_bytes(to, result);
    } else {
        int8_t bytes[TIGRIS_HOST_LANES];
        tigris_host_store_bytes(bytes, result);
        memcpy(to, bytes, (size_t)count);
    }
}

/* Biases and scales of up to eight channels; unused lanes repeat the first. */
typedef struct tigris_host_channels {
    tigris_host_words bias;
    tigris_host_scale scale;
} tigris_host_channels;

/* `step`: stride of multipliers and shifts, 1, or 0 if one scale serves all. */
TIGRIS_HOST_INLINE tigris_host_channels tigris_host_channels_at(const int32_t *bias, const int32_t *multiplier,
                                                                const int8_t *shift, int32_t step, int32_t count)
{
    int32_t biases[TIGRIS_HOST_LANES], multipliers[TIGRIS_HOST_LANES];
    int8_t shifts[TIGRIS_HOST_LANES];
    tigris_host_channels result;
    if (count >= TIGRIS_HOST_LANES && step == 1) {
        result.bias = tigris_host_words_at(bias);
        result.scale = tigris_host_scale_of(tigris_host_words_at(multiplier), tigris_host_bytes_at(shift));
        return result;
    }
    for (int32_t i = 0; i < TIGRIS_HOST_LANES; i++) {
        const int32_t channel = i < count ? i : 0;
        biases[i] = bias[channel];
        multipliers[i] = multiplier[channel * step];
        shifts[i] = shift[channel * step];
    }
    result.bias = tigris_host_words_at(biases);
    result.scale = tigris_host_scale_of(tigris_host_words_at(multipliers), tigris_host_bytes_at(shifts));
    return result;
}

#endif
#endif
