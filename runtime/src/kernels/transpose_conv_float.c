/* Transposed Conv2D, float32, groups allowed. Every output element gathers the inputs that reach it, so bands need no
 * accumulators between them. */
#include "tigris_kernels.h"
#include "transpose_conv.h"

typedef struct conv {
    const tigris_transpose_conv_float_params *params;
    const tigris_band *in;
    const float *weights;
    int32_t group_inputs;
    int32_t group_outputs;
} conv;

/* Sum of the products of one output element. */
static float sum_taps(const conv *c, const tigris_transpose_taps *rows, const tigris_transpose_taps *columns,
                     int32_t channel, float sum)
{
    const tigris_transpose_conv_float_params *params = c->params;
    const uint32_t channels = c->in->tensor->channels;
    const uint32_t first_input = (uint32_t)(channel / c->group_outputs * c->group_inputs);
    const int32_t kernel_size = params->kernel_height * params->kernel_width;
    for (int32_t j = 0; j < rows->count; j++) {
        const float *row = tigris_float_row(c->in, rows->source - j * rows->source_step) + first_input;
        const int32_t kernel_row = (rows->tap + j * rows->tap_step) * params->kernel_width;
        for (int32_t i = 0; i < columns->count; i++) {
            const float *input = row + (uint32_t)(columns->source - i * columns->source_step) * channels;
            const int32_t tap = channel * kernel_size + kernel_row + columns->tap + i * columns->tap_step;
            const float *weights = c->weights + tap * c->group_inputs;
            for (int32_t k = 0; k < c->group_inputs; k++) {
                sum += input[k] * weights[k];
            }
        }
    }
    return sum;
}

static void run(const tigris_kernel_call *call)
{
    const tigris_transpose_conv_float_params *params = call->params;
    const tigris_band *in = &call->inputs[0];
    const tigris_band *out = call->output;
    const int32_t channels = (int32_t)out->tensor->channels;
    const conv c = {params, in, tigris_float_data(call, params->weights),
                    (int32_t)(in->tensor->channels / params->groups), channels / (int32_t)params->groups};
    const float *bias = tigris_float_data(call, params->bias);
    const tigris_transpose_axis rows = {params->kernel_height, params->stride_height, params->dilation_height,
                                        in->first, in->first + in->rows};
    const tigris_transpose_axis columns = {params->kernel_width, params->stride_width, params->dilation_width, 0,
                                           (int32_t)in->tensor->width};
    float *to = tigris_float_output(call);
    for (int32_t y = out->first; y < out->first + out->rows; y++) {
        const tigris_transpose_taps row_taps = tigris_taps_of(&rows, y + params->pad_top);
        for (int32_t x = 0; x < (int32_t)out->tensor->width; x++) {
            const tigris_transpose_taps column_taps = tigris_taps_of(&columns, x + params->pad_left);
            for (int32_t channel = 0; channel < channels; channel++) {
                const float sum = sum_taps(&c, &row_taps, &column_taps, channel, bias[channel]);
                *to++ = tigris_clamp_float(sum, params->activation_min, params->activation_max);
            }
        }
    }
}

static tigris_status check(const tigris_check_call *call)
{
    const tigris_transpose_conv_float_params *params = call->params;
    const uint32_t outputs = call->output->channels;
    return tigris_check_result(
        tigris_check_types(call, 1U, TIGRIS_DTYPE_FLOAT32, TIGRIS_DTYPE_FLOAT32) && tigris_check_per_image(call) &&
        tigris_check_transpose_axis(params->kernel_height, params->stride_height, params->dilation_height,
                                    params->pad_top, call->output->height) &&
        tigris_check_transpose_axis(params->kernel_width, params->stride_width, params->dilation_width,
                                    params->pad_left, call->output->width) &&
        tigris_check_transpose_channels(call, params->groups,
                                        (uint32_t)params->kernel_height * params->kernel_width, params->weights,
                                        sizeof(float)) &&
        tigris_check_data(call, params->bias, outputs, sizeof(float)));
}

const tigris_kernel_entry tigris_transpose_conv_float = {
    TIGRIS_OP_KIND_TRANSPOSE_CONV, TIGRIS_DTYPE_FLOAT32, TIGRIS_PACKING_PORTABLE,
    sizeof(tigris_transpose_conv_float_params), run, check};
