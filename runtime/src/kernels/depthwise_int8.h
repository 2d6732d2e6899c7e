/* The loops of the depthwise convolution: 3x3 kernels along lines of outputs, a channel at a time, and runs of taps of
 * four channels. What depends on the machine is in dsp/depthwise_int8.h and portable/depthwise_int8.h.
 *
 * A line is a row or a column of the output. It reads three lanes of the input; a column is the three bytes of the
 * lanes side by side. Each byte is loaded once a line and goes to all outputs it belongs to. */
#ifndef TIGRIS_DEPTHWISE_INT8_H
#define TIGRIS_DEPTHWISE_INT8_H

#include "block_int8.h"
#include "scale_int8.h"

/* What lines of a channel share. Steps are in bytes. */
typedef struct tigris_line_walk {
    const int8_t *taps[3];     /* of the lane in the middle, before, after */
    int32_t apart;             /* from a tap of a lane to its next */
    int32_t lane[3];           /* from the middle lane to this one; 0 for one outside */
#if defined(TIGRIS_DSP)
    int16_t weights[3][4];     /* the taps of each lane as pairs: w0, w1, w1, w2 */
#endif
    int32_t padding;           /* the input's zero point */
    uint32_t bias;
    tigris_scale scale;
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

#if defined(TIGRIS_DSP)
#include "dsp/depthwise_int8.h"
#else
#include "portable/depthwise_int8.h"
#endif

#endif
