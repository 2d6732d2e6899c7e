#include "scale_int8.h"

TIGRIS_HOT
int32_t tigris_requantise_any_shift(int32_t sum, int32_t multiplier, int32_t shift, int32_t zero_point, int32_t low,
                                    int32_t high)
{
    const tigris_output_stage output = {zero_point, low, high};
    return tigris_to_int8(sum, multiplier, shift, &output);
}

TIGRIS_HOT
void tigris_requantise_channels(const uint32_t *sums, int32_t count, const int32_t *multiplier, const int8_t *shift,
                                int32_t step, const tigris_output_stage *output, int8_t *to)
{
    const tigris_output_stage stage = *output;
    const int32_t fast_above = tigris_fast_above(stage);
    const int8_t *const end = to + count;
    do {
        uint32_t value = *sums++; /* NOLINT(clang-analyzer-core.uninitialized.Assign): begun, if vectors have elements */
        if (tigris_is_fast_scale(*multiplier, *shift, fast_above)) {
            value = (uint32_t)tigris_requantise_fast(value, tigris_scale_of(*multiplier, *shift, stage), stage);
        } else {
            value = (uint32_t)tigris_requantise_slow(value, *multiplier, *shift, stage);
        }
        *to++ = (int8_t)value;
        multiplier += step;
        shift += step;
    } while (to != end);
}
