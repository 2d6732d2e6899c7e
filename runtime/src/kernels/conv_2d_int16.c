/* Conv2D and depthwise Conv2D of int16 with weights of int8, and Conv2D with weights of int16. Simple, not fast. */
#include "inlining.h"
#include "int16.h"
#include "tigris_kernels.h"
#include "window.h"

typedef struct conv {
    const tigris_kernel_call *call;
    const tigris_conv_int16_params *params;
    int32_t depth;         /* input channels that one output channel reads */
    int32_t group_outputs; /* output channels that read the same ones */
} conv;

/* The sum of `count` products, from weight number `weight` on. */
static int64_t sum_products(const conv *c, const int16_t *input, int32_t weight, int32_t count)
{
    if (c->params->weight_bytes == 1U) {
        return tigris_dot_int16(input, tigris_int8_data(c->call, c->params->weights) + weight, count);
    }
    const int16_t *weights = tigris_int16_data(c->call, c->params->weights) + weight;
    int64_t sum = 0;
    for (int32_t k = 0; k < count; k++) {
        sum += input[k] * weights[k];
    }
    return sum;
}

/* The sum of all taps of a convolution; a row of taps that is contiguous in input and weights is one run. */
static uint64_t sum_taps(const conv *c, const tigris_pixel *at, int32_t channel)
{
    const tigris_conv_int16_params *params = c->params;
    const int32_t together = params->groups == 1U && params->dilation_width == 1U;
    const int32_t step = together ? tigris_tap_count(at->columns) : 1;
    const int16_t *data = (const int16_t *)(const void *)tigris_input_data(c->call, 0);
    const int32_t kernel = channel * params->kernel_height * params->kernel_width;
    data += channel / c->group_outputs * c->depth;
    uint64_t sum = tigris_int64_at(c->call, params->bias, (uint32_t)channel);
    for (int32_t i = at->rows.first; i < at->rows.end; i++) {
        for (int32_t j = at->columns.first; j < at->columns.end; j += step) {
            const int32_t tap = kernel + i * params->kernel_width + j;
            sum += (uint64_t)sum_products(c, data + tigris_tap_offset(c->call, at, i, j), tap * c->depth,
                                          step * c->depth);
        }
    }
    return sum;
}

/* The sum of all taps of a depthwise channel; runs are so short that their products fit 32 bits. */
static uint64_t sum_channel(const conv *c, const tigris_pixel *at, int32_t channel)
{
    const tigris_conv_int16_params *params = c->params;
    const int32_t outputs = (int32_t)tigris_output_tensor(c->call)->channels;
    /* Modulo 2^32: offsets without a tap inside, and behind the last tap, may be any number. */
    const uint32_t input_step = (uint32_t)params->dilation_width * tigris_input_tensor(c->call, 0)->channels;
    const int16_t *data = (const int16_t *)(const void *)tigris_input_data(c->call, 0) + channel / c->group_outputs;
    const int8_t *kernel = tigris_int8_data(c->call, params->weights) + channel;
    uint64_t sum = tigris_int64_at(c->call, params->bias, (uint32_t)channel);
    for (int32_t i = at->rows.first; i < at->rows.end; i++) {
        uint32_t input = tigris_tap_offset(c->call, at, i, at->columns.first);
        uint32_t weight = (uint32_t)(i * params->kernel_width + at->columns.first) * (uint32_t)outputs;
        int32_t left = tigris_tap_count(at->columns);
        while (left > 0) {
            int32_t part = 0;
            for (int32_t k = left < TIGRIS_SAFE_PRODUCTS ? left : TIGRIS_SAFE_PRODUCTS; k > 0; k--) {
                part += data[input] * kernel[weight];
                input += input_step;
                weight += (uint32_t)outputs;
            }
            sum += (uint64_t)(int64_t)part;
            left -= TIGRIS_SAFE_PRODUCTS;
        }
    }
    return sum;
}

typedef uint64_t (*sum_function)(const conv *c, const tigris_pixel *at, int32_t channel);

TIGRIS_INLINE void run_pixels(const conv *c, sum_function sum)
{
    const tigris_conv_int16_params *params = c->params;
    const int32_t *multiplier = tigris_int32_data(c->call, params->multiplier);
    const int8_t *shift = tigris_int8_data(c->call, params->shift);
    const tigris_sum_stage stage = {params->sum_bits, params->activation_min, params->activation_max};
    int16_t *to = tigris_int16_output(c->call);
    tigris_pixel_loop loop;
    for (tigris_start_pixels(&loop, c->call, 0); loop.left > 0; tigris_next_pixel(&loop)) {
        for (int32_t channel = 0; channel < (int32_t)tigris_output_tensor(c->call)->channels; channel++) {
            *to++ = tigris_to_int16((int64_t)sum(c, &loop.pixel, channel), multiplier[channel], shift[channel], &stage);
        }
    }
}

static void run(const tigris_kernel_call *call)
{
    const tigris_conv_int16_params *params = tigris_params(call);
    const conv c = {call, params, (int32_t)tigris_input_tensor(call, 0)->channels / params->groups,
                    (int32_t)tigris_output_tensor(call)->channels / params->groups};
    run_pixels(&c, sum_taps);
}

static void run_depthwise(const tigris_kernel_call *call)
{
    const conv c = {call, tigris_params(call), 1,
                    (int32_t)(tigris_output_tensor(call)->channels / tigris_input_tensor(call, 0)->channels)};
    run_pixels(&c, sum_channel);
}

/* `inputs`: input channels that one output channel reads. */
static int is_conv(const tigris_check_call *call, uint32_t inputs)
{
    const tigris_conv_int16_params *params = call->params;
    const uint32_t outputs = call->output->channels;
    const uint32_t window = (uint32_t)params->kernel_height * params->kernel_width;
    const uint32_t weights = tigris_multiply(tigris_multiply(window, inputs), outputs);
    const tigris_sum_stage stage = {params->sum_bits, params->activation_min, params->activation_max};
    return tigris_check_sums(call, &stage, params->bias, params->multiplier, params->shift, outputs) &&
           tigris_check_per_image(call) && tigris_check_window(call) &&
           tigris_check_data(call, params->weights, weights, params->weight_bytes);
}

static tigris_status check(const tigris_check_call *call)
{
    const tigris_conv_int16_params *params = call->params;
    const uint32_t groups = params->groups;
    return tigris_check_result(groups != 0U && call->inputs[0]->channels % groups == 0U &&
                               call->output->channels % groups == 0U &&
                               (params->weight_bytes == 1U || params->weight_bytes == 2U) &&
                               is_conv(call, call->inputs[0]->channels / groups));
}

static tigris_status check_depthwise(const tigris_check_call *call)
{
    const tigris_conv_int16_params *params = call->params;
    return tigris_check_result(params->groups == 1U && params->weight_bytes == 1U && is_conv(call, 1U) &&
                               call->output->channels % call->inputs[0]->channels == 0U);
}

TIGRIS_KERNEL_ENTRY(tigris_conv_2d_int16, CONV_2D, INT16, tigris_conv_int16_params, run, check);
TIGRIS_KERNEL_ENTRY(tigris_depthwise_conv_2d_int16, DEPTHWISE_CONV_2D, INT16, tigris_conv_int16_params, run_depthwise,
                    check_depthwise);
