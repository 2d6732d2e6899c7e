/* Checks that the kernels of SUM_MAP and MEAN_OF_SUMS share. */
#ifndef TIGRIS_MAP_MEAN_H
#define TIGRIS_MAP_MEAN_H

#include "check.h"

/* Most pixels of a map, so that sums of int8 fit 32 bits. */
#define TIGRIS_LARGEST_MAP (UINT32_C(1) << 22)

/* The output has one sum for each channel; output row r adds input row r, one image a call. */
static inline int tigris_check_map_sum(const tigris_check_call *call)
{
    const tigris_tensor_record *in = call->inputs[0];
    const tigris_sum_map_params *params = call->params;
    return tigris_is_folded(call->output) && tigris_check_per_image(call) &&
           call->output->width == 1U && call->output->channels == in->channels &&
           call->operands[0].numerator == 1U && tigris_check_same_rows(call, 0U) &&
           (uint64_t)in->height * in->width == params->taps;
}

/* The output is one pixel, computed from the last row of sums. */
static inline int tigris_check_map_mean(const tigris_check_call *call)
{
    const tigris_tensor_record *in = call->inputs[0];
    const tigris_tensor_record *out = call->output;
    return tigris_is_folded(in) && tigris_check_per_image(call) && out->height == 1U && out->width == 1U && in->width == 1U && out->channels == in->channels && tigris_check_all_rows(call, 0U);
}

#endif
