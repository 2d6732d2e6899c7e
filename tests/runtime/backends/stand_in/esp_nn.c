/* Stands in for ESP-NN where its sources are not at hand. It asks for scratch and reads as the library's kernels for the
 * ESP32-S3 and -P4 do, without looking: an adapter that asks for more than they can reads or writes what is not there.
 *
 * - 1x1 kernels make as many pixels as the input has.
 * - With padding above or on the left, the input is copied with as many rows and columns of it behind as before.
 * - Without, some kernels copy what the last window reads and others look at the last column and row alone.
 * - Depthwise 3x3 kernels of whole blocks of channels answer too little for two of three ways of padding.
 * - One row wants more scratch than two.
 * - Kernels of few channels want inputs no less than the kernel, and some depthwise 3x3 ones no more than one row and one
 *   column outside.
 * - Vector loads and stores round addresses down: inputs and outputs of whole blocks of channels, depthwise, inputs of
 *   1x1 kernels, and inputs of a layer of 8 and more features. */
#include "esp_nn.h"

#include <assert.h>
#include <string.h>

#include "requantise.h"

#define BUDGET 600 /* bytes of a padded input beyond which a depthwise kernel answers for a strip */
#define BLOCK 16   /* channels */

static int8_t *scratch;

/* One convolution. */
typedef struct call {
    const data_dims_t *in, *filter, *out;
    data_2d_t stride, padding;
    int mult; /* outputs of a channel; 0: not depthwise */
} call;

/* Where a vector access to `channels` of them really goes. */
static uintptr_t rounded(uintptr_t address, int channels)
{
    return address & ~(uintptr_t)(channels % BLOCK == 0 ? 15 : channels % 8 == 0 ? 7 : 0);
}

/* Rows and columns of a copy that the kernel reads blindly. */
static data_2d_t padded(const call *c)
{
    data_2d_t size = {c->in->width + 2 * c->padding.width, c->in->height + 2 * c->padding.height};
    if (c->padding.width == 0 && c->padding.height == 0) {
        const int width = c->out->width * c->stride.width + c->filter->width - 1;
        const int height = c->out->height * c->stride.height + c->filter->height - 1;
        size.width = width > size.width ? width : size.width;
        size.height = height > size.height ? height : size.height;
    }
    return size;
}

static int is_pixelwise(const call *c)
{
    return c->mult == 0 && c->filter->width == 1 && c->filter->height == 1 && c->stride.width == 1 &&
           c->stride.height == 1 && c->padding.width == 0 && c->padding.height == 0;
}

/* Kernels that read the input where it lies. */
static int is_in_place(const call *c)
{
    return c->mult == 0 && c->padding.width == 0 && c->padding.height == 0 && c->in->channels % 2 != 0;
}

static int is_blocks(const call *c)
{
    return c->mult == 1 && c->filter->width == 3 && c->filter->height == 3 && c->in->channels % BLOCK == 0;
}

static int bytes(const call *c)
{
    const data_2d_t size = padded(c);
    const int rows = is_blocks(c) && size.width * size.height * c->in->channels > BUDGET ? 3 : size.height;
    const int one_row = c->in->height == 1 ? 4 * c->in->channels + 48 : 0;
    const int copied = is_pixelwise(c) || is_in_place(c) ? 0 : size.width * rows * c->in->channels;
    return copied + one_row + 16 + (is_blocks(c) ? 9 * c->in->channels : 0);
}

static call call_of(const data_dims_t *in, const data_dims_t *filter, const data_dims_t *out, const conv_params_t *p,
                    int mult)
{
    const call c = {in, filter, out, p->stride, p->padding, mult};
    assert(p->dilation.width == 1 && p->dilation.height == 1);
    assert(mult == 0 ? out->channels % (in->channels / filter->channels) == 0 : out->channels == in->channels * mult);
    return c;
}

static conv_params_t plain_params(const dw_conv_params_t *p)
{
    return (conv_params_t){p->in_offset, p->out_offset, p->stride, p->padding, p->dilation, p->activation};
}

int esp_nn_get_conv_scratch_size(STAND_IN_SIZES(conv_params_t))
{
    const call c = call_of(input, filter, output, params, 0);
    return bytes(&c);
}

int esp_nn_get_depthwise_conv_scratch_size(STAND_IN_SIZES(dw_conv_params_t))
{
    const conv_params_t own = plain_params(params);
    const call c = call_of(input, filter, output, &own, params->ch_mult);
    return bytes(&c);
}

void esp_nn_set_conv_scratch_buf(const void *buffer)
{
    scratch = (int8_t *)(uintptr_t)buffer;
}

void esp_nn_set_depthwise_conv_scratch_buf(const void *buffer)
{
    scratch = (int8_t *)(uintptr_t)buffer;
}

/* Copies input rows [first, end) of the padded image. */
static void copy_padded(const call *c, const int8_t *input, int first, int end, int8_t value)
{
    const data_2d_t size = padded(c);
    const int row = c->in->width * c->in->channels;
    memset(scratch, value, (size_t)((end - first) * size.width * c->in->channels));
    for (int y = first; y < end; y++) {
        const int from = y - c->padding.height;
        if (from >= 0 && from < c->in->height)
            memcpy(scratch + ((y - first) * size.width + c->padding.width) * c->in->channels, input + from * row,
                   (size_t)row);
    }
}

/* Input of tap (i, j) of output pixel (y, x), channel 0; NULL for padding. `image` begins with padded row `first`. */
static const int8_t *tap_of(const call *c, const int8_t *image, int first, int y, int x, int i, int j)
{
    const int row = y * c->stride.height + i, column = x * c->stride.width + j;
    if (!is_in_place(c))
        return image + ((row - first) * padded(c).width + column) * c->in->channels;
    const int looks = (y == c->out->height - 1 && row >= c->in->height) ||
                      (x == c->out->width - 1 && column >= c->in->width);
    return looks ? NULL : image + (row * c->in->width + column) * c->in->channels;
}

static int8_t output_of(const call *c, const int8_t *image, int first, int y, int x, int channel, const int8_t *filter,
                        int64_t sum, const conv_params_t *p, const quant_data_t *scales)
{
    const int depth = c->mult != 0 ? 1 : c->filter->channels;
    const int group = c->mult != 0 ? channel / c->mult : channel / (c->out->channels / (c->in->channels / depth)) * depth;
    for (int i = 0; i < c->filter->height; i++)
        for (int j = 0; j < c->filter->width; j++) {
            const int8_t *tap = tap_of(c, image, first, y, x, i, j);
            const int at = i * c->filter->width + j;
            const int taps = c->filter->width * c->filter->height;
            const int8_t *weights = filter + (c->mult != 0 ? at * c->out->channels + channel
                                                           : (channel * taps + at) * depth);
            for (int k = 0; tap != NULL && k < depth; k++)
                sum += (tap[group + k] + p->in_offset) * weights[k];
        }
    return stand_in_output(sum, scales->mult[channel], scales->shift[channel], p->out_offset, p->activation.min,
                           p->activation.max);
}

/* What the library's kernels get wrong. */
static int is_beyond(const call *c)
{
    const int row = c->filter->width * c->in->channels;
    const int right = (c->out->width - 1) * c->stride.width + 3 - c->in->width - c->padding.width;
    const int below = (c->out->height - 1) * c->stride.height + 3 - c->in->height - c->padding.height;
    if (c->mult == 0)
        return row < 16 && row * c->filter->height >= 16 && c->filter->channels == c->in->channels &&
               (c->in->height + c->padding.height < c->filter->height ||
                c->in->width + c->padding.width < c->filter->width);
    return c->filter->width == 3 && c->filter->height == 3 &&
           (c->mult % 8 == 0 || (c->mult == 1 && c->in->channels == 8)) &&
           (c->padding.width > 1 || c->padding.height > 1 || right > 1 || below > 1);
}

static void run(const call *c, const int8_t *input, const int8_t *filter, const int32_t *bias, int8_t *output,
                const conv_params_t *p, const quant_data_t *scales)
{
    const data_2d_t size = padded(c);
    const int same = c->padding.width == 1 && c->padding.height == 1;
    const int none = c->padding.width == 0 && c->padding.height == 0;
    const int strips = is_blocks(c) && same && size.width * size.height * c->in->channels > BUDGET;
    const int8_t *image = is_pixelwise(c) || is_in_place(c) ? input : scratch;
    const int rows = is_pixelwise(c) ? c->in->height : c->out->height;
    const int columns = is_pixelwise(c) ? c->in->width : c->out->width;
    if (is_pixelwise(c) || c->mult != 0) {
        input = (const int8_t *)rounded((uintptr_t)input, c->in->channels);
        output = c->mult != 0 ? (int8_t *)rounded((uintptr_t)output, c->out->channels) : output;
        image = image == scratch ? image : input;
    }
    memset(scratch, 0x5A, (size_t)bytes(c));
    if (is_beyond(c)) {
        memset(output, 0x5A, (size_t)(c->out->width * c->out->height * c->out->channels));
        return;
    }
    if (image == scratch && !strips)
        copy_padded(c, input, 0, size.height, (int8_t)-p->in_offset);
    if (is_blocks(c) && !same && !none) { /* a copy of the output */
        memset(scratch + size.width * size.height * c->in->channels, 0x5A,
               (size_t)(c->out->width * c->out->height * c->in->channels));
    }
    for (int y = 0; y < rows; y++) {
        const int first = strips ? y * c->stride.height : 0;
        if (strips)
            copy_padded(c, input, first, first + 3, (int8_t)-p->in_offset);
        for (int x = 0; x < columns; x++)
            for (int channel = 0; channel < c->out->channels; channel++)
                *output++ = output_of(c, image, first, y, x, channel, filter, bias[channel], p, scales);
    }
}

void esp_nn_conv_s8(STAND_IN_LAYER(conv_params_t))
{
    const call c = call_of(input_dims, filter_dims, output_dims, params, 0);
    run(&c, input, filter, bias, output, params, scales);
}

void esp_nn_depthwise_conv_s8(STAND_IN_LAYER(dw_conv_params_t))
{
    const conv_params_t own = plain_params(params);
    const call c = call_of(input_dims, filter_dims, output_dims, &own, params->ch_mult);
    run(&c, input, filter, bias, output, &own, scales);
}

void esp_nn_fully_connected_per_ch_s8(const int8_t *input, int32_t input_offset, uint16_t row_len,
                                      const int8_t *filter, int32_t filter_offset, const int32_t *bias, int8_t *output,
                                      uint16_t out_channels, int32_t out_offset, const int32_t *out_shift,
                                      const int32_t *out_mult, int32_t low, int32_t high)
{
    input = row_len < 8 ? input : (const int8_t *)rounded((uintptr_t)input, 8);
    for (int c = 0; c < out_channels; c++) {
        int64_t sum = bias[c];
        for (int k = 0; k < row_len; k++)
            sum += (input[k] + input_offset) * (filter[c * row_len + k] + filter_offset);
        output[c] = stand_in_output(sum, out_mult[c], out_shift[c], out_offset, low, high);
    }
}

void esp_nn_fully_connected_s8(const int8_t *input, int32_t input_offset, uint16_t row_len, const int8_t *filter,
                               int32_t filter_offset, const int32_t *bias, int8_t *output, uint16_t out_channels,
                               int32_t out_offset, int32_t out_shift, int32_t out_mult, int32_t low, int32_t high)
{
    for (int c = 0; c < out_channels; c++)
        esp_nn_fully_connected_per_ch_s8(input, input_offset, row_len, filter + c * row_len, filter_offset, bias + c,
                                         output + c, 1, out_offset, &out_shift, &out_mult, low, high);
}
