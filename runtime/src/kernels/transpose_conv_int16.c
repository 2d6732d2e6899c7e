/* Transposed Conv2D of int16 with weights of int8, groups allowed: as of int8, with sums of 64 bits. */
#include "int16.h"
#include "tigris_kernels.h"
#include "transpose_conv.h"

typedef struct conv {
    const tigris_kernel_call *call;
    const tigris_transpose_conv_int16_params *params;
    int32_t group_inputs;
    int32_t group_outputs;
} conv;

/* Sum of the products of one output element. */
static int64_t sum_taps(const conv *c, const tigris_transpose_taps *rows, const tigris_transpose_taps *columns,
                        int32_t channel)
{
    const tigris_transpose_conv_int16_params *params = c->params;
    const tigris_band *in = &c->call->inputs[0];
    const int8_t *weights = tigris_int8_data(c->call, params->weights);
    const uint32_t first_input = (uint32_t)(channel / c->group_outputs * c->group_inputs);
    const int32_t kernel_size = params->kernel_height * params->kernel_width;
    uint64_t sum = tigris_int64_at(c->call, params->bias, (uint32_t)channel);
    for (int32_t j = 0; j < rows->count; j++) {
        const int16_t *row = tigris_int16_row(in, rows->source - j * rows->source_step) + first_input;
        const int32_t kernel_row = (rows->tap + j * rows->tap_step) * params->kernel_width;
        for (int32_t i = 0; i < columns->count; i++) {
            const int16_t *input = row + (uint32_t)(columns->source - i * columns->source_step) * in->tensor->channels;
            const int32_t tap = channel * kernel_size + kernel_row + columns->tap + i * columns->tap_step;
            sum += (uint64_t)tigris_dot_int16(input, weights + tap * c->group_inputs, c->group_inputs);
        }
    }
    return (int64_t)sum;
}

static void run(const tigris_kernel_call *call)
{
    const tigris_transpose_conv_int16_params *params = call->params;
    const tigris_band *in = &call->inputs[0];
    const tigris_band *out = call->output;
    const int32_t channels = (int32_t)out->tensor->channels;
    const conv c = {call, params, (int32_t)in->tensor->channels / params->groups, channels / params->groups};
    const int32_t *multiplier = tigris_int32_data(call, params->multiplier);
    const int8_t *shift = tigris_int8_data(call, params->shift);
    const tigris_sum_stage stage = {params->sum_bits, params->activation_min, params->activation_max};
    const tigris_transpose_axis rows = {params->kernel_height, params->stride_height, params->dilation_height,
                                        in->first, in->first + in->rows};
    const tigris_transpose_axis columns = {params->kernel_width, params->stride_width, params->dilation_width, 0,
                                           (int32_t)in->tensor->width};
    int16_t *to = tigris_int16_output(call);
    for (int32_t y = out->first; y < out->first + out->rows; y++) {
        const tigris_transpose_taps row_taps = tigris_taps_of(&rows, y + params->pad_top);
        for (int32_t x = 0; x < (int32_t)out->tensor->width; x++) {
            const tigris_transpose_taps column_taps = tigris_taps_of(&columns, x + params->pad_left);
            for (int32_t channel = 0; channel < channels; channel++) {
                const int64_t sum = sum_taps(&c, &row_taps, &column_taps, channel);
                *to++ = tigris_to_int16(sum, multiplier[channel], shift[channel], &stage);
            }
        }
    }
}

static tigris_status check(const tigris_check_call *call)
{
    const tigris_transpose_conv_int16_params *params = call->params;
    const tigris_sum_stage stage = {params->sum_bits, params->activation_min, params->activation_max};
    return tigris_check_result(
        tigris_check_sums(call, &stage, params->bias, params->multiplier, params->shift, call->output->channels) &&
        tigris_check_per_image(call) &&
        tigris_check_transpose_axis(params->kernel_height, params->stride_height, params->dilation_height,
                                    params->pad_top, call->output->height) &&
        tigris_check_transpose_axis(params->kernel_width, params->stride_width, params->dilation_width,
                                    params->pad_left, call->output->width) &&
        tigris_check_transpose_channels(call, params->groups,
                                        (uint32_t)params->kernel_height * params->kernel_width, params->weights,
                                        sizeof(int8_t)));
}

const tigris_kernel_entry tigris_transpose_conv_int16 = {
    TIGRIS_OP_KIND_TRANSPOSE_CONV, TIGRIS_DTYPE_INT16, TIGRIS_PACKING_PORTABLE,
    sizeof(tigris_transpose_conv_int16_params), run, check};
