#include "scale_int8.h"

int32_t tigris_scale_generally(int32_t sum, int32_t multiplier, int32_t shift, int32_t zero_point, int32_t low,
                               int32_t high)
{
    const tigris_output_stage output = {zero_point, low, high};
    return tigris_to_int8(sum, multiplier, shift, &output);
}
