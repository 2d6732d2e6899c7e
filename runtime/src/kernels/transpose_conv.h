/* Which kernel taps of a transposed convolution meet an output position, and the shape checks of both
 * element types. The rows that a band does not hold are left out, whatever the plan's row map says. */
#ifndef TIGRIS_TRANSPOSE_CONV_H
#define TIGRIS_TRANSPOSE_CONV_H

#include "access.h"
#include "check.h"

/* Along one axis: kernel * stride and input positions of one output position. */
typedef struct tigris_transpose_axis {
    int32_t kernel;
    int32_t stride;
    int32_t dilation;
    int32_t low; /* input positions in [low, end) exist */
    int32_t end;
} tigris_transpose_axis;

/* `count` taps: kernel index tap, tap + tap_step, … meets input position source, source - source_step, … */
typedef struct tigris_transpose_taps {
    int32_t tap;
    int32_t tap_step;
    int32_t source;
    int32_t source_step;
    int32_t count;
} tigris_transpose_taps;

/* Taps k with position - k * dilation = stride * source for a source that exists. */
static inline tigris_transpose_taps tigris_taps_of(const tigris_transpose_axis *axis, int32_t position)
{
    tigris_transpose_taps taps = {0, axis->stride, 0, axis->dilation, 0};
    /* A tap and the next that fits lie stride / gcd(stride, dilation) apart. */
    int32_t a = axis->stride;
    int32_t b = axis->dilation;
    while (b != 0) {
        const int32_t rest = a % b;
        a = b;
        b = rest;
    }
    taps.tap_step = axis->stride / a;
    taps.source_step = axis->dilation / a;
    while (taps.tap < axis->kernel && taps.tap < axis->stride &&
           (position - taps.tap * axis->dilation) % axis->stride != 0) {
        taps.tap++;
    }
    if (taps.tap >= axis->kernel || taps.tap >= axis->stride) {
        return taps;
    }
    taps.source = (position - taps.tap * axis->dilation) / axis->stride;
    while (taps.tap < axis->kernel && taps.source >= axis->end) {
        taps.tap += taps.tap_step;
        taps.source -= taps.source_step;
    }
    int32_t source = taps.source;
    for (int32_t tap = taps.tap; tap < axis->kernel && source >= axis->low; tap += taps.tap_step) {
        source -= taps.source_step;
        taps.count++;
    }
    return taps;
}

static inline int tigris_check_transpose_axis(uint32_t kernel, uint32_t stride, uint32_t dilation, uint32_t pad,
                                              uint32_t extent)
{
    return kernel >= 1U && stride >= 1U && dilation >= 1U &&
           (uint64_t)kernel * dilation + extent + pad + stride <= INT32_MAX / 2;
}

/* Channels divide into groups, and the weights of all taps lie in the block. */
static inline int tigris_check_transpose_channels(const tigris_check_call *call, uint32_t groups, uint32_t kernel_size,
                                                  uint32_t weights, uint32_t element_bytes)
{
    const uint32_t inputs = call->inputs[0]->channels;
    const uint32_t outputs = call->output->channels;
    return groups != 0U && inputs % groups == 0U && outputs % groups == 0U &&
           tigris_check_data(call, weights, tigris_multiply(tigris_multiply(kernel_size, inputs / groups), outputs),
                             element_bytes);
}

#endif
