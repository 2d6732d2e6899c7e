/* Dense 1x1 convolutions: stride 1, no padding, so pixels are contiguous in input and output. With DSP instructions
 * tiles of three pixels share the loads of weights, and tiles of two take the two or four that are left. Elsewhere
 * tiles of two are as fast; one tile of three takes the last pixels of an odd number. block_int8.h has the
 * arithmetic. */
#ifndef TIGRIS_CONV_1X1_INT8_H
#define TIGRIS_CONV_1X1_INT8_H

#include "access.h"
#include "block_int8.h"
#include "scale_int8.h"
#include "tigris_kernels.h"

/* Returns the number of pixels of a dense 1x1 call, or 0 for any other call. A dense 1x1 call also has one group, at
 * least two pixels, at most TIGRIS_PATCH_TAPS input channels in whole weight tiles (TIGRIS_TILE_TAPS), and output
 * channels in whole blocks (TIGRIS_CHANNEL_BLOCK). */
static TIGRIS_NOINLINE int32_t tigris_dense_1x1_pixels(const tigris_kernel_call *call)
{
    const tigris_conv_int8_params *params = tigris_params(call);
    const uint32_t width = tigris_output_tensor(call)->width, depth = tigris_input_tensor(call, 0)->channels;
    const uint32_t taps = (uint32_t)params->kernel_height * params->kernel_width;
    const uint32_t stride = (uint32_t)params->stride_height * params->stride_width;
    const int32_t pixels = tigris_output_rows(call) * (int32_t)width;
    if (pixels < 2 || taps * stride * params->groups != 1U || tigris_input_tensor(call, 0)->width != width ||
        params->pad_left != 0 || tigris_input_rows(call, 0) != tigris_output_rows(call) ||
        tigris_pad_top(tigris_input_band(call, 0)) != 0 || depth > TIGRIS_PATCH_TAPS ||
        (depth & (TIGRIS_TILE_TAPS - 1)) != 0U ||
        (tigris_output_tensor(call)->channels & (TIGRIS_CHANNEL_BLOCK - 1)) != 0U) {
        return 0;
    }
    return pixels;
}

/* Three pixels from `first` on. tigris_run_1x1_pixels2 repeats the text: in one function for both compilers keep fewer
 * pointers in registers. */
static TIGRIS_NOINLINE TIGRIS_FLATTEN void tigris_run_1x1_pixels3(const tigris_kernel_call *call, int32_t first)
{
    const tigris_conv_int8_params *params = tigris_params(call);
    const int32_t depth = (int32_t)tigris_input_tensor(call, 0)->channels;
    const int32_t channels = (int32_t)tigris_output_tensor(call)->channels;
    const int8_t *input = tigris_int8_input(call) + first * depth;
    int8_t *output = tigris_int8_output(call) + first * channels;
    const int8_t *weights = tigris_int8_data(call, params->weights);
    const int32_t *bias = tigris_int32_data(call, params->bias);
    const int32_t *multipliers = tigris_int32_data(call, params->multiplier);
    const int8_t *shifts = tigris_int8_data(call, params->shift);
    const tigris_output_stage stage = {params->output_zero_point, params->activation_min, params->activation_max};
    const int32_t fast_above = tigris_fast_above(stage);
    const uint32_t block_bias = tigris_block_bias(depth);
    uint32_t patch[TIGRIS_PIXELS3_WORDS];
    tigris_fill_pixels3(patch, input, depth);
    for (const int8_t *const end = output + channels; output != end;) {
        uint32_t sums[3 * TIGRIS_CHANNEL_BLOCK];
        for (int32_t i = 0; i < 3 * TIGRIS_CHANNEL_BLOCK; i += 3) {
            tigris_init_pair(&sums[i], &sums[i + 1], *bias, block_bias);
            sums[i + 2] = (uint32_t)*bias++;
        }
        tigris_add_pixels3(patch, input + 2 * depth, weights, depth, sums);
        weights += depth * TIGRIS_CHANNEL_BLOCK;
        for (const uint32_t *sum = sums; sum != sums + 3 * TIGRIS_CHANNEL_BLOCK; sum += 3) {
            const int32_t multiplier = *multipliers++, shift = *shifts++;
            uint32_t a;
            uint32_t b;
            uint32_t c = sum[2];
            tigris_unpack_pair(sum, &a, &b);
            if (tigris_is_fast_scale(multiplier, shift, fast_above)) {
                const tigris_scale scale = tigris_scale_of(multiplier, shift, stage);
                c = (uint32_t)tigris_requantise_fast(c, scale, stage);
                b = (uint32_t)tigris_requantise_fast(b, scale, stage);
                a = (uint32_t)tigris_requantise_fast(a, scale, stage);
            } else {
                c = (uint32_t)tigris_requantise_slow(c, multiplier, shift, stage);
                b = (uint32_t)tigris_requantise_slow(b, multiplier, shift, stage);
                a = (uint32_t)tigris_requantise_slow(a, multiplier, shift, stage);
            }
            output[2 * channels] = (int8_t)c;
            output[channels] = (int8_t)b;
            *output++ = (int8_t)a;
        }
    }
}

/* Two pixels from `first` on. Without DSP instructions run_pixels2 does it: the sums of a block take all registers. */
#if defined(TIGRIS_DSP)
static TIGRIS_NOINLINE TIGRIS_FLATTEN void tigris_run_1x1_pixels2(const tigris_kernel_call *call, int32_t first)
{
    const tigris_conv_int8_params *params = tigris_params(call);
    const int32_t depth = (int32_t)tigris_input_tensor(call, 0)->channels;
    const int32_t channels = (int32_t)tigris_output_tensor(call)->channels;
    const int8_t *input = tigris_int8_input(call) + first * depth;
    int8_t *output = tigris_int8_output(call) + first * channels;
    const int8_t *weights = tigris_int8_data(call, params->weights);
    const int32_t *bias = tigris_int32_data(call, params->bias);
    const int32_t *multipliers = tigris_int32_data(call, params->multiplier);
    const int8_t *shifts = tigris_int8_data(call, params->shift);
    const tigris_output_stage stage = {params->output_zero_point, params->activation_min, params->activation_max};
    const int32_t fast_above = tigris_fast_above(stage);
    const uint32_t block_bias = tigris_block_bias(depth);
    uint32_t patch[TIGRIS_PATCH_TAPS];
    tigris_fill_patch(patch, 0, input, 1, input + depth, 1, depth);
    for (const int8_t *const end = output + channels; output != end;) {
        uint32_t sums[2 * TIGRIS_CHANNEL_BLOCK];
        for (int32_t i = 0; i < 2 * TIGRIS_CHANNEL_BLOCK; i += 2) {
            tigris_init_pair(&sums[i], &sums[i + 1], *bias++, block_bias);
        }
        tigris_add_block(patch, weights, depth & ~(TIGRIS_TILE_TAPS - 1), sums);
        weights += depth * TIGRIS_CHANNEL_BLOCK;
        for (const uint32_t *sum = sums; sum != sums + 2 * TIGRIS_CHANNEL_BLOCK; sum += 2) {
            const int32_t multiplier = *multipliers++, shift = *shifts++;
            uint32_t a;
            uint32_t b;
            tigris_unpack_pair(sum, &a, &b);
            if (tigris_is_fast_scale(multiplier, shift, fast_above)) {
                const tigris_scale scale = tigris_scale_of(multiplier, shift, stage);
                b = (uint32_t)tigris_requantise_fast(b, scale, stage);
                a = (uint32_t)tigris_requantise_fast(a, scale, stage);
            } else {
                b = (uint32_t)tigris_requantise_slow(b, multiplier, shift, stage);
                a = (uint32_t)tigris_requantise_slow(a, multiplier, shift, stage);
            }
            output[channels] = (int8_t)b;
            *output++ = (int8_t)a;
        }
    }
}
#endif

#endif
