/* Adapter of CMSIS-NN (github.com/ARM-software/CMSIS-NN, 7.0 and later) for plain operators.
 *
 * CMSIS-NN is bit-exact with TensorFlow Lite unless it is built with CMSIS_NN_USE_SINGLE_ROUNDING, which this file
 * refuses. */
#include "plain_ops.h"

#if defined(TIGRIS_CMSIS_NN)

#include "arm_nnfunctions.h"
#include "arm_nnsupportfunctions.h"

#if defined(CMSIS_NN_USE_SINGLE_ROUNDING)
#error "CMSIS-NN is built with CMSIS_NN_USE_SINGLE_ROUNDING: outputs would not be the host's; turn it off"
#endif

/* A convolution in CMSIS-NN's types. */
typedef struct cmsis_nn_conv {
    cmsis_nn_dims input;
    cmsis_nn_dims filter;
    cmsis_nn_dims bias;
    cmsis_nn_dims output;
    cmsis_nn_tile stride;
    cmsis_nn_tile padding;
    cmsis_nn_tile dilation;
    cmsis_nn_activation activation;
} cmsis_nn_conv;

static cmsis_nn_conv to_cmsis_nn(const tigris_plain_conv *conv)
{
    const tigris_conv_int8_params *params = conv->params;
    const int32_t inputs = (int32_t)conv->input->channels;
    const int32_t outputs = (int32_t)conv->output->channels;
    const int32_t depth = conv->depthwise ? outputs : inputs;
    const cmsis_nn_conv words = {
        {1, conv->input_rows, (int32_t)conv->input->width, inputs},
        {conv->depthwise ? 1 : outputs, params->kernel_height, params->kernel_width, depth},
        {1, 1, 1, outputs},
        {1, conv->output_rows, (int32_t)conv->output->width, outputs},
        {params->stride_width, params->stride_height},
        {params->pad_left, conv->pad_top},
        {params->dilation_width, params->dilation_height},
        {params->activation_min, params->activation_max}};
    return words;
}

static cmsis_nn_conv_params conv_params_of(const tigris_conv_int8_params *params, const cmsis_nn_conv *words)
{
    const cmsis_nn_conv_params result = {-params->input_zero_point, params->output_zero_point, words->stride,
                                         words->padding, words->dilation, words->activation};
    return result;
}

static cmsis_nn_dw_conv_params depthwise_params_of(const tigris_conv_int8_params *params, const cmsis_nn_conv *words)
{
    const int32_t inputs = words->input.c > 0 ? words->input.c : 1;
    const cmsis_nn_dw_conv_params result = {-params->input_zero_point, params->output_zero_point,
                                            words->output.c / inputs, words->stride, words->padding, words->dilation,
                                            words->activation};
    return result;
}

/* CMSIS-NN's own answer; a band with fewer rows needs no more. */
static int32_t conv_bytes(const tigris_plain_conv *conv)
{
    const cmsis_nn_conv words = to_cmsis_nn(conv);
    if (conv->depthwise) {
        const cmsis_nn_dw_conv_params params = depthwise_params_of(conv->params, &words);
        return arm_depthwise_conv_wrapper_s8_get_buffer_size(&params, &words.input, &words.filter, &words.output);
    }
    const cmsis_nn_conv_params params = conv_params_of(conv->params, &words);
    return arm_convolve_wrapper_s8_get_buffer_size(&params, &words.input, &words.filter, &words.output);
}

static cmsis_nn_dims weights_of(const tigris_fully_connected_int8_params *params)
{
    const cmsis_nn_dims filter = {(int32_t)params->in_features, 1, 1, (int32_t)params->out_features};
    return filter;
}

static int32_t fully_connected_bytes(const tigris_fully_connected_int8_params *params)
{
    const cmsis_nn_dims filter = weights_of(params);
    return arm_fully_connected_s8_get_buffer_size(&filter);
}

uint32_t tigris_cmsis_nn_scratch(const tigris_plan *plan, const tigris_backend *backend)
{
    static const tigris_plain_scratch bytes_of = {conv_bytes, fully_connected_bytes};
    return tigris_largest_plain_scratch(plan, backend, &bytes_of);
}

/* Casts const away: CMSIS-NN takes int32_t * and only reads it. */
static int32_t *unchanged(const int32_t *values)
{
    return (int32_t *)(uintptr_t)values;
}

/* Whether the convolution of one row, with MVE, gives the right outputs. It needs an input at least as wide as the
 * filter. It takes one column that no window reads for padding, and copies all columns but one for the first window that
 * reads padding on the right. */
static int is_row_supported(const tigris_plain_conv *conv)
{
    const tigris_conv_int8_params *params = conv->params;
    const int32_t read = ((int32_t)conv->output->width - 1) * params->stride_width + params->kernel_width;
    const int32_t right = read - params->pad_left - (int32_t)conv->input->width;
    return conv->input->width >= params->kernel_width && (right != -1 || params->pad_left != 0U) &&
           (right <= 0 || (right - 1) % params->stride_width == 0);
}

/* Whether CMSIS-NN's kernels stay inside the input and give the right outputs; they do not check it. Depthwise kernels
 * of width 3 support one column of padding on the right. */
static int is_supported(const tigris_plain_conv *conv)
{
    const tigris_conv_int8_params *params = conv->params;
    if (conv->depthwise) {
        return params->kernel_width != 3U || params->dilation_width != 1U || tigris_plain_pad_right(conv) <= 1;
    }
    return params->kernel_height != 1U || params->dilation_width != 1U || conv->input_rows != 1 ||
           is_row_supported(conv);
}

/* Runs the call; returns 0 if the library cannot. */
static int run_by_library(const tigris_kernel_call *call, int32_t depthwise)
{
    const tigris_conv_int8_params *params = call->params;
    const tigris_plain_conv conv = tigris_plain_conv_of(call, depthwise);
    const cmsis_nn_conv words = to_cmsis_nn(&conv);
    const int32_t bytes = conv_bytes(&conv);
    const cmsis_nn_context context = {call->backend_scratch, bytes};
    const cmsis_nn_per_channel_quant_params scales = {unchanged(tigris_int32_data(call, params->multiplier)),
                                                      unchanged(tigris_int32_data(call, params->shift))};
    const int8_t *input = (const int8_t *)(const void *)call->inputs[0].data;
    const int8_t *weights = tigris_int8_data(call, params->weights);
    const int32_t *bias = tigris_int32_data(call, params->bias);
    if (!is_supported(&conv) ||
        !tigris_plain_may_run(call, bytes, params->multiplier, params->shift, conv.output->channels)) {
        return 0;
    }
    if (depthwise) {
        const cmsis_nn_dw_conv_params own = depthwise_params_of(params, &words);
        return arm_depthwise_conv_wrapper_s8(&context, &own, &scales, &words.input, input, &words.filter, weights,
                                             &words.bias, bias, &words.output,
                                             tigris_int8_output(call)) == ARM_CMSIS_NN_SUCCESS;
    }
    const cmsis_nn_conv_params own = conv_params_of(params, &words);
    return arm_convolve_wrapper_s8(&context, &own, &scales, &words.input, input, &words.filter, weights, &words.bias,
                                   bias, &words.output, tigris_int8_output(call)) == ARM_CMSIS_NN_SUCCESS;
}

static void run_conv_2d(const tigris_kernel_call *call)
{
    if (!run_by_library(call, 0)) {
        tigris_plain_conv_2d_int8.run(call);
    }
}

static void run_depthwise(const tigris_kernel_call *call)
{
    if (!run_by_library(call, 1)) {
        tigris_plain_depthwise_conv_2d_int8.run(call);
    }
}

static void run_fully_connected(const tigris_kernel_call *call)
{
    const tigris_fully_connected_int8_params *params = call->params;
    const tigris_layer_vectors vectors = tigris_layer_vectors_of(call, params->in_features, params->out_features);
    const int8_t *weights = tigris_int8_data(call, params->weights);
    const int32_t *bias = tigris_int32_data(call, params->bias);
    const cmsis_nn_fc_params own = {0, 0, params->output_zero_point, {params->activation_min, params->activation_max}};
    const cmsis_nn_quant_params scales = {unchanged(tigris_int32_data(call, params->multiplier)),
                                          unchanged(tigris_int32_data(call, params->shift)),
                                          (int32_t)params->requantise_step};
    const int32_t in = (int32_t)params->in_features;
    const int32_t out = (int32_t)params->out_features;
    const cmsis_nn_dims input = {(int32_t)vectors.count, 1, 1, in};
    const cmsis_nn_dims filter = weights_of(params);
    const cmsis_nn_dims biases = {1, 1, 1, out};
    const cmsis_nn_dims output = {(int32_t)vectors.count, 1, 1, out};
    const cmsis_nn_context context = {call->backend_scratch, fully_connected_bytes(params)};
    arm_cmsis_nn_status status = ARM_CMSIS_NN_ARG_ERROR;
    if (tigris_plain_may_run(call, context.size, params->multiplier, params->shift,
                             params->requantise_step != 0U ? params->out_features : 1U)) {
        if (context.size > 0) { /* with MVE the library reads each output's sum of weights and bias from scratch */
            (void)arm_vector_sum_s8(context.buf, in, out, weights, 0, 0, bias);
        }
        status = arm_fully_connected_wrapper_s8(&context, &own, &scales, &input, vectors.input, &filter, weights,
                                                &biases, bias, &output, tigris_int8_output(call));
    }
    if (status != ARM_CMSIS_NN_SUCCESS) {
        tigris_plain_fully_connected_int8.run(call);
    }
}

static tigris_status check_conv(const tigris_check_call *call)
{
    const tigris_conv_int8_params *params = call->params;
    const tigris_status status = tigris_check_plain_conv(call);
    return status != TIGRIS_OK || (params->groups == 1U && tigris_is_small_conv(call)) ? status : TIGRIS_ERR_PARAMS;
}

static tigris_status check_depthwise(const tigris_check_call *call)
{
    const tigris_status status = tigris_check_plain_depthwise_conv(call);
    return status != TIGRIS_OK || tigris_is_small_conv(call) ? status : TIGRIS_ERR_PARAMS;
}

static tigris_status check_fully_connected(const tigris_check_call *call)
{
    const tigris_status status = tigris_check_plain_fully_connected(call);
    return status != TIGRIS_OK || tigris_is_small_layer(call) ? status : TIGRIS_ERR_PARAMS;
}

const tigris_kernel_entry tigris_cmsis_nn_conv_2d_int8 = {
    TIGRIS_OP_KIND_PLAIN_CONV_2D, TIGRIS_DTYPE_INT8, TIGRIS_PACKING_PORTABLE, sizeof(tigris_conv_int8_params),
    run_conv_2d, check_conv};
const tigris_kernel_entry tigris_cmsis_nn_depthwise_conv_2d_int8 = {
    TIGRIS_OP_KIND_PLAIN_DEPTHWISE_CONV_2D, TIGRIS_DTYPE_INT8, TIGRIS_PACKING_PORTABLE,
    sizeof(tigris_conv_int8_params), run_depthwise, check_depthwise};
const tigris_kernel_entry tigris_cmsis_nn_fully_connected_int8 = {
    TIGRIS_OP_KIND_PLAIN_FULLY_CONNECTED, TIGRIS_DTYPE_INT8, TIGRIS_PACKING_PORTABLE,
    sizeof(tigris_fully_connected_int8_params), run_fully_connected, check_fully_connected};

#endif
