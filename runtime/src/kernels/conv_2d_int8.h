/* Conv2D, int8, with groups: run() makes passes over the pixels of a band, each for a block of output channels, and
 * run() and run_pass() choose their functions. Pixels are computed in tiles of two; a tile's pixels need not be adjacent
 * (conv_pixels2_int8.h). Tiles of four and three serve processors and shapes that allow them (conv_1x1_int8.h,
 * conv_pixels4_int8.h, conv_patch3_int8.h, conv_pixels3_int8.h); conv_pixel1_int8.h computes a last odd pixel.
 *
 * With TIGRIS_WEIGHT_ZEROS weights have zero points: an output's sum loses its zero point times the sum of its taps. */
#ifndef TIGRIS_CONV_2D_INT8_H
#define TIGRIS_CONV_2D_INT8_H

#include "access.h"
#include "block_int8.h"
#include "check.h"
#include "rows_int8.h"
#include "scale_int8.h"
#include "set.h"
#include "tigris_kernels.h"
#include "window.h"

#define BLOCK TIGRIS_CHANNEL_BLOCK
/* At -Os a tile of two computes a last odd pixel twice instead. */
#if defined(__OPTIMIZE_SIZE__)
#define HAS_PIXEL1 0
#else
#define HAS_PIXEL1 1
#endif

#if (defined(TIGRIS_PIXELS4) || defined(TIGRIS_DSP)) && HAS_PIXEL1 && !TIGRIS_WEIGHT_ZEROS
#define HAS_TILES 1
#else
#define HAS_TILES 0
#endif

#include "conv_pixels_int8.h"

#include "conv_pixels2_int8.h"
#include "conv_pixel1_int8.h"
#include "conv_1x1_int8.h"
#include "conv_patch3_int8.h"
#include "conv_pixels4_int8.h"
#include "conv_pixels3_int8.h"

#if HAS_PIXEL1
/* Weights of one pass over the pixels, in bytes. A pass reads its weights again for each pixel tile, from flash through
 * a cache of 16 KB, which also holds the code: larger layers take several passes. At -Os there is one. One constant
 * serves all chips. With 16,384 visual wake words takes as many cycles before a cache of 32 KB and 13 % more before one
 * of 16 KB. Without waiting it takes .03 % fewer. 4,096 saves 9 % before 8 KB (bench.cycles --memory 8192,4,32,160). */
#define PASS_BYTES 8192
/* Channels that a pass has at least, and a multiple of: those whose sums the tiles of conv_pixels*_int8.h keep. */
#if defined(TIGRIS_DSP)
#define PASS_BLOCK 32
#else
#define PASS_BLOCK 16
#endif

/* The output channels of a pass. A convolution with groups reads the weights of one group at a time: one pass. */
TIGRIS_HOT
static int32_t channels_of_pass(const tigris_kernel_call *call)
{
    const tigris_conv_int8_params *params = tigris_params(call);
    const int32_t channels = (int32_t)tigris_output_tensor(call)->channels;
    if (params->groups != 1) {
        return channels;
    }
    const int32_t taps = params->kernel_height * params->kernel_width * (int32_t)tigris_input_tensor(call, 0)->channels;
    if (taps * channels <= 3 * PASS_BYTES / 2) {
        return channels;
    }
    return taps < PASS_BYTES / PASS_BLOCK ? PASS_BYTES / taps & ~(PASS_BLOCK - 1) : PASS_BLOCK;
}

/* run_pixels2 outside the loop over passes, which would lack registers. */
static TIGRIS_NOINLINE void run_remaining(const conv_pass *pass, int32_t first, int32_t skip_last)
{
    run_pixels2(pass, first, skip_last);
}

/* Computes the channels of a pass for all pixels. */
TIGRIS_HOT
static void run_pass(const conv_pass *pass)
{
    const int32_t pixels = pixels_of(pass->call);
    int32_t first = 0;
#if HAS_TILES && defined(TIGRIS_PIXELS4)
    first = run_first_pixels4(pass);
#endif
#if HAS_TILES && defined(TIGRIS_DSP)
    if (has_pixels3(pass->call)) {
        run_pixels3_rows(pass);
        return;
    }
#endif
    if (first == pixels) {
        return;
    }
    const int32_t single = has_single_last(pass->call);
    if (single) {
        run_last_pixel(pass);
    }
    if (first + single < pixels) {
        run_remaining(pass, first, single);
    }
}
#endif

#if HAS_PIXEL1
/* All passes of `step` channels. */
static TIGRIS_NOINLINE void run_passes(const tigris_kernel_call *call, int32_t step)
{
    const int32_t channels = (int32_t)tigris_output_tensor(call)->channels;
    conv_pass pass = {call, 0, channels};
    for (; pass.channel < channels; pass.channel += step) {
        pass.end = channels - pass.channel < step ? channels : pass.channel + step;
        run_pass(&pass);
    }
}
#endif

TIGRIS_HOT
static void run(const tigris_kernel_call *call)
{
#if HAS_PIXEL1
    const int32_t step = channels_of_pass(call);
#if HAS_TILES && defined(TIGRIS_DSP)
    if (has_patches3(call)) {
        run_patches3(call, step);
        return;
    }
#endif
    run_passes(call, step);
#else
    const conv_pass pass = {call, 0, (int32_t)tigris_output_tensor(call)->channels};
    run_pixels2(&pass, 0, 0);
#endif
}

static tigris_status check(const tigris_check_call *call)
{
    const uint32_t groups = ((const tigris_conv_int8_params *)call->params)->groups;
    if (groups == 0U || call->op->operand_count != 1U) {
        return TIGRIS_ERR_PARAMS;
    }
    const uint32_t inputs = call->inputs[0]->channels;
    return tigris_check_result(inputs % groups == 0U && call->output->channels % groups == 0U &&
                               tigris_check_conv_int8(call, inputs / groups));
}

#endif
