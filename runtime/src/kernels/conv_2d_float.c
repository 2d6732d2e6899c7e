/* Conv2D, float32, with groups. Padded taps are zero, so only valid taps are added, always in the order row, column,
 * channel: results do not depend on the bands. */
#include "access.h"
#include "check.h"
#include "inlining.h"
#include "tigris_kernels.h"
#include "window.h"

#define CHANNEL_BLOCK 4

typedef struct conv {
    const tigris_kernel_call *call;
    const float *input;
    const float *weights;
    const float *bias;
    int32_t group_inputs;
    int32_t group_outputs;
    int32_t kernel_size;
    int contiguous; /* a kernel row is one run of floats in input and weights */
} conv;

static conv unpack(const tigris_kernel_call *call)
{
    const tigris_conv_float_params *params = tigris_params(call);
    conv c;
    c.call = call;
    c.input = tigris_float_input(call);
    c.weights = tigris_float_data(call, params->weights);
    c.bias = tigris_float_data(call, params->bias);
    c.group_inputs = (int32_t)tigris_input_tensor(call, 0)->channels / params->groups;
    c.group_outputs = (int32_t)tigris_output_tensor(call)->channels / params->groups;
    c.kernel_size = params->kernel_height * params->kernel_width * c.group_inputs;
    c.contiguous = params->groups == 1 && params->dilation_width == 1;
    return c;
}

static inline void add_run(const conv *c, const float *input, const float *weights, int32_t length, int32_t count,
                           float *sum)
{
    if (count == CHANNEL_BLOCK) {
        const float *w1 = weights + c->kernel_size;
        const float *w2 = w1 + c->kernel_size;
        const float *w3 = w2 + c->kernel_size;
        float s0 = sum[0];
        float s1 = sum[1];
        float s2 = sum[2];
        float s3 = sum[3];
        for (int32_t i = 0; i < length; i++) {
            s0 += input[i] * weights[i];
            s1 += input[i] * w1[i];
            s2 += input[i] * w2[i];
            s3 += input[i] * w3[i];
        }
        sum[0] = s0;
        sum[1] = s1;
        sum[2] = s2;
        sum[3] = s3;
        return;
    }
    for (int32_t k = 0; k < count; k++) {
        for (int32_t i = 0; i < length; i++) {
            sum[k] += input[i] * weights[k * c->kernel_size + i];
        }
    }
}

/* `count` (at most a block of) output channels from `channel` on, all of one group, for one pixel. */
static void conv_channels(const conv *c, const tigris_pixel *pixel, int32_t channel, int32_t count, float *output)
{
    const tigris_conv_float_params *params = tigris_params(c->call);
    const int32_t group = channel / c->group_outputs;
    const int32_t run_taps = c->contiguous ? tigris_tap_count(pixel->columns) : 1;
    const float *filter = c->weights + channel * c->kernel_size;
    float sum[CHANNEL_BLOCK];
    for (int32_t k = 0; k < count; k++) {
        sum[k] = c->bias[channel + k];
    }
    for (int32_t i = pixel->rows.first; i < pixel->rows.end; i++) {
        for (int32_t j = pixel->columns.first; j < pixel->columns.end; j += run_taps) {
            const float *input = c->input + tigris_tap_offset(c->call, pixel, i, j) + group * c->group_inputs;
            add_run(c, input, filter + (i * params->kernel_width + j) * c->group_inputs, run_taps * c->group_inputs,
                    count, sum);
        }
    }
    for (int32_t k = 0; k < count; k++) {
        output[channel + k] = tigris_clamp_float(sum[k], params->activation_min, params->activation_max);
    }
}

/* Not inline: inside its only caller it would need more registers than there are. */
static TIGRIS_NOINLINE void conv_pixel_channels(const conv *c, const tigris_pixel *pixel, float *output)
{
    const tigris_conv_float_params *params = tigris_params(c->call);
    int32_t channel = 0;
    for (int32_t group = 0; group < params->groups; group++) {
        const int32_t end = channel + c->group_outputs;
        while (channel < end) {
            const int32_t count = end - channel < CHANNEL_BLOCK ? end - channel : CHANNEL_BLOCK;
            conv_channels(c, pixel, channel, count, output);
            channel += count;
        }
    }
}

static void run(const tigris_kernel_call *call)
{
    const conv c = unpack(call);
    float *output = tigris_float_output(call);
    tigris_pixel_loop loop;
    for (tigris_start_pixels(&loop, call, 0); loop.left > 0; tigris_next_pixel(&loop)) {
        conv_pixel_channels(&c, &loop.pixel, output);
        output += tigris_output_tensor(call)->channels;
    }
}

static tigris_status check(const tigris_check_call *call)
{
    const tigris_conv_float_params *params = call->params;
    if (!tigris_check_types(call, 1U, TIGRIS_DTYPE_FLOAT32, TIGRIS_DTYPE_FLOAT32) || params->groups == 0U) {
        return TIGRIS_ERR_PARAMS;
    }
    const uint32_t inputs = call->inputs[0]->channels;
    const uint32_t outputs = call->output->channels;
    const uint32_t window = (uint32_t)params->kernel_height * params->kernel_width;
    const uint32_t weights = tigris_multiply(tigris_multiply(window, inputs / params->groups), outputs);
    return tigris_check_result(tigris_check_per_image(call) && inputs % params->groups == 0U &&
                               outputs % params->groups == 0U && tigris_check_window(call) &&
                               tigris_check_data(call, params->weights, weights, sizeof(float)) &&
                               tigris_check_data(call, params->bias, outputs, sizeof(float)));
}

TIGRIS_KERNEL_ENTRY(tigris_conv_2d_float, CONV_2D, FLOAT32, tigris_conv_float_params, run, check);
