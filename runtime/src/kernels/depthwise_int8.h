/* The loops of the depthwise convolution: 3x3 kernels along lines of outputs, a channel at a time, and runs of taps of
 * four channels. What depends on the machine is in dsp/depthwise_int8.h and portable/depthwise_int8.h.
 *
 * A line is a row or a column of the output. It reads three lanes of the input; a column is the three bytes of the
 * lanes side by side. Each byte is loaded once a line and goes to all outputs it belongs to. */
#ifndef TIGRIS_DEPTHWISE_INT8_H
#define TIGRIS_DEPTHWISE_INT8_H

#include "block_int8.h"
#include "scale_int8.h"

/* Where size does not count, rows by themselves have a way of their own, and lines one for channels of any scale. Without
 * optimisation compilers lack registers. */
#if defined(__OPTIMIZE__) && !defined(__OPTIMIZE_SIZE__)
#define TIGRIS_WALKS_ROWS 1
#else
#define TIGRIS_WALKS_ROWS 0
#endif

#if defined(TIGRIS_DSP)
/* A channel. Weights of a lane outside are 0, and its products with the padding part of the bias. */
typedef struct tigris_channel_walk {
    tigris_pair begin[3];      /* of each lane w0 and w1 */
    tigris_pair end[3];        /* w1 and w2 */
    uint32_t bias;
    uint32_t padded[2];        /* what a column of padding adds as column 0 and as column 2 */
    tigris_scale scale;
    int32_t multiplier;
    int32_t shift;
} tigris_channel_walk;
#endif

/* What lines share. Steps are in bytes. */
typedef struct tigris_line_walk {
#if defined(TIGRIS_DSP)
    tigris_channel_walk channel; /* the one that is computed */
#endif
    const int8_t *weights;
    const int32_t *bias;
    const int32_t *multiplier;
    const int8_t *shift;
    int32_t channels;
    int32_t along;             /* taps from a weight of a lane to its next: 1 or 3 */
    int32_t across;            /* taps from a lane's weights to the next lane's: 3 or 1 */
    int32_t lane[3];           /* from the middle lane to this one: in the middle, before, after; 0 for one outside */
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
} tigris_line_walk;

/* The taps of a channel, in the order of `lane`. */
typedef struct tigris_line_taps {
    const int8_t *lane[3];
    int32_t apart; /* from a tap of a lane to its next */
} tigris_line_taps;

static inline tigris_line_taps tigris_channel_taps(const tigris_line_walk *walk, int32_t channel)
{
    const int32_t place = channel & (TIGRIS_CHANNEL_BLOCK - 1), left = walk->channels - (channel - place);
    const int32_t lanes = left < TIGRIS_CHANNEL_BLOCK ? left : TIGRIS_CHANNEL_BLOCK;
    const int8_t *before = walk->weights + (channel - place) * 9 + place;
    const int8_t *middle = before + walk->across * lanes;
    const tigris_line_taps taps = {{middle, before, middle + walk->across * lanes}, walk->along * lanes};
    return taps;
}

/* Whether lines are rows with padding on both sides and all lanes inside, in whole blocks, of stride 1. */
static inline int tigris_is_plain_row(const tigris_line_walk *walk)
{
    return (walk->left & walk->right) != 0 && walk->stride == 1 && walk->along == 1 && walk->step == walk->output_step &&
           walk->lane[1] != 0 && walk->lane[2] != 0 && (walk->channels & (TIGRIS_CHANNEL_BLOCK - 1)) == 0;
}

#if defined(TIGRIS_DSP)
#include "dsp/depthwise_int8.h"
#else
#include "portable/depthwise_int8.h"
#endif

#endif
