/* COPY: the input's bytes, unchanged: a range of rows, or the whole tensor in another shape; two int8 may become an
 * int16. Nothing is copied if input and output share memory. */
#include "../move.h"
#include "access.h"
#include "check.h"
#include "tigris_kernels.h"

static void run(const tigris_kernel_call *call)
{
    const tigris_band *in = tigris_input_band(call, 0);
    const tigris_band *out = tigris_output_band(call);
    const uint32_t row_bytes = tigris_row_bytes(tigris_tensor_of(out));
    const int same_rows =
        tigris_row_count(in) == tigris_row_count(out) && tigris_row_bytes(tigris_tensor_of(in)) == row_bytes;
    const uint8_t *from = in->data + (same_rows ? 0U : (uint32_t)tigris_first_row(out) * row_bytes);
    if (from != tigris_output_data(call)) {
        tigris_move(tigris_output_data(call), from, (uint32_t)tigris_row_count(out) * row_bytes);
    }
}

/* Output row r is input row r + first, all of them inside the input. */
static int is_row_range(const tigris_check_call *call)
{
    const tigris_operand_record *rows = &call->operands[0];
    const tigris_tensor_record *input = call->inputs[0];
    return rows->numerator == 1U && rows->denominator == 1U && rows->first == rows->last && rows->first >= 0 &&
           (uint32_t)rows->first + call->output->height <= input->height && tigris_check_per_image(call) &&
           tigris_row_bytes(input) == tigris_row_bytes(call->output);
}

static uint64_t call_bytes(const tigris_check_call *call, const tigris_tensor_record *tensor)
{
    return (uint64_t)tigris_call_elements(call, tensor) * tigris_dtype_bytes(tensor->dtype);
}

static int is_whole(const tigris_check_call *call)
{
    return tigris_check_all_rows(call, 0U) && call_bytes(call, call->inputs[0]) == call_bytes(call, call->output);
}

/* Input and output have one type, or two int8 each become one int16. */
static int are_types(const tigris_check_call *call)
{
    const uint32_t dtype = call->op->dtype;
    return tigris_check_types(call, 1U, dtype, dtype) ||
           (dtype == TIGRIS_DTYPE_INT8 && tigris_check_types(call, 1U, dtype, TIGRIS_DTYPE_INT16));
}

static tigris_status check(const tigris_check_call *call)
{
    const tigris_copy_params *params = call->params;
    return tigris_check_result(are_types(call) && params->bytes == call_bytes(call, call->output) &&
                               (is_whole(call) || is_row_range(call)));
}

TIGRIS_KERNEL_ENTRY(tigris_copy_int8, COPY, INT8, tigris_copy_params, run, check);
TIGRIS_KERNEL_ENTRY(tigris_copy_int16, COPY, INT16, tigris_copy_params, run, check);
TIGRIS_KERNEL_ENTRY(tigris_copy_float, COPY, FLOAT32, tigris_copy_params, run, check);
