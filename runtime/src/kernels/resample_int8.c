/* RESAMPLE, int8: weights with 10 fraction bits in each direction, one rounding at the end, as in TensorFlow Lite's
 * integer ResizeBilinear. Sums fit 64 bits with any weights: 2^12 taps of 2^37. */
#include <string.h>

#include "resample.h"
#include "scale_int8.h"
#include "tigris_kernels.h"

#define UNIT_BITS 20
#define UNIT (INT64_C(1) << UNIT_BITS)
#define MOST_TAPS 16U             /* most taps of a pixel on the fast path: cubic interpolation */
#define MOST_WEIGHT (15U << 20)   /* most total weight on the fast path: 2^7 times it, and half a unit, fit 32 bits */

static const int16_t *int16_data(const tigris_kernel_call *call, uint32_t offset)
{
    return (const int16_t *)(const void *)(tigris_weights(call) + offset);
}

static int8_t interpolate(const tigris_resample_taps *rows, const tigris_resample_taps *columns, uint32_t channel)
{
    const tigris_band *in = rows->in;
    const int16_t *row_weights = rows->weights, *column_weights = columns->weights;
    int64_t sum = 0;
    for (uint32_t j = 0; j < rows->count; j++) {
        if (row_weights[j] == 0) { /* a row without weight may lie outside the band */
            continue;
        }
        const int8_t *row = tigris_int8_row(in, tigris_resample_row(rows, j)) + channel;
        int32_t part = 0;
        for (uint32_t i = 0; i < columns->count; i++) {
            const int32_t column = tigris_resample_column(columns, i);
            part += column_weights[i] * row[(uint32_t)column * tigris_tensor_of(in)->channels];
        }
        sum += (int64_t)row_weights[j] * part;
    }
    const int64_t rounded = (sum + (sum > 0 ? UNIT / 2 : -UNIT / 2)) / UNIT;
    return (int8_t)(rounded < INT8_MIN ? INT8_MIN : rounded > INT8_MAX ? INT8_MAX : rounded);
}

/* ---- the fast path: few taps, whose sums fit 32 bits ---- */

/* One tap of an output pixel. */
typedef struct pixel_tap {
    uint32_t offset; /* elements from the band's start to channel 0 */
    int32_t weight;
} pixel_tap;

typedef struct pixel_taps {
    uint32_t count;
    pixel_tap tap[MOST_TAPS];
} pixel_taps;

/* Collects the taps that have a weight. Returns 0 if they are too many or their sums might not fit 32 bits. */
static int gather_taps(pixel_taps *taps, const tigris_resample_taps *rows, const tigris_resample_taps *columns)
{
    const tigris_band *in = rows->in;
    const int16_t *row_weights = rows->weights, *column_weights = columns->weights;
    const uint32_t channels = tigris_tensor_of(in)->channels;
    uint32_t total = 0U;
    taps->count = 0U;
    for (uint32_t j = 0; j < rows->count; j++) {
        const int32_t row = tigris_resample_row(rows, j) - tigris_first_row(in);
        for (uint32_t i = 0; i < columns->count && row_weights[j] != 0; i++) {
            const int32_t weight = row_weights[j] * column_weights[i];
            if (weight == 0) {
                continue;
            }
            const int32_t column = tigris_resample_column(columns, i);
            total += (uint32_t)(weight < 0 ? -weight : weight);
            if (taps->count == MOST_TAPS || total > MOST_WEIGHT) {
                return 0;
            }
            taps->tap[taps->count].offset = ((uint32_t)row * tigris_tensor_of(in)->width + (uint32_t)column) * channels;
            taps->tap[taps->count++].weight = weight;
        }
    }
    return 1;
}

/* sum / UNIT, halves away from zero, clamped. */
static inline int8_t rounded(int32_t sum)
{
    const int32_t half = (int32_t)(UNIT / 2) - (sum < 0 ? 1 : 0);
    return (int8_t)tigris_shift_20_to_int8(sum + half);
}

static int32_t sum_one(const pixel_taps *taps, const int8_t *data)
{
    int32_t sum = 0;
    for (uint32_t i = 0; i < taps->count; i++) {
        sum += taps->tap[i].weight * data[taps->tap[i].offset];
    }
    return sum;
}

/* All channels of one output pixel, four at a time. */
static void run_pixel(const pixel_taps *taps, const int8_t *data, uint32_t channels, int8_t *to)
{
    const pixel_tap *const end = taps->tap + taps->count;
    uint32_t channel = 0;
    for (; channel + 4U <= channels; channel += 4U) {
        int32_t a = 0, b = 0, c = 0, d = 0;
        for (const pixel_tap *of = taps->tap; of != end; of++) {
            const int8_t *tap = data + of->offset;
            a += of->weight * tap[0];
            b += of->weight * tap[1];
            c += of->weight * tap[2];
            d += of->weight * tap[3];
        }
        to[0] = rounded(a);
        to[1] = rounded(b);
        to[2] = rounded(c);
        to[3] = rounded(d);
        to += 4;
        data += 4;
    }
    for (; channel < channels; channel++) {
        *to++ = rounded(sum_one(taps, data++));
    }
}

static void run(const tigris_kernel_call *call)
{
    const tigris_resample_params *params = tigris_params(call);
    const tigris_band *in = tigris_input_band(call, 0);
    const tigris_tensor_record *output = tigris_output_tensor(call);
    int8_t *to = tigris_int8_output(call);
    if (tigris_row_count(in) == 0) { /* only with a damaged row map */
        memset(to, 0, (uint32_t)tigris_output_rows(call) * tigris_row_bytes(output));
        return;
    }
    pixel_taps taps;
    for (int32_t y = tigris_output_first(call); y < tigris_output_first(call) + tigris_output_rows(call); y++) {
        const tigris_resample_taps rows = {in, int16_data(call, params->row_weight) + (uint32_t)y * params->row_taps,
                                           tigris_int32_data(call, params->row_start)[y], params->row_taps};
        for (uint32_t x = 0; x < output->width; x++) {
            const tigris_resample_taps columns = {in, int16_data(call, params->column_weight) + x * params->column_taps,
                                                  tigris_int32_data(call, params->column_start)[x],
                                                  params->column_taps};
            if (gather_taps(&taps, &rows, &columns)) {
                run_pixel(&taps, (const int8_t *)(const void *)in->data, output->channels, to);
            } else {
                for (uint32_t channel = 0; channel < output->channels; channel++) {
                    to[channel] = interpolate(&rows, &columns, channel);
                }
            }
            to += output->channels;
        }
    }
}

static tigris_status check(const tigris_check_call *call)
{
    return tigris_check_resample(call, sizeof(int16_t));
}

TIGRIS_KERNEL_ENTRY(tigris_resample_int8, RESAMPLE, INT8, tigris_resample_params, run, check);
