/* Conv2D, int8: run() makes passes over the pixels of a band, each for a group or a block of its output channels, and
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

/* Channels that a pass has at least, and a multiple of: those whose sums the tiles keep. */
#if HAS_TILES && defined(TIGRIS_DSP)
#define PASS_BLOCK 32
#else
#define PASS_BLOCK TIGRIS_PAIR_ROWS
#endif

/* Computes the channels of a pass for all pixels. */
#if HAS_PIXEL1
TIGRIS_HOT
static void run_pass(const conv_pass *pass)
{
    const int32_t pixels = pixels_of(pass->call);
    int32_t first = 0;
#if HAS_TILES && defined(TIGRIS_PIXELS4)
    first = run_first_pixels4(pass);
#endif
#if HAS_TILES && defined(TIGRIS_DSP)
    if (has_patches3(pass->call)) {
        run_patches3(pass);
        return;
    }
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
        run_pixels2(pass, first, single);
    }
}
#else
TIGRIS_INLINE void run_pass(const conv_pass *pass)
{
    run_pixels2(pass, 0, 0);
}
#endif

/* The taps of an output channel. */
static inline int32_t taps_of(const tigris_kernel_call *call)
{
    const tigris_conv_int8_params *params = tigris_params(call);
    return params->kernel_height * params->kernel_width * (int32_t)tigris_input_tensor(call, 0)->channels /
           params->groups;
}

/* Makes the passes. Each computes the channels of a group or, if their weights exceed a flash cache, a block of them. */
TIGRIS_HOT
static void run(const tigris_kernel_call *call)
{
    const tigris_conv_int8_params *params = tigris_params(call);
    const int32_t channels = (int32_t)tigris_output_tensor(call)->channels, outputs = channels / params->groups;
    const int32_t taps = taps_of(call), most = tigris_pass_rows(taps, outputs, PASS_BLOCK);
    conv_pass pass = {call, tigris_int8_data(call, params->weights), 0, 0};
    while (pass.channel < channels) {
        const int32_t left = outputs - pass.channel % outputs, count = left < most ? left : most;
        pass.end = pass.channel + count;
        run_pass(&pass);
        pass.weights += count * taps;
        pass.channel = pass.end;
    }
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
