/* Inner loops of the depthwise convolution: 3x3 kernels along lines of outputs, one channel at a time, and runs of taps
 * of four channels. dsp/depthwise_int8.h and portable/depthwise_int8.h implement them.
 *
 * A line is a row or a column of the output, whichever takes less. It reads three lanes of the input: the rows or
 * columns under the kernel. A column of a line is the three bytes side by side in the lanes. Each byte is loaded
 * once per line and added to all outputs that it belongs to. */
#ifndef TIGRIS_DEPTHWISE_INT8_H
#define TIGRIS_DEPTHWISE_INT8_H

#include "block_int8.h"
#include "scale_int8.h"

/* Except at -Os, single rows have a loop of their own, and lines one for channels with any shift. Without optimisation
 * compilers lack registers for them. */
#if defined(__OPTIMIZE__) && !defined(__OPTIMIZE_SIZE__)
#define TIGRIS_HAS_ROW_LOOP 1
#else
#define TIGRIS_HAS_ROW_LOOP 0
#endif

/* Whether weights and bias of a channel may be doubled: neither nine products and the bias nor the zero point in the
 * scale of doubled sums overflows. Exceptions are channels that training has switched off, and outputs whose scale is no
 * larger than that of the products. */
static inline int tigris_can_double(int32_t bias, int32_t shift)
{
    return TIGRIS_LIKELY((uint32_t)(shift + 20) < 20U && (uint32_t)bias + (1U << 29) < 1U << 30);
}

#if defined(TIGRIS_DSP)
/* Weights of a lane, in pairs. */
typedef struct tigris_lane_taps {
    tigris_pair begin; /* w0 and w1 */
    tigris_pair end;   /* w1 and w2 */
} tigris_lane_taps;

/* One channel. Weights of a lane outside the input are 0: its products with the padding are added to the bias. */
typedef struct tigris_line_channel {
    tigris_lane_taps taps[3];  /* of each lane */
    uint32_t bias;
    uint32_t padded[2];        /* products of a column of padding as column 0 and as column 2 of an output */
    tigris_scale scale;        /* on the fast path for doubled sums: taps and bias are doubled */
    int32_t multiplier;
    int32_t shift;
} tigris_line_channel;
#endif

/* Constants of the loop over all lines of a call. Steps are in bytes. */
typedef struct tigris_line_loop {
#if defined(TIGRIS_DSP)
    tigris_line_channel channel; /* the current one */
    int32_t inside;              /* lines with all lanes inside; -1: the only line has the middle lane alone inside */
#endif
    const int8_t *weights;
    const int32_t *bias;
    const int32_t *multiplier;
    const int8_t *shift;
    int32_t channels;
    int32_t along;             /* taps from a weight of a lane to its next: 1 or 3 */
    int32_t across;            /* taps from a lane's weights to the next lane's: 3 or 1 */
    int32_t lane[3];           /* bytes from the middle lane to itself, the one before, the one after; 0: outside */
    int32_t padding;           /* the input's zero point */
    tigris_output_stage output;
    int32_t stride;            /* along a line, 1 or 2 */
    int32_t step;              /* from a column to the next */
    int32_t line_step;         /* from a line to the next */
    int32_t output_step;       /* from an output to the next */
    int32_t output_line_step;
    int32_t left;              /* 1: the first column is padding */
    int32_t columns;           /* columns inside, at least one */
    int32_t right;             /* 1: the last column is padding */
    int32_t lines;
    int32_t before;            /* 1: the first line has the lane before outside */
    int32_t after;             /* 1: the last line has the lane after outside */
} tigris_line_loop;

/* The taps of a channel, in the order of `lane`. */
typedef struct tigris_line_taps {
    const int8_t *lane[3];
    int32_t stride; /* bytes from a tap of a lane to the next */
} tigris_line_taps;

static inline tigris_line_taps tigris_channel_taps(const tigris_line_loop *loop, int32_t channel)
{
    const int32_t place = channel & (TIGRIS_CHANNEL_BLOCK - 1), left = loop->channels - (channel - place);
    const int32_t lanes = left < TIGRIS_CHANNEL_BLOCK ? left : TIGRIS_CHANNEL_BLOCK;
    const int8_t *before = loop->weights + (channel - place) * 9 + place;
    const int8_t *middle = before + loop->across * lanes;
    const tigris_line_taps taps = {{middle, before, middle + loop->across * lanes}, loop->along * lanes};
    return taps;
}

/* Whether lines are rows with padding on both sides and all lanes inside, in whole blocks, of stride 1. */
static inline int tigris_is_plain_row(const tigris_line_loop *loop)
{
    return (loop->left & loop->right) != 0 && loop->stride == 1 && loop->along == 1 && loop->step == loop->output_step &&
           loop->lane[1] != 0 && loop->lane[2] != 0 && (loop->channels & (TIGRIS_CHANNEL_BLOCK - 1)) == 0;
}

#if defined(TIGRIS_DSP)
#include "dsp/depthwise_int8.h"
#else
#include "portable/depthwise_int8.h"
#endif

#endif
