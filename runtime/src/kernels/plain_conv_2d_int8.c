/* Conv2D and depthwise Conv2D, int8, with plain constants: fallback for plans that were made for a kernel library, on
 * machines without it. Simple, not fast. */
#include "access.h"
#include "plain_int8.h"
#include "requantise.h"
#include "tigris_kernels.h"
#include "window.h"

typedef struct plain_conv {
    const tigris_kernel_call *call;
    const tigris_conv_int8_params *params;
    const int8_t *weights;
    int32_t inputs;        /* channels of the input */
    int32_t width;         /* of the input */
    int32_t depth;         /* input channels that one output channel reads */
    int32_t group_outputs; /* output channels that read the same ones */
    int32_t tap_step;      /* weights from one tap of a channel to the next */
    int32_t channel_step;  /* weights from one output channel to the next */
} plain_conv;

static plain_conv unpack(const tigris_kernel_call *call)
{
    const tigris_conv_int8_params *params = tigris_params(call);
    const tigris_tensor_record *input = tigris_input_tensor(call, 0);
    plain_conv c = {call, params, tigris_int8_data(call, params->weights), (int32_t)input->channels,
                    (int32_t)input->width, 0, 0, 0, 0};
    return c;
}

/* Sum of one output element: taps of a kernel whose first one lies at (row, column) of the band. */
static int32_t sum_taps(const plain_conv *c, int32_t row, int32_t column, int32_t channel, int32_t sum)
{
    const tigris_conv_int8_params *params = c->params;
    const tigris_band *in = tigris_input_band(c->call, 0);
    const tigris_taps rows =
        tigris_valid_taps(row, params->kernel_height, params->dilation_height, tigris_row_count(in));
    const tigris_taps columns = tigris_valid_taps(column, params->kernel_width, params->dilation_width, c->width);
    const int8_t *data = (const int8_t *)(const void *)in->data + channel / c->group_outputs * c->depth;
    const int8_t *kernel = c->weights + channel * c->channel_step;
    for (int32_t i = rows.first; i < rows.end; i++) {
        for (int32_t j = columns.first; j < columns.end; j++) {
            const int32_t pixel = (row + i * params->dilation_height) * c->width + column + j * params->dilation_width;
            const int8_t *input = data + pixel * c->inputs;
            const int8_t *weights = kernel + (i * params->kernel_width + j) * c->tap_step;
            for (int32_t k = 0; k < c->depth; k++) {
                sum = tigris_wrapping_add(sum, (input[k] - params->input_zero_point) * weights[k]);
            }
        }
    }
    return sum;
}

static void run_pixels(const plain_conv *c)
{
    const tigris_conv_int8_params *params = c->params;
    const tigris_band *out = tigris_output_band(c->call);
    const int32_t *bias = tigris_int32_data(c->call, params->bias);
    const int32_t *multiplier = tigris_int32_data(c->call, params->multiplier);
    const int32_t *shift = tigris_int32_data(c->call, params->shift);
    const tigris_output_stage output = {params->output_zero_point, params->activation_min, params->activation_max};
    int8_t *to = tigris_int8_output(c->call);
    for (int32_t y = 0; y < tigris_row_count(out); y++) {
        const int32_t row = y * params->stride_height - tigris_pad_top(tigris_input_band(c->call, 0));
        for (int32_t x = 0; x < (int32_t)tigris_tensor_of(out)->width; x++) {
            const int32_t column = x * params->stride_width - params->pad_left;
            for (int32_t channel = 0; channel < (int32_t)tigris_tensor_of(out)->channels; channel++) {
                const int32_t sum = sum_taps(c, row, column, channel, bias[channel]);
                *to++ = tigris_to_int8(sum, multiplier[channel], shift[channel], &output);
            }
        }
    }
}

/* Weights [out_channels][kernel_height][kernel_width][in_channels / groups]. */
static void run_conv(const tigris_kernel_call *call)
{
    plain_conv c = unpack(call);
    c.depth = c.inputs / c.params->groups;
    c.group_outputs = (int32_t)tigris_output_tensor(call)->channels / c.params->groups;
    c.tap_step = c.depth;
    c.channel_step = c.params->kernel_height * c.params->kernel_width * c.depth;
    run_pixels(&c);
}

/* Weights [kernel_height][kernel_width][out_channels]. */
static void run_depthwise(const tigris_kernel_call *call)
{
    plain_conv c = unpack(call);
    const int32_t outputs = (int32_t)tigris_output_tensor(call)->channels;
    c.depth = 1;
    c.group_outputs = outputs / c.inputs;
    c.tap_step = outputs;
    c.channel_step = 1;
    run_pixels(&c);
}

TIGRIS_KERNEL_ENTRY(tigris_plain_conv_2d_int8, PLAIN_CONV_2D, INT8, tigris_conv_int8_params, run_conv,
                    tigris_check_plain_conv);
TIGRIS_KERNEL_ENTRY(tigris_plain_depthwise_conv_2d_int8, PLAIN_DEPTHWISE_CONV_2D, INT8, tigris_conv_int8_params,
                    run_depthwise, tigris_check_plain_depthwise_conv);
