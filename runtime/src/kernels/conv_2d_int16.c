/* Conv2D and depthwise Conv2D of int16 with weights of int8, and Conv2D with weights of int16. Simple, not fast. */
#include "int16.h"
#include "tigris_kernels.h"
#include "window.h"

typedef struct conv {
    const tigris_kernel_call *call;
    const tigris_conv_int16_params *params;
    int32_t inputs;        /* channels of the input */
    int32_t width;         /* of the input */
    int32_t depth;         /* input channels that one output channel reads */
    int32_t group_outputs; /* output channels that read the same ones */
    int32_t tap_step;      /* weights from one tap of a channel to the next */
    int32_t channel_step;  /* weights from one output channel to the next */
} conv;

/* Where the taps of a kernel lie whose first one lies at (row, column) of the band. */
typedef struct pixel {
    int32_t row;
    int32_t column;
    tigris_taps rows;
    tigris_taps columns;
} pixel;

/* Products of one tap's channels, from weight number `weight` on. */
static int64_t sum_tap(const conv *c, const int16_t *input, int32_t weight)
{
    if (c->params->weight_bytes == 1U) {
        return tigris_dot_int16(input, tigris_int8_data(c->call, c->params->weights) + weight, c->depth);
    }
    const int16_t *weights = tigris_int16_data(c->call, c->params->weights) + weight;
    int64_t sum = 0;
    for (int32_t k = 0; k < c->depth; k++) {
        sum += input[k] * weights[k];
    }
    return sum;
}

static uint64_t sum_taps(const conv *c, const pixel *at, int32_t channel)
{
    const tigris_conv_int16_params *params = c->params;
    const int16_t *data = (const int16_t *)(const void *)c->call->inputs[0].data + channel / c->group_outputs * c->depth;
    const int32_t kernel = channel * c->channel_step;
    uint64_t sum = (uint64_t)tigris_int64_at(c->call, params->bias, (uint32_t)channel);
    for (int32_t i = at->rows.first; i < at->rows.end; i++) {
        const int32_t row = (at->row + i * params->dilation_height) * c->width;
        for (int32_t j = at->columns.first; j < at->columns.end; j++) {
            const int32_t place = row + at->column + j * params->dilation_width;
            const int32_t tap = i * params->kernel_width + j;
            sum += (uint64_t)sum_tap(c, data + place * c->inputs, kernel + tap * c->tap_step);
        }
    }
    return sum;
}

static void run_pixels(const conv *c)
{
    const tigris_conv_int16_params *params = c->params;
    const tigris_band *in = &c->call->inputs[0];
    const tigris_tensor_record *output = c->call->output->tensor;
    const int32_t *multiplier = tigris_int32_data(c->call, params->multiplier);
    const int8_t *shift = tigris_int8_data(c->call, params->shift);
    const tigris_sum_stage stage = {params->sum_bits, params->activation_min, params->activation_max};
    int16_t *to = tigris_int16_output(c->call);
    for (int32_t y = 0; y < c->call->output->rows; y++) {
        pixel at;
        at.row = y * params->stride_height - in->pad_top;
        at.rows = tigris_valid_taps(at.row, params->kernel_height, params->dilation_height, in->rows);
        for (int32_t x = 0; x < (int32_t)output->width; x++) {
            at.column = x * params->stride_width - params->pad_left;
            at.columns = tigris_valid_taps(at.column, params->kernel_width, params->dilation_width, c->width);
            for (int32_t channel = 0; channel < (int32_t)output->channels; channel++) {
                *to++ = tigris_to_int16((int64_t)sum_taps(c, &at, channel), multiplier[channel], shift[channel], &stage);
            }
        }
    }
}

static void run(const tigris_kernel_call *call)
{
    const tigris_conv_int16_params *params = call->params;
    const tigris_tensor_record *input = call->inputs[0].tensor;
    const int32_t depth = (int32_t)input->channels / params->groups;
    const conv c = {call, params, (int32_t)input->channels, (int32_t)input->width, depth,
                    (int32_t)call->output->tensor->channels / params->groups, depth,
                    params->kernel_height * params->kernel_width * depth};
    run_pixels(&c);
}

static void run_depthwise(const tigris_kernel_call *call)
{
    const tigris_conv_int16_params *params = call->params;
    const tigris_tensor_record *input = call->inputs[0].tensor;
    const int32_t outputs = (int32_t)call->output->tensor->channels;
    const conv c = {call, params, (int32_t)input->channels, (int32_t)input->width, 1,
                    outputs / (int32_t)input->channels, outputs, 1};
    run_pixels(&c);
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

const tigris_kernel_entry tigris_conv_2d_int16 = {TIGRIS_OP_KIND_CONV_2D, TIGRIS_DTYPE_INT16,
                                                  sizeof(tigris_conv_int16_params), run, check};
const tigris_kernel_entry tigris_depthwise_conv_2d_int16 = {TIGRIS_OP_KIND_DEPTHWISE_CONV_2D, TIGRIS_DTYPE_INT16,
                                                            sizeof(tigris_conv_int16_params), run_depthwise,
                                                            check_depthwise};
