/* The checks of plain operators. */
#include "check.h"
#include "plain_int8.h"

int tigris_plain_scales_hold(const int32_t *multipliers, const int32_t *shifts, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        if (!tigris_check_multiplier(multipliers[i], shifts[i])) {
            return 0;
        }
    }
    return 1;
}

/* `count` Q0.31 multipliers and int32 shifts: inside the block, and within the ranges of requantise.h. */
static int is_requantise(const tigris_check_call *call, uint32_t multiplier, uint32_t shift, uint32_t count)
{
    if (!tigris_check_data(call, multiplier, count, sizeof(int32_t)) ||
        !tigris_check_data(call, shift, count, sizeof(int32_t))) {
        return 0;
    }
    return call->weights == NULL ||
           (tigris_check_more(call, count) &&
            tigris_plain_scales_hold((const int32_t *)(const void *)(call->weights + multiplier),
                                     (const int32_t *)(const void *)(call->weights + shift), count));
}

static int is_int8_call(const tigris_check_call *call, int32_t zero_point, int32_t low, int32_t high)
{
    return tigris_check_types(call, 1U, TIGRIS_DTYPE_INT8, TIGRIS_DTYPE_INT8) && tigris_check_int8(zero_point) &&
           tigris_check_range(low, high);
}

/* Whether an axis is as kernel libraries assume: less padding than a window reaches, windows that start inside, and no
 * room for one more window. `reach`: positions from a window's first tap to its last. Call after
 * tigris_check_window. */
static int is_usual_axis(uint32_t input, uint32_t output, uint32_t stride, uint32_t reach, uint32_t pad)
{
    const uint32_t last = (output - 1U) * stride;
    return pad <= reach && last < input + pad && input + pad <= last + stride + reach;
}

/* is_usual_axis for both axes; then every band has rows of the input. */
static int is_usual_window(const tigris_check_call *call)
{
    const tigris_conv_int8_params *params = call->params;
    const tigris_tensor_record *in = call->inputs[0];
    const tigris_tensor_record *out = call->output;
    const int32_t first = call->operands[0].first;
    return first <= 0 &&
           is_usual_axis(in->height, out->height, params->stride_height,
                         (params->kernel_height - 1U) * params->dilation_height, (uint32_t)-first) &&
           is_usual_axis(in->width, out->width, params->stride_width,
                         (params->kernel_width - 1U) * params->dilation_width, params->pad_left);
}

/* `depth`: input channels that one output channel reads. */
static int is_conv(const tigris_check_call *call, uint32_t depth)
{
    const tigris_conv_int8_params *params = call->params;
    const uint32_t outputs = call->output->channels;
    const uint32_t taps = tigris_multiply((uint32_t)params->kernel_height * params->kernel_width, depth);
    return tigris_check_per_image(call) && tigris_check_window(call) && is_usual_window(call) &&
           tigris_check_int8(params->input_zero_point) &&
           tigris_check_data(call, params->weights, tigris_multiply(taps, outputs), 1U) &&
           tigris_check_data(call, params->bias, outputs, sizeof(int32_t)) &&
           is_requantise(call, params->multiplier, params->shift, outputs);
}

tigris_status tigris_check_plain_conv(const tigris_check_call *call)
{
    const tigris_conv_int8_params *params = call->params;
    if (!is_int8_call(call, params->output_zero_point, params->activation_min, params->activation_max) ||
        params->groups == 0U) {
        return TIGRIS_ERR_PARAMS;
    }
    const uint32_t inputs = call->inputs[0]->channels;
    return tigris_check_result(inputs % params->groups == 0U && call->output->channels % params->groups == 0U &&
                               is_conv(call, inputs / params->groups));
}

tigris_status tigris_check_plain_depthwise_conv(const tigris_check_call *call)
{
    const tigris_conv_int8_params *params = call->params;
    if (!is_int8_call(call, params->output_zero_point, params->activation_min, params->activation_max)) {
        return TIGRIS_ERR_PARAMS;
    }
    return tigris_check_result(params->groups == 1U && call->output->channels % call->inputs[0]->channels == 0U &&
                               is_conv(call, 1U));
}

tigris_status tigris_check_plain_fully_connected(const tigris_check_call *call)
{
    const tigris_fully_connected_int8_params *params = call->params;
    const uint32_t weights = tigris_multiply(params->in_features, params->out_features);
    const uint32_t scales = params->requantise_step == 0U ? 1U : params->out_features;
    return tigris_check_result(
        is_int8_call(call, params->output_zero_point, params->activation_min, params->activation_max) &&
        tigris_check_vectors(call, params->rows, params->in_features, params->out_features) &&
        params->requantise_step <= 1U && tigris_check_data(call, params->weights, weights, 1U) &&
        tigris_check_data(call, params->bias, params->out_features, sizeof(int32_t)) &&
        is_requantise(call, params->multiplier, params->shift, scales));
}
