/* Conv2D and depthwise Conv2D, int8, with plain constants: fallback for plans that were made for a kernel library, on
 * machines without it. Simple, not fast. */
#include "access.h"
#include "plain_int8.h"
#include "requantise.h"
#include "tigris_kernels.h"
#include "window.h"

typedef struct plain_conv {
    const tigris_kernel_call *call;
    int32_t depth;         /* input channels that one output channel reads */
    int32_t group_outputs; /* output channels that read the same ones */
    int32_t tap_step;      /* weights from one tap of a channel to the next */
    int32_t channel_step;  /* weights from one output channel to the next */
} plain_conv;

/* Sum of the taps of one output element. */
static int32_t sum_taps(const plain_conv *c, const tigris_pixel *pixel, int32_t channel, int32_t sum)
{
    const tigris_conv_int8_params *params = tigris_params(c->call);
    const int8_t *data = tigris_int8_input(c->call) + channel / c->group_outputs * c->depth;
    const int8_t *kernel = tigris_int8_data(c->call, params->weights) + channel * c->channel_step;
    for (int32_t i = pixel->rows.first; i < pixel->rows.end; i++) {
        for (int32_t j = pixel->columns.first; j < pixel->columns.end; j++) {
            const int8_t *input = data + tigris_tap_offset(c->call, pixel, i, j);
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
    const tigris_conv_int8_params *params = tigris_params(c->call);
    const int32_t *bias = tigris_int32_data(c->call, params->bias);
    const int32_t *multiplier = tigris_int32_data(c->call, params->multiplier);
    const int32_t *shift = tigris_int32_data(c->call, params->shift);
    const tigris_output_stage output = {params->output_zero_point, params->activation_min, params->activation_max};
    int8_t *to = tigris_int8_output(c->call);
    tigris_pixel_loop loop;
    for (tigris_start_pixels(&loop, c->call, 0); loop.left > 0; tigris_next_pixel(&loop)) {
        for (int32_t channel = 0; channel < (int32_t)tigris_output_tensor(c->call)->channels; channel++) {
            const int32_t sum = sum_taps(c, &loop.pixel, channel, bias[channel]);
            *to++ = tigris_to_int8(sum, multiplier[channel], shift[channel], &output);
        }
    }
}

/* Weights [out_channels][kernel_height][kernel_width][in_channels / groups]. */
static void run_conv(const tigris_kernel_call *call)
{
    const tigris_conv_int8_params *params = tigris_params(call);
    const int32_t depth = (int32_t)tigris_input_tensor(call, 0)->channels / params->groups;
    const plain_conv c = {call, depth, (int32_t)tigris_output_tensor(call)->channels / params->groups, depth,
                          params->kernel_height * params->kernel_width * depth};
    run_pixels(&c);
}

/* Weights [kernel_height][kernel_width][out_channels]. */
static void run_depthwise(const tigris_kernel_call *call)
{
    const int32_t outputs = (int32_t)tigris_output_tensor(call)->channels;
    const plain_conv c = {call, 1, outputs / (int32_t)tigris_input_tensor(call, 0)->channels, outputs, 1};
    run_pixels(&c);
}

TIGRIS_KERNEL_ENTRY(tigris_plain_conv_2d_int8, PLAIN_CONV_2D, INT8, tigris_conv_int8_params, run_conv,
                    tigris_check_plain_conv);
TIGRIS_KERNEL_ENTRY(tigris_plain_depthwise_conv_2d_int8, PLAIN_DEPTHWISE_CONV_2D, INT8, tigris_conv_int8_params,
                    run_depthwise, tigris_check_plain_depthwise_conv);
