/* Pixels of a 1x1 convolution three at a time, which share the loads of weights: with DSP instructions all of them but two or
 * four at the most, elsewhere, where pairs are as fast, the last three of an odd number, so that none of them is computed
 * by itself. block_int8.h says how sums are made. */
#ifndef TIGRIS_THREE_PIXELS_INT8_H
#define TIGRIS_THREE_PIXELS_INT8_H

#include "access.h"
#include "block_int8.h"
#include "scale_int8.h"
#include "tigris_kernels.h"

/* How many threes the last pixels are. Pixels lie behind each other, in the input as in the output; their taps are whole
 * tiles that fit a patch, and output channels are whole blocks. */
static TIGRIS_NOINLINE int32_t tigris_threes(const tigris_kernel_call *call)
{
    const tigris_conv_int8_params *params = call->params;
    const uint32_t width = call->output->tensor->width, depth = call->inputs[0].tensor->channels;
    const uint32_t taps = (uint32_t)params->kernel_height * params->kernel_width;
    const uint32_t stride = (uint32_t)params->stride_height * params->stride_width;
    const int32_t pixels = call->output->rows * (int32_t)width;
    if (pixels < 3 || taps * stride * params->groups != 1U || call->inputs[0].tensor->width != width ||
        params->pad_left != 0 || call->inputs[0].rows != call->output->rows || call->inputs[0].pad_top != 0 ||
        depth > TIGRIS_PATCH_TAPS || (depth & (TIGRIS_TILE_TAPS - 1)) != 0U ||
        (call->output->tensor->channels & (TIGRIS_CHANNEL_BLOCK - 1)) != 0U) {
        return 0;
    }
    return tigris_threes_of(pixels);
}

/* The three pixels before the last `behind`. */
static TIGRIS_NOINLINE TIGRIS_FLATTEN void tigris_run_three(const tigris_kernel_call *call, int32_t behind)
{
    const tigris_conv_int8_params *params = call->params;
    const int32_t depth = (int32_t)call->inputs[0].tensor->channels;
    const int32_t channels = (int32_t)call->output->tensor->channels;
    const int32_t before = call->output->rows * (int32_t)call->output->tensor->width - behind - 3;
    const int8_t *input = (const int8_t *)(const void *)call->inputs[0].data + before * depth;
    int8_t *output = tigris_int8_output(call) + before * channels;
    const int8_t *weights = tigris_int8_data(call, params->weights);
    const int32_t *bias = tigris_int32_data(call, params->bias);
    const int32_t *multipliers = tigris_int32_data(call, params->multiplier);
    const int8_t *shifts = tigris_int8_data(call, params->shift);
    const tigris_output_stage stage = {params->output_zero_point, params->activation_min, params->activation_max};
    const int32_t usual_above = tigris_usual_above(stage);
    const uint32_t block_bias = tigris_block_bias(depth);
    uint32_t patch[TIGRIS_THREE_WORDS];
    tigris_fill_three(patch, input, depth);
    for (const int8_t *const end = output + channels; output != end;) {
        uint32_t sums[3 * TIGRIS_CHANNEL_BLOCK];
        for (int32_t i = 0; i < 3 * TIGRIS_CHANNEL_BLOCK; i += 3) {
            tigris_begin(&sums[i], &sums[i + 1], *bias, block_bias);
            sums[i + 2] = (uint32_t)*bias++;
        }
        tigris_add_three(patch, input + 2 * depth, weights, depth, sums);
        weights += depth * TIGRIS_CHANNEL_BLOCK;
        for (const uint32_t *sum = sums; sum != sums + 3 * TIGRIS_CHANNEL_BLOCK; sum += 3) {
            const int32_t multiplier = *multipliers++, shift = *shifts++;
            uint32_t a;
            uint32_t b;
            uint32_t c = sum[2];
            tigris_end(sum, &a, &b);
            if (tigris_scales_usually(multiplier, shift, usual_above)) {
                const tigris_scale scale = tigris_scale_of(multiplier, shift, stage);
                c = (uint32_t)tigris_scale_usually(c, scale, stage);
                b = (uint32_t)tigris_scale_usually(b, scale, stage);
                a = (uint32_t)tigris_scale_usually(a, scale, stage);
            } else {
                c = (uint32_t)tigris_scale_otherwise(c, multiplier, shift, stage);
                b = (uint32_t)tigris_scale_otherwise(b, multiplier, shift, stage);
                a = (uint32_t)tigris_scale_otherwise(a, multiplier, shift, stage);
            }
            output[2 * channels] = (int8_t)c;
            output[channels] = (int8_t)b;
            *output++ = (int8_t)a;
        }
    }
}

#endif
