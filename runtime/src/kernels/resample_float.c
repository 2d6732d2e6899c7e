/* RESAMPLE, float32: linear, cubic and other separable interpolation. */
#include <string.h>

#include "resample.h"
#include "tigris_kernels.h"

/* The taps of one output row. */
typedef struct row_taps {
    const tigris_band *in;
    const float *weights;
    int32_t start;
    uint32_t count;
} row_taps;

/* The taps of one output column. */
typedef struct column_taps {
    const float *weights;
    int32_t start;
    uint32_t count;
} column_taps;

static float interpolate(const row_taps *rows, const column_taps *columns, uint32_t channel)
{
    const tigris_band *in = rows->in;
    float sum = 0.0F;
    for (uint32_t j = 0; j < rows->count; j++) {
        if (rows->weights[j] == 0.0F) { /* a row without weight may lie outside the band */
            continue;
        }
        const float *row =
            tigris_float_row(in, tigris_resample_tap(rows->start, j, in->first, in->first + in->rows)) + channel;
        float part = 0.0F;
        for (uint32_t i = 0; i < columns->count; i++) {
            const int32_t column = tigris_resample_tap(columns->start, i, 0, (int32_t)in->tensor->width);
            part += columns->weights[i] * row[(uint32_t)column * in->tensor->channels];
        }
        sum += rows->weights[j] * part;
    }
    return sum;
}

static void run(const tigris_kernel_call *call)
{
    const tigris_resample_params *params = call->params;
    const tigris_band *in = &call->inputs[0];
    const tigris_tensor_record *output = call->output->tensor;
    float *to = tigris_float_output(call);
    if (in->rows == 0) { /* only with a damaged row map */
        memset(to, 0, (uint32_t)call->output->rows * tigris_row_bytes(output));
        return;
    }
    for (int32_t y = call->output->first; y < call->output->first + call->output->rows; y++) {
        const row_taps rows = {in, tigris_float_data(call, params->row_weight) + (uint32_t)y * params->row_taps,
                               tigris_int32_data(call, params->row_start)[y], params->row_taps};
        for (uint32_t x = 0; x < output->width; x++) {
            const column_taps columns = {tigris_float_data(call, params->column_weight) + x * params->column_taps,
                                         tigris_int32_data(call, params->column_start)[x], params->column_taps};
            for (uint32_t channel = 0; channel < output->channels; channel++) {
                *to++ = interpolate(&rows, &columns, channel);
            }
        }
    }
}

static tigris_status check(const tigris_check_call *call)
{
    return tigris_check_resample(call, sizeof(float));
}

TIGRIS_KERNEL_ENTRY(tigris_resample_float, RESAMPLE, FLOAT32, tigris_resample_params, run, check);
