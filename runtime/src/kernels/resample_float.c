/* RESAMPLE, float32: linear, cubic and other separable interpolation. */
#include <string.h>

#include "resample.h"
#include "tigris_kernels.h"

static float interpolate(const tigris_resample_taps *rows, const tigris_resample_taps *columns, uint32_t channel)
{
    const tigris_band *in = rows->in;
    const float *row_weights = rows->weights, *column_weights = columns->weights;
    float sum = 0.0F;
    for (uint32_t j = 0; j < rows->count; j++) {
        if (row_weights[j] == 0.0F) { /* a row without weight may lie outside the band */
            continue;
        }
        const float *row = tigris_float_row(in, tigris_resample_row(rows, j)) + channel;
        float part = 0.0F;
        for (uint32_t i = 0; i < columns->count; i++) {
            const int32_t column = tigris_resample_column(columns, i);
            part += column_weights[i] * row[(uint32_t)column * tigris_tensor_of(in)->channels];
        }
        sum += row_weights[j] * part;
    }
    return sum;
}

static void run(const tigris_kernel_call *call)
{
    const tigris_resample_params *params = tigris_params(call);
    const tigris_band *in = tigris_input_band(call, 0);
    const tigris_tensor_record *output = tigris_output_tensor(call);
    float *to = tigris_float_output(call);
    if (tigris_row_count(in) == 0) { /* only with a damaged row map */
        memset(to, 0, (uint32_t)tigris_output_rows(call) * tigris_row_bytes(output));
        return;
    }
    for (int32_t y = tigris_output_first(call); y < tigris_output_first(call) + tigris_output_rows(call); y++) {
        const tigris_resample_taps rows = {in,
                                           tigris_float_data(call, params->row_weight) + (uint32_t)y * params->row_taps,
                                           tigris_int32_data(call, params->row_start)[y], params->row_taps};
        for (uint32_t x = 0; x < output->width; x++) {
            const tigris_resample_taps columns = {in,
                                                  tigris_float_data(call, params->column_weight) + x * params->column_taps,
                                                  tigris_int32_data(call, params->column_start)[x],
                                                  params->column_taps};
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
