/* The output pixels of kernels that slide over their input, and the taps of each pixel that lie inside the input. */
#ifndef TIGRIS_WINDOW_H
#define TIGRIS_WINDOW_H

#include "access.h"
#include "inlining.h"

/* Taps [first, end), possibly empty. */
typedef struct tigris_taps {
    uint16_t first;
    uint16_t end;
} tigris_taps;

/* The first fields of the parameter record of every sliding kernel: [0] along rows, [1] along columns. */
typedef struct tigris_window_params {
    uint16_t kernel[2];
    uint16_t stride[2];
    uint16_t dilation[2];
    uint16_t pad_left;
} tigris_window_params;

/* Where an output pixel reads: the position of its first tap in the band, which may be padding, and the taps inside. */
typedef struct tigris_pixel {
    int32_t row;
    int32_t column;
    tigris_taps rows;
    tigris_taps columns;
} tigris_pixel;

/* A loop over the output pixels of a call, row by row. */
typedef struct tigris_pixel_loop {
    const tigris_kernel_call *call;
    int32_t left; /* pixels, the current one included */
    int32_t x;    /* output column of the current pixel */
    tigris_pixel pixel;
} tigris_pixel_loop;

/* Starts a loop at output pixel number `first`. */
void tigris_start_pixels(tigris_pixel_loop *loop, const tigris_kernel_call *call, int32_t first);
void tigris_next_pixel(tigris_pixel_loop *loop);

/* Taps k along an axis whose position start + k * dilation lies in [0, extent). */
tigris_taps tigris_border_taps(int32_t start, int32_t kernel, int32_t dilation, int32_t extent);

TIGRIS_INLINE tigris_taps tigris_taps_inside(const tigris_window_params *params, int32_t axis, int32_t start,
                                             int32_t extent)
{
    const int32_t dilation = params->dilation[axis], kernel = params->kernel[axis];
    const tigris_taps all = {0, (uint16_t)kernel};
    const int inside = start >= 0 && start + (kernel - 1) * dilation < extent;
    return inside ? all : tigris_border_taps(start, kernel, dilation, extent);
}

/* tigris_next_pixel as a part of its caller, for kernels with little work in each pixel. */
TIGRIS_INLINE void tigris_next_pixel_inline(tigris_pixel_loop *loop)
{
    const tigris_window_params *params = tigris_params(loop->call);
    const tigris_band *in = tigris_input_band(loop->call, 0);
    loop->left--;
    loop->pixel.column += params->stride[1];
    if (++loop->x == (int32_t)tigris_output_tensor(loop->call)->width) {
        loop->x = 0;
        loop->pixel.column = -params->pad_left;
        loop->pixel.row += params->stride[0];
        loop->pixel.rows = tigris_taps_inside(params, 0, loop->pixel.row, tigris_row_count(in));
    }
    loop->pixel.columns = tigris_taps_inside(params, 1, loop->pixel.column, (int32_t)tigris_tensor_of(in)->width);
}

/* Whether each output pixel reads one input pixel, in the same order: a 1x1 window of stride 1 without padding. */
static inline int tigris_is_dense_1x1(const tigris_kernel_call *call)
{
    const tigris_window_params *params = tigris_params(call);
    return (params->kernel[0] | params->kernel[1] | params->stride[0] | params->stride[1]) == 1 &&
           tigris_input_tensor(call, 0)->width == tigris_output_tensor(call)->width && params->pad_left == 0 &&
           tigris_input_rows(call, 0) == tigris_output_rows(call) && tigris_pad_top(tigris_input_band(call, 0)) == 0;
}

/* Elements from the band's start to channel 0 of a pixel's tap, modulo 2^32: the tap may be padding. */
static inline uint32_t tigris_tap_offset(const tigris_kernel_call *call, const tigris_pixel *pixel, int32_t row,
                                         int32_t column)
{
    const tigris_window_params *params = tigris_params(call);
    const tigris_tensor_record *input = tigris_input_tensor(call, 0);
    const uint32_t y = (uint32_t)(pixel->row + row * params->dilation[0]);
    const uint32_t x = (uint32_t)(pixel->column + column * params->dilation[1]);
    return (y * input->width + x) * input->channels;
}

static inline int32_t tigris_tap_count(tigris_taps taps)
{
    return taps.end - taps.first;
}

#endif
