/* Shared by both element types of RESAMPLE: taps, their tables and checks. Start indices in RAM are not trusted:
 * every tap is clamped to the band. */
#ifndef TIGRIS_RESAMPLE_H
#define TIGRIS_RESAMPLE_H

#include "access.h"
#include "check.h"

#define TIGRIS_MOST_RESAMPLE_TAPS 64U

/* Row or column `index`, or the nearest one of [low, end), which is not empty. */
static inline int32_t tigris_nearest_index(int32_t index, int32_t low, int32_t end)
{
    return index < low ? low : index >= end ? end - 1 : index;
}

/* The taps of an output row or column. */
typedef struct tigris_resample_taps {
    const tigris_band *in;
    const void *weights;
    int32_t start;
    uint32_t count;
} tigris_resample_taps;

/* Row or column of tap `tap`; sums wrap instead of overflowing. */
static inline int32_t tigris_resample_row(const tigris_resample_taps *rows, uint32_t tap)
{
    const int32_t first = tigris_first_row(rows->in);
    return tigris_nearest_index((int32_t)((uint32_t)rows->start + tap), first, first + tigris_row_count(rows->in));
}

static inline int32_t tigris_resample_column(const tigris_resample_taps *columns, uint32_t tap)
{
    const int32_t width = (int32_t)tigris_tensor_of(columns->in)->width;
    return tigris_nearest_index((int32_t)((uint32_t)columns->start + tap), 0, width);
}

static inline int tigris_check_resample_axis(const tigris_check_call *call, uint32_t taps, uint32_t start,
                                             uint32_t weight, uint32_t extent, uint32_t weight_bytes)
{
    return taps >= 1U && taps <= TIGRIS_MOST_RESAMPLE_TAPS &&
           tigris_check_data(call, start, extent, sizeof(int32_t)) &&
           tigris_check_data(call, weight, tigris_multiply(extent, taps), weight_bytes);
}

static inline tigris_status tigris_check_resample(const tigris_check_call *call, uint32_t weight_bytes)
{
    const tigris_resample_params *params = call->params;
    const uint32_t dtype = call->op->dtype;
    return tigris_check_result(
        tigris_check_types(call, 1U, dtype, dtype) && tigris_check_per_image(call) &&
        call->inputs[0]->channels == call->output->channels &&
        tigris_check_resample_axis(call, params->row_taps, params->row_start, params->row_weight,
                                   call->output->height, weight_bytes) &&
        tigris_check_resample_axis(call, params->column_taps, params->column_start, params->column_weight,
                                   call->output->width, weight_bytes));
}

#endif
