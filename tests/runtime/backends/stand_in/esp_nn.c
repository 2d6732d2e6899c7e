/* Stands in for ESP-NN where its sources are not at hand. Convolutions copy the input into the scratch with as many
 * rows and columns of padding behind it as before it and then read it without looking, as the kernels for the ESP32-S3
 * do: an adapter that asks for more than that reads what nobody wrote. */
#include "esp_nn.h"

#include <assert.h>
#include <string.h>

#include "requantise.h"

static int8_t *scratch;

/* Rows and columns of the padded copy; with no padding at all, what the kernel may reach behind the input. */
static data_2d_t padded(const data_dims_t *input, const data_dims_t *filter, const data_dims_t *output,
                        data_2d_t stride, data_2d_t padding)
{
    data_2d_t size = {input->width + 2 * padding.width, input->height + 2 * padding.height};
    if (padding.width == 0 && padding.height == 0) {
        const data_2d_t reach = {output->width * stride.width + filter->width - 1,
                                 output->height * stride.height + filter->height - 1};
        size.width = reach.width > size.width ? reach.width : size.width;
        size.height = reach.height > size.height ? reach.height : size.height;
    }
    return size;
}

static int bytes(const data_dims_t *input, data_2d_t size)
{
    return size.width * size.height * input->channels;
}

int esp_nn_get_conv_scratch_size(const data_dims_t *input, const data_dims_t *filter, const data_dims_t *output,
                                 const conv_params_t *params)
{
    return bytes(input, padded(input, filter, output, params->stride, params->padding));
}

int esp_nn_get_depthwise_conv_scratch_size(const data_dims_t *input, const data_dims_t *filter,
                                           const data_dims_t *output, const dw_conv_params_t *params)
{
    return bytes(input, padded(input, filter, output, params->stride, params->padding));
}

void esp_nn_set_conv_scratch_buf(const void *buffer)
{
    scratch = (int8_t *)(uintptr_t)buffer;
}

void esp_nn_set_depthwise_conv_scratch_buf(const void *buffer)
{
    scratch = (int8_t *)(uintptr_t)buffer;
}

static void copy_padded(const data_dims_t *dims, const int8_t *input, data_2d_t size, data_2d_t padding, int8_t value)
{
    const int row = dims->width * dims->channels;
    memset(scratch, value, (size_t)bytes(dims, size));
    for (int y = 0; y < dims->height; y++) {
        memcpy(scratch + ((y + padding.height) * size.width + padding.width) * dims->channels, input + y * row,
               (size_t)row);
    }
}

void esp_nn_conv_s8(const data_dims_t *input_dims, const int8_t *input, const data_dims_t *filter_dims,
                    const int8_t *filter, const int32_t *bias, const data_dims_t *output_dims, int8_t *output,
                    const conv_params_t *params, const quant_data_t *scales)
{
    const data_2d_t size = padded(input_dims, filter_dims, output_dims, params->stride, params->padding);
    const int depth = filter_dims->channels, outputs = output_dims->channels;
    assert(params->dilation.width == 1 && params->dilation.height == 1);
    copy_padded(input_dims, input, size, params->padding, (int8_t)-params->in_offset);
    for (int y = 0; y < output_dims->height; y++)
        for (int x = 0; x < output_dims->width; x++)
            for (int c = 0; c < outputs; c++) {
                const int group = c / (outputs / (input_dims->channels / depth));
                int64_t sum = bias[c];
                for (int i = 0; i < filter_dims->height; i++)
                    for (int j = 0; j < filter_dims->width; j++)
                        for (int k = 0; k < depth; k++) {
                            const int pixel = (y * params->stride.height + i) * size.width + x * params->stride.width + j;
                            const int tap = ((c * filter_dims->height + i) * filter_dims->width + j) * depth + k;
                            const int value = scratch[pixel * input_dims->channels + group * depth + k];
                            sum += (value + params->in_offset) * filter[tap];
                        }
                *output++ = stand_in_output(sum, scales->mult[c], scales->shift[c], params->out_offset,
                                            params->activation.min, params->activation.max);
            }
}

void esp_nn_depthwise_conv_s8(const data_dims_t *input_dims, const int8_t *input, const data_dims_t *filter_dims,
                              const int8_t *filter, const int32_t *bias, const data_dims_t *output_dims,
                              int8_t *output, const dw_conv_params_t *params, const quant_data_t *scales)
{
    const data_2d_t size = padded(input_dims, filter_dims, output_dims, params->stride, params->padding);
    const int outputs = output_dims->channels;
    assert(params->dilation.width == 1 && params->dilation.height == 1);
    assert(outputs == input_dims->channels * params->ch_mult);
    copy_padded(input_dims, input, size, params->padding, (int8_t)-params->in_offset);
    for (int y = 0; y < output_dims->height; y++)
        for (int x = 0; x < output_dims->width; x++)
            for (int c = 0; c < outputs; c++) {
                int64_t sum = bias[c];
                for (int i = 0; i < filter_dims->height; i++)
                    for (int j = 0; j < filter_dims->width; j++) {
                        const int pixel = (y * params->stride.height + i) * size.width + x * params->stride.width + j;
                        const int value = scratch[pixel * input_dims->channels + c / params->ch_mult];
                        sum += (value + params->in_offset) * filter[(i * filter_dims->width + j) * outputs + c];
                    }
                *output++ = stand_in_output(sum, scales->mult[c], scales->shift[c], params->out_offset,
                                            params->activation.min, params->activation.max);
            }
}

void esp_nn_fully_connected_per_ch_s8(const int8_t *input, int32_t input_offset, uint16_t row_len,
                                      const int8_t *filter, int32_t filter_offset, const int32_t *bias, int8_t *output,
                                      uint16_t out_channels, int32_t out_offset, const int32_t *out_shift,
                                      const int32_t *out_mult, int32_t low, int32_t high)
{
    for (int c = 0; c < out_channels; c++) {
        int64_t sum = bias[c];
        for (int k = 0; k < row_len; k++) {
            sum += (input[k] + input_offset) * (filter[c * row_len + k] + filter_offset);
        }
        output[c] = stand_in_output(sum, out_mult[c], out_shift[c], out_offset, low, high);
    }
}

void esp_nn_fully_connected_s8(const int8_t *input, int32_t input_offset, uint16_t row_len, const int8_t *filter,
                               int32_t filter_offset, const int32_t *bias, int8_t *output, uint16_t out_channels,
                               int32_t out_offset, int32_t out_shift, int32_t out_mult, int32_t low, int32_t high)
{
    for (int c = 0; c < out_channels; c++) {
        esp_nn_fully_connected_per_ch_s8(input, input_offset, row_len, filter + c * row_len, filter_offset, bias + c,
                                         output + c, 1, out_offset, &out_shift, &out_mult, low, high);
    }
}
