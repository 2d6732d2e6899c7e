/* ASYMMETRIC_DEPTHWISE_CONV_2D, int8: weights with zero points. The plan stores the differences of weight and zero
 * point in 16 bits. Outputs are computed pixel by pixel, LANES channels at a time. */
#include "access.h"
#include "check.h"
#include "scale_int8.h"
#include "tigris_kernels.h"
#include "window.h"

#define LANES 8

/* Adds a tap of `lanes` channels from `channel` on; `in` is NULL if the tap is padding. */
static void add_tap(const tigris_kernel_call *call, const int8_t *in, const int16_t *w, uint32_t channel,
                    uint32_t lanes, uint32_t *sums)
{
    const tigris_conv_int8_params *params = tigris_params(call);
    const uint32_t multiplier = tigris_output_tensor(call)->channels / tigris_input_tensor(call, 0)->channels;
    if (in == NULL) {
        for (uint32_t i = 0; i < lanes; i++) {
            sums[i] += (uint32_t)(params->input_zero_point * w[i]);
        }
    } else if (multiplier == 1U) {
        in += channel;
        for (uint32_t i = 0; i < lanes; i++) {
            sums[i] += (uint32_t)(in[i] * w[i]);
        }
    } else {
        for (uint32_t i = 0; i < lanes; i++) {
            sums[i] += (uint32_t)(in[(channel + i) / multiplier] * w[i]);
        }
    }
}

static void sum_taps(const tigris_kernel_call *call, const tigris_pixel *at, uint32_t channel, uint32_t lanes,
                     uint32_t *sums)
{
    const tigris_conv_int8_params *params = tigris_params(call);
    const int16_t *w = (const int16_t *)(const void *)(tigris_weights(call) + params->weights) + channel;
    const int32_t *bias = tigris_int32_data(call, params->bias) + channel;
    for (uint32_t i = 0; i < lanes; i++) {
        sums[i] = (uint32_t)bias[i];
    }
    for (int32_t i = 0; i < params->kernel_height; i++) {
        const int row_inside = i >= at->rows.first && i < at->rows.end;
        for (int32_t j = 0; j < params->kernel_width; j++) {
            const int8_t *in = NULL;
            if (row_inside && j >= at->columns.first && j < at->columns.end) {
                in = tigris_int8_input(call) + tigris_tap_offset(call, at, i, j);
            }
            add_tap(call, in, w, channel, lanes, sums);
            w += tigris_output_tensor(call)->channels;
        }
    }
}

static void run(const tigris_kernel_call *call)
{
    const tigris_conv_int8_params *params = tigris_params(call);
    const tigris_output_stage stage = {params->output_zero_point, params->activation_min, params->activation_max};
    const int32_t *multiplier = tigris_int32_data(call, params->multiplier);
    const int8_t *shift = tigris_int8_data(call, params->shift);
    const uint32_t outputs = tigris_output_tensor(call)->channels;
    int8_t *to = tigris_int8_output(call);
    tigris_pixel_loop loop;
    for (tigris_start_pixels(&loop, call, 0); loop.left > 0; tigris_next_pixel(&loop)) {
        for (uint32_t channel = 0; channel < outputs; channel += LANES) {
            const uint32_t lanes = outputs - channel < LANES ? outputs - channel : LANES;
            uint32_t sums[LANES];
            sum_taps(call, &loop.pixel, channel, lanes, sums);
            tigris_requantise_channels(sums, (int32_t)lanes, multiplier + channel, shift + channel, 1, &stage, to);
            to += lanes;
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
