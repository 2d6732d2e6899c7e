/* CMSIS-NN's functions, as runtime/backends/cmsis_nn.c calls them. */
#include "sweep.h"

#include "arm_nnfunctions.h"
#include "arm_nnsupportfunctions.h"

typedef struct layer_words {
    cmsis_nn_dims input;
    cmsis_nn_dims filter;
    cmsis_nn_dims bias;
    cmsis_nn_dims output;
    cmsis_nn_conv_params conv;
    cmsis_nn_dw_conv_params depthwise;
} layer_words;

static layer_words words_of(const sweep_layer *layer)
{
    const int32_t depth = layer->kind == DEPTHWISE ? layer->outputs : layer->inputs / layer->groups;
    const cmsis_nn_tile stride = {layer->stride[COLUMNS], layer->stride[ROWS]};
    const cmsis_nn_tile padding = {layer->before[COLUMNS], layer->before[ROWS]};
    const cmsis_nn_tile dilation = {layer->dilation[COLUMNS], layer->dilation[ROWS]};
    const cmsis_nn_activation limits = {layer->low, layer->high};
    const layer_words words = {
        {layer->images, layer->size[ROWS], layer->size[COLUMNS], layer->inputs},
        {layer->kind == DEPTHWISE ? 1 : layer->outputs, layer->kernel[ROWS], layer->kernel[COLUMNS], depth},
        {1, 1, 1, layer->outputs},
        {layer->images, layer->output_size[ROWS], layer->output_size[COLUMNS], layer->outputs},
        {-layer->input_zero_point, layer->output_zero_point, stride, padding, dilation, limits},
        {-layer->input_zero_point, layer->output_zero_point, layer->outputs / layer->inputs, stride, padding, dilation,
         limits}};
    return words;
}

static cmsis_nn_dims dense_filter(const sweep_layer *layer)
{
    const cmsis_nn_dims filter = {layer->inputs, 1, 1, layer->outputs};
    return filter;
}

int32_t library_scratch(const sweep_layer *layer)
{
    const layer_words w = words_of(layer);
    const cmsis_nn_dims filter = dense_filter(layer);
    return layer->kind == CONV ? arm_convolve_wrapper_s8_get_buffer_size(&w.conv, &w.input, &w.filter, &w.output)
           : layer->kind == DEPTHWISE
               ? arm_depthwise_conv_wrapper_s8_get_buffer_size(&w.depthwise, &w.input, &w.filter, &w.output)
               : arm_fully_connected_s8_get_buffer_size(&filter);
}

static int run_dense(const sweep_layer *layer, const cmsis_nn_context *context)
{
    const layer_words w = words_of(layer);
    const cmsis_nn_fc_params params = {0, 0, layer->output_zero_point, {layer->low, layer->high}};
    const cmsis_nn_quant_params scales = {layer->multiplier, layer->shift, layer->by_channel};
    const cmsis_nn_dims filter = dense_filter(layer);
    if (context->size > 0) { /* MVE reads sums of weights from the scratch */
        (void)arm_vector_sum_s8(context->buf, layer->inputs, layer->outputs, layer->weights, 0, 0, layer->bias);
    }
    return arm_fully_connected_wrapper_s8(context, &params, &scales, &w.input, layer->input, &filter, layer->weights,
                                          &w.bias, layer->bias, &w.output, layer->output) == ARM_CMSIS_NN_SUCCESS;
}

int library_run(const sweep_layer *layer, int32_t scratch_bytes)
{
    const layer_words w = words_of(layer);
    const cmsis_nn_context context = {layer->scratch, scratch_bytes};
    const cmsis_nn_per_channel_quant_params scales = {layer->multiplier, layer->shift};
    if (layer->kind == DENSE) {
        return run_dense(layer, &context);
    }
    if (layer->kind == DEPTHWISE) {
        return arm_depthwise_conv_wrapper_s8(&context, &w.depthwise, &scales, &w.input, layer->input, &w.filter,
                                             layer->weights, &w.bias, layer->bias, &w.output,
                                             layer->output) == ARM_CMSIS_NN_SUCCESS;
    }
    return arm_convolve_wrapper_s8(&context, &w.conv, &scales, &w.input, layer->input, &w.filter, layer->weights,
                                   &w.bias, layer->bias, &w.output, layer->output) == ARM_CMSIS_NN_SUCCESS;
}
