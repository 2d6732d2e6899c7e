/* ESP-NN's functions, as runtime/backends/esp_nn.c calls them. */
#include "sweep.h"

#include <stdbool.h>

#include "esp_nn_defs.h"

#include "esp_nn.h"

/* Pointers of interpreted C have 32 bits. */
#if defined(CONFIG_IDF_TARGET_ESP32P4)
typedef uint32_t pointer;
#else
typedef int32_t *pointer;
#endif

typedef struct layer_words {
    data_dims_t input;
    data_dims_t filter;
    data_dims_t output;
    conv_params_t conv;
    dw_conv_params_t depthwise;
} layer_words;

static layer_words words_of(const sweep_layer *layer)
{
    const int32_t depth = layer->inputs / layer->groups;
    const data_2d_t stride = {layer->stride[COLUMNS], layer->stride[ROWS]};
    const data_2d_t padding = {layer->before[COLUMNS], layer->before[ROWS]};
    const data_2d_t dilation = {layer->dilation[COLUMNS], layer->dilation[ROWS]};
    const act_params_t limits = {layer->low, layer->high};
    const layer_words words = {
        {layer->size[COLUMNS], layer->size[ROWS], layer->inputs, 1},
        {layer->kernel[COLUMNS], layer->kernel[ROWS], depth, 0},
        {layer->output_size[COLUMNS], layer->output_size[ROWS], layer->outputs, 1},
        {-layer->input_zero_point, layer->output_zero_point, stride, padding, dilation, limits},
        {-layer->input_zero_point, layer->output_zero_point, layer->outputs / layer->inputs, stride, padding, dilation,
         limits}};
    return words;
}

int32_t library_scratch(const sweep_layer *layer)
{
    const layer_words w = words_of(layer);
    return layer->kind == CONV ? esp_nn_get_conv_scratch_size(&w.input, &w.filter, &w.output, &w.conv)
           : layer->kind == DEPTHWISE
               ? esp_nn_get_depthwise_conv_scratch_size(&w.input, &w.filter, &w.output, &w.depthwise)
               : 0;
}

static void run_dense(const sweep_layer *layer)
{
    const uint16_t in = (uint16_t)layer->inputs, out = (uint16_t)layer->outputs;
    for (int32_t i = 0; i < layer->images; i++) {
        const int8_t *input = layer->input + i * in;
        int8_t *output = layer->output + i * out;
        if (layer->by_channel) {
            esp_nn_fully_connected_per_ch_s8(input, 0, in, layer->weights, 0, layer->bias, output, out,
                                             layer->output_zero_point, layer->shift, layer->multiplier, layer->low,
                                             layer->high);
        } else {
            esp_nn_fully_connected_s8(input, 0, in, layer->weights, 0, layer->bias, output, out,
                                      layer->output_zero_point, layer->shift[0], layer->multiplier[0], layer->low,
                                      layer->high);
        }
    }
}

int library_run(const sweep_layer *layer, int32_t scratch_bytes)
{
    const layer_words w = words_of(layer);
    const pointer scales[2] = {(pointer)(uintptr_t)layer->shift, (pointer)(uintptr_t)layer->multiplier};
    const quant_data_t *quant = (const void *)scales;
    (void)scratch_bytes;
    if (layer->kind == CONV) {
        esp_nn_set_conv_scratch_buf(layer->scratch);
        esp_nn_conv_s8(&w.input, layer->input, &w.filter, layer->weights, layer->bias, &w.output, layer->output,
                       &w.conv, quant);
    } else if (layer->kind == DEPTHWISE) {
        esp_nn_set_depthwise_conv_scratch_buf(layer->scratch);
        esp_nn_depthwise_conv_s8(&w.input, layer->input, &w.filter, layer->weights, layer->bias, &w.output,
                                 layer->output, &w.depthwise, quant);
    } else {
        run_dense(layer);
    }
    return 1;
}
