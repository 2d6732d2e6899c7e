/* Shared by transposed convolutions of all element types: the taps of an output position, the loops over outputs and
 * taps, and the checks of shapes. Every output element gathers the inputs that reach it, so bands need no
 * accumulators between them. Rows that a band does not hold are left out, whatever the plan's row map says. */
#ifndef TIGRIS_TRANSPOSE_CONV_H
#define TIGRIS_TRANSPOSE_CONV_H

#include "access.h"
#include "check.h"
#include "inlining.h"

/* Geometry along one axis. */
typedef struct tigris_transpose_axis {
    int32_t kernel;
    int32_t stride;
    int32_t dilation;
    int32_t low; /* input positions in [low, end) exist */
    int32_t end;
    int32_t factor; /* the greatest common divisor of stride and dilation */
} tigris_transpose_axis;

static inline tigris_transpose_axis tigris_axis_of(int32_t kernel, int32_t stride, int32_t dilation, int32_t low,
                                                   int32_t end)
{
    tigris_transpose_axis axis = {kernel, stride, dilation, low, end, stride};
    for (int32_t rest = dilation; rest != 0;) {
        const int32_t next = axis.factor % rest;
        axis.factor = rest;
        rest = next;
    }
    return axis;
}

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
    /* A tap that fits is followed by one stride / factor taps further on. */
    tigris_transpose_taps taps = {0, axis->stride / axis->factor, 0, axis->dilation / axis->factor, 0};
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

/* The fields that the parameter records of all element types share. */
typedef struct tigris_transpose_shape {
    int32_t kernel_height;
    int32_t kernel_width;
    int32_t stride_height;
    int32_t stride_width;
    int32_t dilation_height;
    int32_t dilation_width;
    int32_t pad_top;
    int32_t pad_left;
    uint32_t groups;
} tigris_transpose_shape;

#define TIGRIS_TRANSPOSE_SHAPE(params)                                                                                 \
    {(params)->kernel_height,  (params)->kernel_width, (params)->stride_height, (params)->stride_width,                \
     (params)->dilation_height, (params)->dilation_width, (params)->pad_top, (params)->pad_left, (params)->groups}

/* One call, its fields unpacked. */
typedef struct tigris_transposed {
    const tigris_kernel_call *call;
    const tigris_transpose_shape *shape;
    int32_t group_inputs;  /* input channels of one group */
    int32_t group_outputs; /* output channels of one group */
} tigris_transposed;

/* The taps of an output pixel, and its channels `channel`, `channel` + 1, … of one group. Each further pixel
 * reads the next input column with the same taps. `to`: number of the first output element. */
typedef struct tigris_transpose_place {
    tigris_transpose_taps rows;
    tigris_transpose_taps columns;
    int32_t pixels;
    int32_t channel;
    int32_t channels;
    uint32_t to;
} tigris_transpose_place;

/* Adds `count` products to the sums at `sum`; `input` and `weight`: elements of the first factors in the band and in the
 * weights. */
typedef void (*tigris_transpose_add)(void *sum, uint32_t input, int32_t weight, int32_t count);

/* All products of the outputs of a place. */
TIGRIS_INLINE void tigris_transpose_sum(const tigris_transposed *c, const tigris_transpose_place *at,
                                        tigris_transpose_add add, void *sum)
{
    const tigris_band *in = tigris_input_band(c->call, 0);
    const uint32_t channels = tigris_tensor_of(in)->channels;
    const uint32_t first_input = (uint32_t)(at->channel / c->group_outputs * c->group_inputs);
    const int32_t kernel = at->channel * c->shape->kernel_height * c->shape->kernel_width;
    for (int32_t j = 0; j < at->rows.count; j++) {
        const int32_t source = at->rows.source - j * at->rows.source_step;
        const uint32_t row =
            (uint32_t)(source - tigris_first_row(in)) * tigris_row_elements(tigris_tensor_of(in)) + first_input;
        const int32_t taps = kernel + (at->rows.tap + j * at->rows.tap_step) * c->shape->kernel_width;
        for (int32_t i = 0; i < at->columns.count; i++) {
            const uint32_t column = (uint32_t)(at->columns.source - i * at->columns.source_step);
            const int32_t tap = taps + at->columns.tap + i * at->columns.tap_step;
            add(sum, row + column * channels, tap * c->group_inputs, c->group_inputs);
        }
    }
}

/* Writes the outputs of a place. */
typedef void (*tigris_transpose_output)(void *outputs, const tigris_transposed *c, const tigris_transpose_place *at);

/* Computes output pixel number `pixel`, and perhaps more, up to `most` channels at a time. */
TIGRIS_INLINE void tigris_transpose_pixels(const tigris_transposed *c, tigris_transpose_place *at, uint32_t pixel,
                                           int32_t most, tigris_transpose_output write, void *outputs)
{
    const int32_t channels = (int32_t)tigris_output_tensor(c->call)->channels;
    for (at->channel = 0; at->channel < channels; at->channel += at->channels) {
        const int32_t left = c->group_outputs - at->channel % c->group_outputs;
        at->channels = left < most ? left : most;
        at->to = pixel * (uint32_t)channels + (uint32_t)at->channel;
        write(outputs, c, at);
    }
}

/* Computes all outputs of the band, in places of up to `pixels` pixels and `most` channels. Pixels with a distance of a
 * stride have the same taps, except at borders. */
TIGRIS_INLINE void tigris_transpose_run(const tigris_kernel_call *call, const tigris_transpose_shape *shape,
                                        int32_t pixels, int32_t most, tigris_transpose_output write, void *outputs)
{
    const tigris_band *in = tigris_input_band(call, 0), *out = tigris_output_band(call);
    const int32_t channels = (int32_t)tigris_tensor_of(out)->channels, groups = (int32_t)shape->groups;
    const int32_t width = (int32_t)tigris_tensor_of(out)->width, stride = shape->stride_width;
    const tigris_transposed c = {call, shape, (int32_t)tigris_tensor_of(in)->channels / groups, channels / groups};
    const tigris_transpose_axis rows = tigris_axis_of(shape->kernel_height, shape->stride_height, shape->dilation_height,
                                                      tigris_first_row(in), tigris_first_row(in) + tigris_row_count(in));
    const tigris_transpose_axis columns =
        tigris_axis_of(shape->kernel_width, stride, shape->dilation_width, 0, (int32_t)tigris_tensor_of(in)->width);
    tigris_transpose_place at;
    for (int32_t y = 0; y < tigris_row_count(out); y++) {
        at.rows = tigris_taps_of(&rows, tigris_first_row(out) + y + shape->pad_top);
        for (int32_t first = 0; first < stride && first < width; first++) {
            for (int32_t x = first; x < width; x += at.pixels * stride) {
                at.columns = tigris_taps_of(&columns, x + shape->pad_left);
                at.pixels = 1;
                while (at.pixels < pixels && x + at.pixels * stride < width) {
                    const int32_t position = x + at.pixels * stride + shape->pad_left;
                    const tigris_transpose_taps next = tigris_taps_of(&columns, position);
                    if (next.tap != at.columns.tap || next.count != at.columns.count) {
                        break;
                    }
                    at.pixels++;
                }
                tigris_transpose_pixels(&c, &at, (uint32_t)(y * width + x), most, write, outputs);
            }
        }
    }
}

static inline int tigris_check_transpose_axis(int32_t kernel, int32_t stride, int32_t dilation, int32_t pad, uint32_t extent)
{
    return kernel >= 1 && stride >= 1 && dilation >= 1 &&
           (uint64_t)kernel * (uint32_t)dilation + extent + (uint32_t)pad + (uint32_t)stride <= INT32_MAX / 2;
}

/* The shape holds, channels divide into groups, and the weights of all taps lie in the block. */
static inline int tigris_check_transposed(const tigris_check_call *call, const tigris_transpose_shape *shape,
                                          uint32_t weights, uint32_t element_bytes)
{
    const uint32_t inputs = call->inputs[0]->channels, outputs = call->output->channels;
    const uint32_t taps = (uint32_t)shape->kernel_height * (uint32_t)shape->kernel_width;
    return tigris_check_per_image(call) &&
           tigris_check_transpose_axis(shape->kernel_height, shape->stride_height, shape->dilation_height, shape->pad_top,
                                       call->output->height) &&
           tigris_check_transpose_axis(shape->kernel_width, shape->stride_width, shape->dilation_width, shape->pad_left,
                                       call->output->width) &&
           shape->groups != 0U && inputs % shape->groups == 0U && outputs % shape->groups == 0U &&
           tigris_check_data(call, weights, tigris_multiply(tigris_multiply(taps, inputs / shape->groups), outputs),
                             element_bytes);
}

#endif
