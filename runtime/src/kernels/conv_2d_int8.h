/* Conv2D, int8, groups allowed: which of its ways a call goes. Two output pixels are computed together, whichever they are
 * (conv_pairs_int8.h), more where a processor and the kernel allow it (fours_int8.h, threes_int8.h), and a last odd one by
 * itself (conv_single_int8.h).
 *
 * With TIGRIS_WEIGHT_ZEROS weights have zero points, each of which is taken off an output's sum as often as the sum of its
 * taps says. */
#ifndef TIGRIS_CONV_2D_INT8_H
#define TIGRIS_CONV_2D_INT8_H

#include "access.h"
#include "block_int8.h"
#include "check.h"
#include "instruction_set.h"
#include "neighbours_int8.h"
#include "rows_int8.h"
#include "scale_int8.h"
#include "tigris_kernels.h"
#include "window.h"

#if TIGRIS_MVE
#include "mve/mve.h"
#endif

#if TIGRIS_RVV
#include "rvv/rvv.h"
#endif

#define BLOCK TIGRIS_CHANNEL_BLOCK
/* Where size counts, a last odd pixel is computed twice instead. */
#if defined(__OPTIMIZE_SIZE__)
#define TAKES_SINGLES 0
#else
#define TAKES_SINGLES 1
#endif

#if defined(TIGRIS_FOURS) && TAKES_SINGLES && !TIGRIS_WEIGHT_ZEROS
#define TAKES_FOURS 1
#else
#define TAKES_FOURS 0
#endif

#if defined(TIGRIS_DSP) && TAKES_SINGLES && !TIGRIS_WEIGHT_ZEROS
#define TAKES_THREES 1
#else
#define TAKES_THREES 0
#endif

#include "conv_pixels_int8.h"

#include "conv_pairs_int8.h"
#include "conv_single_int8.h"
#include "fours_int8.h"
#include "threes_int8.h"

#if TAKES_SINGLES
#if !TIGRIS_WEIGHT_ZEROS
/* Those of tigris_neighbours from `first` on, two at least. */
static TIGRIS_NOINLINE void run_neighbours(const tigris_kernel_call *call, int32_t first)
{
    const int32_t pixels = pixels_of(call), paired = pixels - 3 * tigris_threes_of(pixels - first);
#if defined(TIGRIS_DSP)
    for (; first != paired; first += 2) {
        tigris_run_pair(call, first);
    }
    for (; first != pixels; first += 3) {
        tigris_run_three(call, first);
    }
#else
    if (paired != pixels) {
        tigris_run_three(call, paired);
    }
    if (paired != first) {
        run_pairs(call, first, pixels - paired);
    }
#endif
}
#endif

/* The pixels from `first` on. Calls of run_pairs come last: they need the most stack. */
static TIGRIS_NOINLINE void run_others(const tigris_kernel_call *call, int32_t first)
{
#if !TIGRIS_WEIGHT_ZEROS
    if (tigris_neighbours(call) != 0) {
        run_neighbours(call, first);
        return;
    }
#endif
#if TAKES_THREES
    if (takes_threes(call)) {
        run_rows(call);
        return;
    }
#endif
    int32_t spared = 0;
    if (takes_single(call)) {
        run_last(call);
        spared = 1;
    }
    if (first + spared != pixels_of(call)) {
        run_pairs(call, first, spared);
    }
}
#endif

static void run(const tigris_kernel_call *call)
{
#if TIGRIS_MVE
#if !TIGRIS_WEIGHT_ZEROS
    if (tigris_mve_conv_2d(call)) {
        return;
    }
#endif
#endif
#if TIGRIS_RVV
#if !TIGRIS_WEIGHT_ZEROS
    if (tigris_rvv_conv_2d(call)) {
        return;
    }
#endif
#endif
#if TAKES_SINGLES
#if TAKES_FOURS
    const int32_t first = run_first_fours(call);
    if (first != pixels_of(call)) {
        run_others(call, first);
    }
#else
    run_others(call, 0);
#endif
#else
    run_pairs(call, 0, 0);
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
