/* ASYMMETRIC_DEPTHWISE_CONV_2D, int8: weights with zero points. The plan stores the differences of weight and zero
 * point in 16 bits. Outputs are computed pixel by pixel, LANES channels at a time. */
#include "access.h"
#include "check.h"
#include "scale_int8.h"
#include "tigris_kernels.h"
#include "window.h"

#define LANES 8

typedef struct depthwise {
    const tigris_conv_int8_params *params;
    const tigris_band *in;
    const int16_t *weights;
    const int32_t *bias;
    uint32_t outputs;
    uint32_t multiplier; /* outputs of an input channel */
} depthwise;

typedef struct pixel {
    int32_t row; /* of its first tap in the band */
    int32_t column;
    tigris_taps rows; /* taps inside */
    tigris_taps columns;
} pixel;

/* Adds a tap of `lanes` channels from `channel` on; `in` is NULL if the tap is padding. */
static void add_tap(const depthwise *d, const int8_t *in, const int16_t *w, uint32_t channel, uint32_t lanes,
                    uint32_t *sums)
{
    if (in == NULL) {
        for (uint32_t i = 0; i < lanes; i++) {
            sums[i] += (uint32_t)(d->params->input_zero_point * w[i]);
        }
    } else if (d->multiplier == 1U) {
        in += channel;
        for (uint32_t i = 0; i < lanes; i++) {
            sums[i] += (uint32_t)(in[i] * w[i]);
        }
    } else {
        for (uint32_t i = 0; i < lanes; i++) {
            sums[i] += (uint32_t)(in[(channel + i) / d->multiplier] * w[i]);
        }
    }
}

static void sum_taps(const depthwise *d, const pixel *at, uint32_t channel, uint32_t lanes, uint32_t *sums)
{
    const tigris_conv_int8_params *params = d->params;
    const tigris_tensor_record *tensor = tigris_tensor_of(d->in);
    const int16_t *w = d->weights + channel;
    for (uint32_t i = 0; i < lanes; i++) {
        sums[i] = (uint32_t)d->bias[channel + i];
    }
    for (int32_t i = 0; i < params->kernel_height; i++) {
        const int row_inside = i >= at->rows.first && i < at->rows.end;
        for (int32_t j = 0; j < params->kernel_width; j++) {
            const int8_t *in = NULL;
            if (row_inside && j >= at->columns.first && j < at->columns.end) {
                const uint32_t row = (uint32_t)(at->row + i * params->dilation_height);
                const uint32_t column = (uint32_t)(at->column + j * params->dilation_width);
                in = (const int8_t *)(const void *)d->in->data + (row * tensor->width + column) * tensor->channels;
            }
            add_tap(d, in, w, channel, lanes, sums);
            w += d->outputs;
        }
    }
}

static void run(const tigris_kernel_call *call)
{
    const tigris_conv_int8_params *params = tigris_params(call);
    const tigris_output_stage stage = {params->output_zero_point, params->activation_min, params->activation_max};
    const int32_t *multiplier = tigris_int32_data(call, params->multiplier);
    const int8_t *shift = tigris_int8_data(call, params->shift);
    depthwise d;
    d.params = params;
    d.in = tigris_input_band(call, 0);
    d.weights = (const int16_t *)(const void *)(tigris_weights(call) + params->weights);
    d.bias = tigris_int32_data(call, params->bias);
    d.outputs = tigris_output_tensor(call)->channels;
    d.multiplier = d.outputs / tigris_tensor_of(d.in)->channels;
    int8_t *to = tigris_int8_output(call);
    for (int32_t y = 0; y < tigris_output_rows(call); y++) {
        pixel at;
        at.row = y * params->stride_height - tigris_pad_top(d.in);
        at.rows = tigris_valid_taps(at.row, params->kernel_height, params->dilation_height, tigris_row_count(d.in));
        for (uint32_t x = 0; x < tigris_output_tensor(call)->width; x++) {
            at.column = (int32_t)x * params->stride_width - params->pad_left;
            at.columns = tigris_valid_taps(at.column, params->kernel_width, params->dilation_width,
                                           (int32_t)tigris_tensor_of(d.in)->width);
            for (uint32_t channel = 0; channel < d.outputs; channel += LANES) {
                const uint32_t lanes = d.outputs - channel < LANES ? d.outputs - channel : LANES;
                uint32_t sums[LANES];
                sum_taps(&d, &at, channel, lanes, sums);
                tigris_requantise_channels(sums, (int32_t)lanes, multiplier + channel, shift + channel, 1, &stage, to);
                to += lanes;
            }
        }
    }
}

static tigris_status check(const tigris_check_call *call)
{
    const tigris_conv_int8_params *params = call->params;
    if (call->op->operand_count != 1U) {
        return TIGRIS_ERR_PARAMS;
    }
    const uint32_t outputs = call->output->channels;
    const uint32_t weights = tigris_multiply((uint32_t)params->kernel_height * params->kernel_width, outputs);
    return tigris_check_result(outputs % call->inputs[0]->channels == 0U && tigris_check_conv_int8(call, 1U) &&
                               tigris_check_data(call, params->weights, weights, sizeof(int16_t)));
}

TIGRIS_KERNEL_ENTRY(tigris_asymmetric_depthwise_conv_2d_int8, ASYMMETRIC_DEPTHWISE_CONV_2D, INT8,
                    tigris_conv_int8_params, run, check);
