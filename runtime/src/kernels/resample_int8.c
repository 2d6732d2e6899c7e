/* RESAMPLE, int8: weights of 10 fractional bits a direction, one rounding at the end, as TensorFlow Lite's
 * integer ResizeBilinear. Sums fit 64 bits whatever the weights: 2^12 taps of 2^37. */
#include <string.h>

#include "requantise.h"
#include "resample.h"
#include "tigris_kernels.h"

#define UNIT (INT64_C(1) << 20)

/* The taps of one output row. */
typedef struct row_taps {
    const tigris_band *in;
    const int16_t *weights;
    int32_t start;
    uint32_t count;
} row_taps;

/* The taps of one output column. */
typedef struct column_taps {
    const int16_t *weights;
    int32_t start;
    uint32_t count;
} column_taps;

static const int16_t *int16_data(const tigris_kernel_call *call, uint32_t offset)
{
    return (const int16_t *)(const void *)(call->weights + offset);
}

static int8_t interpolate(const row_taps *rows, const column_taps *columns, uint32_t channel)
{
    const tigris_band *in = rows->in;
    int64_t sum = 0;
    for (uint32_t j = 0; j < rows->count; j++) {
        if (rows->weights[j] == 0) { /* such a row may lie outside the band */
            continue;
        }
        const int8_t *row =
            tigris_int8_row(in, tigris_resample_tap(rows->start, j, in->first, in->first + in->rows)) + channel;
        int32_t part = 0;
        for (uint32_t i = 0; i < columns->count; i++) {
            const int32_t column = tigris_resample_tap(columns->start, i, 0, (int32_t)in->tensor->width);
            part += columns->weights[i] * row[(uint32_t)column * in->tensor->channels];
        }
        sum += (int64_t)rows->weights[j] * part;
    }
    const int64_t rounded = (sum + (sum > 0 ? UNIT / 2 : -UNIT / 2)) / UNIT;
    return (int8_t)(rounded < INT8_MIN ? INT8_MIN : rounded > INT8_MAX ? INT8_MAX : rounded);
}

static void run(const tigris_kernel_call *call)
{
    const tigris_resample_params *params = call->params;
    const tigris_band *in = &call->inputs[0];
    const tigris_tensor_record *output = call->output->tensor;
    int8_t *to = tigris_int8_output(call);
    if (in->rows == 0) { /* only a damaged row map asks for nothing */
        memset(to, 0, (uint32_t)call->output->rows * tigris_row_bytes(output));
        return;
    }
    for (int32_t y = call->output->first; y < call->output->first + call->output->rows; y++) {
        const row_taps rows = {in, int16_data(call, params->row_weight) + (uint32_t)y * params->row_taps,
                               tigris_int32_data(call, params->row_start)[y], params->row_taps};
        for (uint32_t x = 0; x < output->width; x++) {
            const column_taps columns = {int16_data(call, params->column_weight) + x * params->column_taps,
                                         tigris_int32_data(call, params->column_start)[x], params->column_taps};
            for (uint32_t channel = 0; channel < output->channels; channel++) {
                *to++ = interpolate(&rows, &columns, channel);
            }
        }
    }
}

static tigris_status check(const tigris_check_call *call)
{
    return tigris_check_resample(call, sizeof(int16_t));
}

const tigris_kernel_entry tigris_resample_int8 = {TIGRIS_OP_KIND_RESAMPLE, TIGRIS_DTYPE_INT8,
                                                  sizeof(tigris_resample_params), run, check};
