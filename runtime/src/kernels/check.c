#include "check.h"

#include "../band.h"
#include "window.h"

/* Most constants that one bind or run checks. Real plans check each channel once; operators of a hostile plan could
 * share constants and have them checked for hours. */
#define MOST_CHECKS (UINT32_C(1) << 22)

/* Rows and columns between the first and the last position that a window reads. */
#define LARGEST_REACH (INT32_MAX / 2)

int tigris_check_types(const tigris_check_call *call, uint32_t inputs, uint32_t input_dtype, uint32_t output_dtype)
{
    if (call->op->operand_count != inputs || call->output->dtype != output_dtype) {
        return 0;
    }
    for (uint32_t i = 0; i < inputs; i++) {
        if (call->inputs[i]->dtype != input_dtype) {
            return 0;
        }
    }
    return 1;
}

int tigris_check_per_image(const tigris_check_call *call)
{
    for (uint32_t i = 0; i < call->op->operand_count; i++) {
        if (tigris_is_whole_batch(call->op, call->inputs[i])) {
            return 0;
        }
    }
    return call->op->images == call->output->batch;
}

int tigris_check_all_rows(const tigris_check_call *call, uint32_t index)
{
    const tigris_operand_record *operand = &call->operands[index];
    const int32_t height = (int32_t)call->inputs[index]->height;
    tigris_band rows;
    tigris_operand_rows(operand, height, 0, 1, &rows);
    return (operand->numerator == 0U || call->output->height == 1U) && rows.rows == height;
}

int tigris_check_same_rows(const tigris_check_call *call, uint32_t index)
{
    const tigris_operand_record *operand = &call->operands[index];
    if (call->inputs[index]->height != call->output->height) {
        return 0;
    }
    const int same = operand->numerator == 1U && operand->denominator == 1U && operand->first == 0 &&
                     operand->last == 0;
    return same || tigris_check_all_rows(call, index);
}

int tigris_check_pointwise(const tigris_check_call *call, uint32_t index)
{
    const tigris_tensor_record *input = call->inputs[index];
    const tigris_tensor_record *output = call->output;
    /* A call for the whole batch needs equal batches; in calls per image, one image may serve all. */
    return input->width == output->width && input->channels == output->channels &&
           (call->op->images > 1U || input->batch == output->batch) && tigris_check_same_rows(call, index);
}

int tigris_check_vectors(const tigris_check_call *call, uint32_t rows, uint32_t in, uint32_t out)
{
    const tigris_tensor_record *input = call->inputs[0];
    const tigris_tensor_record *output = call->output;
    const uint32_t output_row = tigris_row_elements(output);
    /* No tensor is empty, so rows, in and out are not 0 behind this test. */
    if (tigris_multiply(rows, in) != tigris_call_elements(call, input) ||
        tigris_multiply(rows, out) != tigris_call_elements(call, output) || output_row % out != 0U) {
        return 0;
    }
    return tigris_check_all_rows(call, 0U) ||
           (tigris_multiply(output_row / out, in) == tigris_row_elements(input) && tigris_check_same_rows(call, 0U));
}

#define BEGINS_WITH_WINDOW(record)                                                                                     \
    TIGRIS_STATIC_ASSERT(offsetof(record, kernel_height) == offsetof(tigris_window_params, kernel) &&                  \
                             offsetof(record, stride_height) == offsetof(tigris_window_params, stride) &&              \
                             offsetof(record, dilation_height) == offsetof(tigris_window_params, dilation) &&          \
                             offsetof(record, pad_left) == offsetof(tigris_window_params, pad_left),                   \
                         record##_window)
BEGINS_WITH_WINDOW(tigris_conv_int8_params);
BEGINS_WITH_WINDOW(tigris_conv_int16_params);
BEGINS_WITH_WINDOW(tigris_conv_float_params);
BEGINS_WITH_WINDOW(tigris_pool_int8_params);
BEGINS_WITH_WINDOW(tigris_pool_float_params);

int tigris_check_window(const tigris_check_call *call)
{
    const tigris_window_params *window = call->params;
    const tigris_operand_record *operand = &call->operands[0];
    const uint32_t extent[2] = {call->output->height, call->output->width};
    for (uint32_t i = 0; i < 2U; i++) {
        if (window->kernel[i] == 0U || window->stride[i] == 0U || window->dilation[i] == 0U) {
            return 0;
        }
        const uint32_t span = (window->kernel[i] - 1U) * window->dilation[i];
        if (span > LARGEST_REACH || tigris_multiply(extent[i] - 1U, window->stride[i]) > LARGEST_REACH - span) {
            return 0;
        }
    }
    return operand->denominator == 1U && (operand->numerator == window->stride[0] || extent[0] == 1U) &&
           operand->last - operand->first == (window->kernel[0] - 1) * window->dilation[0];
}

int tigris_check_data(const tigris_check_call *call, uint32_t offset, uint32_t count, uint32_t element_bytes)
{
    const uint32_t bytes = tigris_multiply(count, element_bytes);
    return offset % TIGRIS_SECTION_ALIGNMENT == 0U && bytes <= INT32_MAX &&
           tigris_fits(offset, bytes, call->weights_bytes);
}

int tigris_check_multiplier(int32_t multiplier, int32_t shift)
{
    return multiplier >= 0 && shift >= -31 && shift <= 31;
}

int tigris_check_more(const tigris_check_call *call, uint32_t count)
{
    if (count > MOST_CHECKS - call->session->checked_multipliers) {
        return 0;
    }
    call->session->checked_multipliers += count;
    return 1;
}

int tigris_check_requantise(const tigris_check_call *call, uint32_t multiplier, uint32_t shift, uint32_t count)
{
    if (!tigris_check_data(call, multiplier, count, sizeof(int32_t)) || !tigris_check_data(call, shift, count, 1U)) {
        return 0;
    }
    if (call->weights == NULL) {
        return 1;
    }
    if (!tigris_check_more(call, count)) {
        return 0;
    }
    const int32_t *multipliers = (const int32_t *)(const void *)(call->weights + multiplier);
    const int8_t *shifts = (const int8_t *)(const void *)(call->weights + shift);
    for (uint32_t i = 0; i < count; i++) {
        if (!tigris_check_multiplier(multipliers[i], shifts[i])) {
            return 0;
        }
    }
    return 1;
}

int tigris_check_int8(int32_t value)
{
    return value >= INT8_MIN && value <= INT8_MAX;
}

int tigris_check_range(int32_t low, int32_t high)
{
    return low <= high && tigris_check_int8(low) && tigris_check_int8(high);
}

uint32_t tigris_call_elements(const tigris_check_call *call, const tigris_tensor_record *tensor)
{
    const uint32_t image = tensor->height * tigris_row_elements(tensor);
    return tigris_is_whole_batch(call->op, tensor) ? tensor->batch * image : image;
}
