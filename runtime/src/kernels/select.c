/* SELECT: each output row, column and channel is one of the input's or a fill value. It serves slices, padding, tiling,
 * flips, constant gathers and nearest-neighbour resampling. Indices in RAM are not trusted: rows that the band does not
 * hold count as outside. */
#include <string.h>

#include "../move.h"
#include "access.h"
#include "check.h"
#include "copy.h"
#include "tigris_kernels.h"

#define NO_TABLE UINT32_MAX

enum { ROWS, COLUMNS, CHANNELS, AXES };

/* The input index of each output index on one axis. */
typedef struct selection {
    const int32_t *table; /* NULL without one */
    int32_t numerator;
    int32_t denominator;
    int32_t first;
    int32_t low; /* indices in [low, end) exist */
    int32_t end;
} selection;

typedef struct selector {
    selection axes[AXES];
    const tigris_band *in;
    const tigris_tensor_record *output;
    uint32_t element_bytes;
    uint32_t fill;
} selector;

static int32_t floor_divide(int32_t a, int32_t b)
{
    const int32_t quotient = a / b;
    return quotient - (a % b < 0 ? 1 : 0);
}

/* The input's index, or -1. */
static int32_t selected(const selection *axis, int32_t index)
{
    const int32_t source = axis->table != NULL
                               ? axis->table[index]
                               : floor_divide(index * axis->numerator + axis->first, axis->denominator);
    return source >= axis->low && source < axis->end ? source : -1;
}

static uint32_t table_of(const tigris_select_params *params, uint32_t axis)
{
    return axis == ROWS ? params->row_table : axis == COLUMNS ? params->column_table : params->channel_table;
}

static selection unpack_axis(const tigris_kernel_call *call, uint32_t axis, int32_t low, int32_t end)
{
    const tigris_select_params *params = tigris_params(call);
    const uint32_t table = table_of(params, axis);
    const selection result = {table == NO_TABLE ? NULL : tigris_int32_data(call, table), params->numerator[axis],
                              params->denominator[axis], params->first[axis], low, end};
    return result;
}

/* Each index selects itself. */
static int is_identity(const selection *axis, uint32_t extent)
{
    return axis->table == NULL && axis->numerator == 1 && axis->denominator == 1 && axis->first == 0 &&
           axis->end == (int32_t)extent;
}

static void fill_elements(const selector *s, uint8_t *to, uint32_t elements)
{
    if (s->element_bytes == 1U) {
        memset(to, (int)(s->fill & 0xFFU), elements);
        return;
    }
    for (uint32_t i = 0; i < elements; i++) {
        memcpy(to, &s->fill, s->element_bytes);
        to += s->element_bytes;
    }
}

/* The number of channels from `channel` on whose input channels follow each other from `first` on, or are all
 * outside. */
static uint32_t run_length(const selection *axis, uint32_t channel, uint32_t channels, int32_t first)
{
    const uint32_t begin = channel;
    int32_t next = first;
    if (first >= 0 && axis->table == NULL && axis->numerator == 1 && axis->denominator == 1) {
        const uint32_t inside = (uint32_t)(axis->end - first);
        return inside < channels - channel ? inside : channels - channel;
    }
    do {
        channel++;
        next += first < 0 ? 0 : 1;
    } while (channel < channels && selected(axis, (int32_t)channel) == next);
    return channel - begin;
}

/* `bytes` of each pixel of a row, from input byte `first` of it on: all columns select themselves. */
static void select_bytes(const selector *s, const uint8_t *row, uint8_t *to, uint32_t first, uint32_t bytes)
{
    const uint32_t from_step = tigris_tensor_of(s->in)->channels * s->element_bytes;
    const uint32_t to_step = s->output->channels * s->element_bytes;
    const uint8_t *from = row + first;
    uint32_t column = from == to ? 0U : s->output->width; /* a slice of a vector may share the input's memory */
    for (; bytes == 1U && column != 0U; column--) {
        *to = *from;
        from += from_step;
        to += to_step;
    }
    for (; column != 0U; column--) {
        tigris_copy(to, from, bytes);
        from += from_step;
        to += to_step;
    }
}

/* Writes `elements` channels of each pixel of a row, starting at `to`, from input channel `first`; -1: outside. */
static void select_run(const selector *s, const uint8_t *row, uint8_t *to, uint32_t elements, int32_t first)
{
    const uint32_t pixel_bytes = tigris_tensor_of(s->in)->channels * s->element_bytes;
    const uint32_t bytes = elements * s->element_bytes;
    const uint32_t step = s->output->channels * s->element_bytes;
    for (uint32_t column = 0; column < s->output->width; column++) {
        const int32_t from = first < 0 ? -1 : selected(&s->axes[COLUMNS], (int32_t)column);
        if (from < 0) {
            fill_elements(s, to, elements);
        } else {
            tigris_copy(to, row + (uint32_t)from * pixel_bytes + (uint32_t)first * s->element_bytes, bytes);
        }
        to += step;
    }
}

static void select_pixels(const selector *s, const uint8_t *row, uint8_t *to)
{
    const int same_columns = is_identity(&s->axes[COLUMNS], s->output->width);
    for (uint32_t channel = 0; channel < s->output->channels;) {
        const int32_t first = selected(&s->axes[CHANNELS], (int32_t)channel);
        const uint32_t elements = run_length(&s->axes[CHANNELS], channel, s->output->channels, first);
        if (first >= 0 && same_columns) {
            select_bytes(s, row, to, (uint32_t)first * s->element_bytes, elements * s->element_bytes);
        } else {
            select_run(s, row, to, elements, first);
        }
        to += elements * s->element_bytes;
        channel += elements;
    }
}

static void run(const tigris_kernel_call *call)
{
    const tigris_select_params *params = tigris_params(call);
    const tigris_band *in = tigris_input_band(call, 0);
    const tigris_tensor_record *output = tigris_output_tensor(call);
    const selector s = {{unpack_axis(call, ROWS, tigris_first_row(in), tigris_first_row(in) + tigris_row_count(in)),
                         unpack_axis(call, COLUMNS, 0, (int32_t)tigris_tensor_of(in)->width),
                         unpack_axis(call, CHANNELS, 0, (int32_t)tigris_tensor_of(in)->channels)},
                        in,
                        output,
                        tigris_dtype_bytes(output->dtype),
                        params->fill};
    const int whole_rows =
        is_identity(&s.axes[COLUMNS], output->width) && is_identity(&s.axes[CHANNELS], output->channels);
    uint8_t *to = tigris_output_data(call);
    for (int32_t row = 0; row < tigris_output_rows(call); row++) {
        const int32_t from = selected(&s.axes[ROWS], tigris_output_first(call) + row);
        if (from < 0) {
            fill_elements(&s, to, tigris_row_elements(output));
        } else if (whole_rows && tigris_band_row(in, from) != to) {
            tigris_move(to, tigris_band_row(in, from), tigris_row_bytes(output));
        } else if (!whole_rows) {
            select_pixels(&s, tigris_band_row(in, from), to);
        }
        to += tigris_row_bytes(output);
    }
}

static int is_axis(const tigris_check_call *call, uint32_t axis, uint32_t extent)
{
    const tigris_select_params *params = call->params;
    const uint32_t table = table_of(params, axis);
    if (table != NO_TABLE) {
        return tigris_check_data(call, table, extent, sizeof(int32_t));
    }
    const int64_t reach = (int64_t)(extent - 1U) * params->numerator[axis];
    const int64_t last = reach + params->first[axis];
    return params->denominator[axis] >= 1 && reach >= -INT32_MAX && reach <= INT32_MAX && last >= -INT32_MAX &&
           last <= INT32_MAX;
}

static tigris_status check(const tigris_check_call *call)
{
    const uint32_t dtype = call->op->dtype;
    return tigris_check_result(tigris_check_types(call, 1U, dtype, dtype) && tigris_check_per_image(call) &&
                               is_axis(call, ROWS, call->output->height) &&
                               is_axis(call, COLUMNS, call->output->width) &&
                               is_axis(call, CHANNELS, call->output->channels));
}

TIGRIS_KERNEL_ENTRY(tigris_select_int8, SELECT, INT8, tigris_select_params, run, check);
TIGRIS_KERNEL_ENTRY(tigris_select_int16, SELECT, INT16, tigris_select_params, run, check);
TIGRIS_KERNEL_ENTRY(tigris_select_float, SELECT, FLOAT32, tigris_select_params, run, check);
