/* Conv2D, int8, with groups: run() chooses the function of a call. Output pixels are computed in tiles of two; a tile's
 * pixels need not be adjacent (conv_pixels2_int8.h). Tiles of four and three serve processors and shapes that allow
 * them (conv_pixels4_int8.h, conv_pixels3_int8.h, conv_1x1_int8.h); conv_pixel1_int8.h computes a last odd pixel.
 *
 * With TIGRIS_WEIGHT_ZEROS weights have zero points: an output's sum loses its zero point times the sum of its taps. */
#ifndef TIGRIS_CONV_2D_INT8_H
#define TIGRIS_CONV_2D_INT8_H

#include "access.h"
#include "block_int8.h"
#include "check.h"
#include "instruction_set.h"
#include "conv_1x1_int8.h"
#include "rows_int8.h"
#include "scale_int8.h"
#include "tigris_kernels.h"
#include "window.h"

#if TIGRIS_MVE
#include "mve/mve.h"
#endif


#define BLOCK TIGRIS_CHANNEL_BLOCK
/* At -Os a tile of two computes a last odd pixel twice instead. */
#if defined(__OPTIMIZE_SIZE__)
#define HAS_PIXEL1 0
#else
#define HAS_PIXEL1 1
#endif

#if defined(TIGRIS_PIXELS4) && HAS_PIXEL1 && !TIGRIS_WEIGHT_ZEROS
#define HAS_PIXELS4 1
#else
#define HAS_PIXELS4 0
#endif

#if defined(TIGRIS_DSP) && HAS_PIXEL1 && !TIGRIS_WEIGHT_ZEROS
#define HAS_PIXELS3 1
#else
#define HAS_PIXELS3 0
#endif

#include "conv_pixels_int8.h"

#include "conv_pixels2_int8.h"
#include "conv_pixel1_int8.h"
#include "conv_pixels4_int8.h"
#include "conv_pixels3_int8.h"

#if HAS_PIXEL1
#if !TIGRIS_WEIGHT_ZEROS
/* The pixels from `first` on, at least two, of a call for which tigris_dense_1x1_pixels is not 0. */
static TIGRIS_NOINLINE void run_dense_1x1(const tigris_kernel_call *call, int32_t first)
{
    const int32_t pixels = pixels_of(call), paired = pixels - 3 * tigris_count_pixels3(pixels - first);
#if defined(TIGRIS_DSP)
    for (; first != paired; first += 2) {
        tigris_run_1x1_pixels2(call, first);
    }
    for (; first != pixels; first += 3) {
        tigris_run_1x1_pixels3(call, first);
    }
#else
    if (paired != pixels) {
        tigris_run_1x1_pixels3(call, paired);
    }
    if (paired != first) {
        run_pixels2(call, first, pixels - paired);
    }
#endif
}
#endif

/* The pixels from `first` on. Calls of run_pixels2 come last: they need the most stack. */
static TIGRIS_NOINLINE void run_remaining(const tigris_kernel_call *call, int32_t first)
{
#if !TIGRIS_WEIGHT_ZEROS
    if (tigris_dense_1x1_pixels(call) != 0) {
        run_dense_1x1(call, first);
        return;
    }
#endif
#if HAS_PIXELS3
    if (has_pixels3(call)) {
        run_pixels3_rows(call);
        return;
    }
#endif
    int32_t skip_last = 0;
    if (has_single_last(call)) {
        run_last_pixel(call);
        skip_last = 1;
    }
    if (first + skip_last != pixels_of(call)) {
        run_pixels2(call, first, skip_last);
    }
}
#endif

static void run(const tigris_kernel_call *call)
{
#if !TIGRIS_WEIGHT_ZEROS
#if TIGRIS_MVE
    if (tigris_mve_conv_2d(call)) {
        return;
    }
#endif
#endif
#if HAS_PIXELS4
    const int32_t first = run_first_pixels4(call);
    if (first != pixels_of(call)) {
        run_remaining(call, first);
    }
#elif HAS_PIXEL1
    run_remaining(call, 0);
#else
    run_pixels2(call, 0, 0);
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
