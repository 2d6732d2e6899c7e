#include "check.h"

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
    return call->op->images == call->output->batch;
}

static int32_t floor_row(int32_t row, uint16_t denominator)
{
    return row >= 0 ? row / denominator : -((-row + denominator - 1) / denominator);
}

int tigris_check_all_rows(const tigris_check_call *call, uint32_t index)
{
    const tigris_operand_record *operand = &call->operands[index];
    return (operand->numerator == 0U || call->output->height == 1U) &&
           floor_row(operand->first, operand->denominator) <= 0 &&
           floor_row(operand->last, operand->denominator) >= (int32_t)call->inputs[index]->height - 1;
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
    /* Called once for the whole batch, both must have one; called per image, one image serves all. */
    return input->width == output->width && input->channels == output->channels &&
           (call->op->images > 1U || input->batch == output->batch) && tigris_check_same_rows(call, index);
}

int tigris_check_vectors(const tigris_check_call *call, uint32_t rows, uint32_t in, uint32_t out)
{
    const tigris_tensor_record *input = call->inputs[0];
    const tigris_tensor_record *output = call->output;
    const uint32_t output_row = tigris_row_elements(output);
    if (rows == 0U || in == 0U || out == 0U || output_row % out != 0U ||
        (uint64_t)rows * in != tigris_call_elements(call, input) ||
        (uint64_t)rows * out != tigris_call_elements(call, output)) {
        return 0;
    }
    if (tigris_check_all_rows(call, 0U)) {
        return 1;
    }
    const uint64_t input_row = (uint64_t)(output_row / out) * in;
    return input_row == tigris_row_elements(input) && tigris_check_same_rows(call, 0U);
}

static int is_window_axis(tigris_window_axis axis, uint32_t output_extent)
{
    if (axis.kernel == 0U || axis.stride == 0U || axis.dilation == 0U) {
        return 0;
    }
    const uint64_t reach =
        (uint64_t)(axis.kernel - 1U) * axis.dilation + (uint64_t)(output_extent - 1U) * axis.stride;
    return reach <= INT32_MAX / 2;
}

int tigris_check_window(const tigris_check_call *call, tigris_window_axis rows, tigris_window_axis columns)
{
    const tigris_operand_record *operand = &call->operands[0];
    const tigris_tensor_record *output = call->output;
    return is_window_axis(rows, output->height) && is_window_axis(columns, output->width) &&
           operand->denominator == 1U && (operand->numerator == rows.stride || output->height == 1U) &&
           operand->last - operand->first == (int32_t)((rows.kernel - 1U) * rows.dilation);
}

int tigris_check_data(const tigris_check_call *call, uint32_t offset, uint64_t count, uint32_t element_bytes)
{
    const uint64_t room = offset <= call->weights_bytes ? call->weights_bytes - offset : 0U;
    return offset % TIGRIS_SECTION_ALIGNMENT == 0U && count <= INT32_MAX && count * element_bytes <= room;
}

int tigris_check_multiplier(int32_t multiplier, int32_t shift)
{
    return multiplier >= 0 && shift >= -31 && shift <= 31;
}

int tigris_check_requantise(const tigris_check_call *call, uint32_t multiplier, uint32_t shift, uint32_t count)
{
    if (!tigris_check_data(call, multiplier, count, sizeof(int32_t)) || !tigris_check_data(call, shift, count, 1U)) {
        return 0;
    }
    if (call->weights == NULL) {
        return 1;
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
    return tigris_takes_batch_whole(call->op, tensor) ? tensor->batch * image : image;
}
