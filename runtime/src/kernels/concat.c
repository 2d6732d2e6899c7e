/* CONCAT: inputs side by side along rows, columns or channels. An input that shares the output's memory is not
 * copied. */
#include "../move.h"
#include "access.h"
#include "check.h"
#include "tigris_kernels.h"

enum { AXIS_ROWS, AXIS_COLUMNS, AXIS_CHANNELS };

/* Copies the rows of `in` that fall into the output band; `start` is the output row of its row 0. */
static void copy_rows(const tigris_kernel_call *call, const tigris_band *in, int32_t start)
{
    const tigris_band *out = tigris_output_band(call);
    const int32_t in_first = start + tigris_first_row(in);
    const int32_t in_end = in_first + tigris_row_count(in);
    const int32_t out_end = tigris_first_row(out) + tigris_row_count(out);
    const int32_t first = in_first > tigris_first_row(out) ? in_first : tigris_first_row(out);
    const int32_t end = in_end < out_end ? in_end : out_end;
    if (first < end) {
        const uint32_t row_bytes = tigris_row_bytes(tigris_tensor_of(out));
        uint8_t *to = tigris_output_data(call) + (uint32_t)(first - tigris_first_row(out)) * row_bytes;
        const uint8_t *from = tigris_band_row(in, first - start);
        if (from != to) {
            tigris_move(to, from, (uint32_t)(end - first) * row_bytes);
        }
    }
}

static void concat_rows(const tigris_kernel_call *call)
{
    int32_t start = 0;
    for (uint32_t i = 0; i < tigris_input_count(call); i++) {
        copy_rows(call, tigris_input_band(call, i), start);
        start += (int32_t)tigris_input_tensor(call, i)->height;
    }
}

/* Contiguous bytes of one input: a row's if the axis is columns, a pixel's if it is channels. */
static uint32_t piece_bytes(const tigris_tensor_record *tensor, uint32_t axis)
{
    return axis == AXIS_COLUMNS ? tigris_row_bytes(tensor) : tensor->channels * tigris_dtype_bytes(tensor->dtype);
}

static void concat_pieces(const tigris_kernel_call *call, uint32_t axis)
{
    const tigris_band *out = tigris_output_band(call);
    const uint32_t step = piece_bytes(tigris_tensor_of(out), axis);
    const uint32_t pieces =
        (uint32_t)tigris_row_count(out) * (axis == AXIS_COLUMNS ? 1U : tigris_tensor_of(out)->width);
    uint32_t offset = 0U;
    for (uint32_t i = 0; i < tigris_input_count(call); i++) {
        const uint32_t bytes = piece_bytes(tigris_input_tensor(call, i), axis);
        const uint8_t *from = tigris_band_row(tigris_input_band(call, i), tigris_first_row(out));
        uint8_t *to = tigris_output_data(call) + offset;
        for (uint32_t piece = from == to ? pieces : 0U; piece < pieces; piece++) {
            tigris_move(to, from, bytes);
            from += bytes;
            to += step;
        }
        offset += bytes;
    }
}

static void run(const tigris_kernel_call *call)
{
    const tigris_concat_params *params = tigris_params(call);
    if (params->axis == AXIS_ROWS) {
        concat_rows(call);
    } else {
        concat_pieces(call, params->axis);
    }
}

static uint32_t extent(const tigris_tensor_record *tensor, uint32_t axis)
{
    return axis == AXIS_ROWS ? tensor->height : axis == AXIS_COLUMNS ? tensor->width : tensor->channels;
}

/* The row map of input `index` puts its row 0 at output row `start`. */
static int is_row_part(const tigris_check_call *call, uint32_t index, uint64_t start)
{
    const tigris_operand_record *rows = &call->operands[index];
    const int shifted = rows->numerator == 1U && rows->denominator == 1U && rows->first == rows->last &&
                        (int64_t)rows->first == -(int64_t)start;
    return shifted || tigris_check_all_rows(call, index);
}

static tigris_status check(const tigris_check_call *call)
{
    const tigris_concat_params *params = call->params;
    const uint32_t dtype = call->op->dtype;
    if (params->axis > AXIS_CHANNELS || !tigris_check_per_image(call) ||
        !tigris_check_types(call, call->op->operand_count, dtype, dtype)) {
        return TIGRIS_ERR_PARAMS;
    }
    uint64_t sum = 0U;
    for (uint32_t i = 0; i < call->op->operand_count; i++) {
        const tigris_tensor_record *input = call->inputs[i];
        for (uint32_t axis = AXIS_ROWS; axis <= AXIS_CHANNELS; axis++) {
            if (axis != params->axis && extent(input, axis) != extent(call->output, axis)) {
                return TIGRIS_ERR_PARAMS;
            }
        }
        if (!(params->axis == AXIS_ROWS ? is_row_part(call, i, sum) : tigris_check_same_rows(call, i))) {
            return TIGRIS_ERR_PARAMS;
        }
        sum += extent(input, params->axis);
    }
    return tigris_check_result(sum == extent(call->output, params->axis));
}

TIGRIS_KERNEL_ENTRY(tigris_concat_int8, CONCAT, INT8, tigris_concat_params, run, check);
TIGRIS_KERNEL_ENTRY(tigris_concat_int16, CONCAT, INT16, tigris_concat_params, run, check);
TIGRIS_KERNEL_ENTRY(tigris_concat_float, CONCAT, FLOAT32, tigris_concat_params, run, check);
