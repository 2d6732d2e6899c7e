/* Gathers the taps of an output pixel of an int8 convolution, at any position, as a row of bytes, for vector
 * kernels. */
#ifndef TIGRIS_PIXEL_TAPS_H
#define TIGRIS_PIXEL_TAPS_H

#include "access.h"
#include "inlining.h"
#include "window.h"

/* One call, its fields unpacked. */
typedef struct tigris_taps_conv {
    const tigris_conv_int8_params *params;
    const int8_t *input;
    int32_t rows;     /* of the input */
    int32_t width;    /* of the input */
    int32_t channels; /* of the input */
    int32_t depth;    /* input channels of a group */
    int32_t kernel_size;
} tigris_taps_conv;

/* The taps of an output pixel: the position of the first, which may be padding, and the taps inside. */
typedef struct tigris_taps_pixel {
    int32_t row;
    int32_t column;
    tigris_taps rows;
    tigris_taps columns;
} tigris_taps_pixel;

static inline tigris_taps_conv tigris_taps_conv_of(const tigris_kernel_call *call)
{
    const tigris_conv_int8_params *params = tigris_params(call);
    const tigris_band *in = tigris_input_band(call, 0);
    const int32_t channels = (int32_t)tigris_tensor_of(in)->channels, depth = channels / params->groups;
    const tigris_taps_conv c = {params, (const int8_t *)(const void *)in->data, tigris_row_count(in),
                                (int32_t)tigris_tensor_of(in)->width, channels, depth,
                                params->kernel_height * params->kernel_width * depth};
    return c;
}

/* Sets the rows of output row `y`, counted in the band. */
static inline void tigris_taps_row(const tigris_taps_conv *c, tigris_taps_pixel *p, int32_t y, int32_t pad_top)
{
    p->row = y * c->params->stride_height - pad_top;
    p->rows = tigris_valid_taps(p->row, c->params->kernel_height, c->params->dilation_height, c->rows);
}

/* Sets the columns of output column `x`. */
static inline void tigris_taps_column(const tigris_taps_conv *c, tigris_taps_pixel *p, int32_t x)
{
    p->column = x * c->params->stride_width - c->params->pad_left;
    p->columns = tigris_valid_taps(p->column, c->params->kernel_width, c->params->dilation_width, c->width);
}

/* Whether all taps are inside and contiguous in every kernel row. */
static inline int tigris_has_whole_rows(const tigris_taps_conv *c, const tigris_taps_pixel *p)
{
    const tigris_conv_int8_params *params = c->params;
    return p->rows.end - p->rows.first == params->kernel_height &&
           p->columns.end - p->columns.first == params->kernel_width && c->depth == c->channels &&
           (params->dilation_width == 1 || params->kernel_width == 1);
}

/* Copies `count` bytes, one at least. */
typedef void (*tigris_taps_copy)(int8_t *to, const int8_t *from, int32_t count);

/* Copies the taps inside the input, of one group's channels, to their places in `to`. Places of padding stay
 * unchanged. */
TIGRIS_INLINE void tigris_gather_taps(const tigris_taps_conv *c, const tigris_taps_pixel *p, int32_t group,
                                      tigris_taps_copy copy, int8_t *to)
{
    const tigris_conv_int8_params *params = c->params;
    const int32_t first = p->columns.first, count = p->columns.end - first;
    const int is_run = params->dilation_width == 1 && c->depth == c->channels;
    for (int32_t row = p->rows.first; row < p->rows.end && count > 0; row++) {
        const int32_t input_row = (p->row + row * params->dilation_height) * c->width + p->column;
        const int8_t *from = c->input + ((input_row + first * params->dilation_width) * c->channels + group * c->depth);
        int8_t *at = to + (row * params->kernel_width + first) * c->depth;
        if (is_run) {
            copy(at, from, count * c->depth);
            continue;
        }
        for (int32_t i = 0; i < count; i++) {
            copy(at, from + i * params->dilation_width * c->channels, c->depth);
            at += c->depth;
        }
    }
}

#endif
