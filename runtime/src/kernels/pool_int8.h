/* Shared by average and max pooling of int8: the valid taps of an output pixel, for four channels at a time. */
#ifndef TIGRIS_POOL_INT8_H
#define TIGRIS_POOL_INT8_H

#include "inlining.h"
#include "pool.h"

/* Elements from the band's start; steps may wrap behind the last tap. */
typedef struct tigris_pool_window {
    uint32_t first; /* of channel 0 of the first valid tap */
    uint32_t rows;
    uint32_t row_step;
    uint32_t column_step;
    uint32_t reach; /* from the first to behind the last valid tap of a row */
    int32_t taps;
} tigris_pool_window;

/* Results for four adjacent channels; for a single one only `a` counts. */
typedef struct tigris_pool_four {
    int32_t a;
    int32_t b;
    int32_t c;
    int32_t d;
} tigris_pool_four;

/* Output row y, counted in the band, and column x. */
static inline tigris_pool_window tigris_pool_window_at(const tigris_pool_int8_params *params, const tigris_band *in,
                                                       int32_t y, int32_t x)
{
    tigris_pool_pixel pixel;
    pixel.row = y * params->stride_height - tigris_pad_top(in);
    pixel.rows = tigris_valid_taps(pixel.row, params->kernel_height, params->dilation_height, tigris_row_count(in));
    pixel.column = x * params->stride_width - params->pad_left;
    pixel.columns = tigris_valid_taps(pixel.column, params->kernel_width, params->dilation_width,
                                      (int32_t)tigris_tensor_of(in)->width);
    const uint32_t column_step = (uint32_t)params->dilation_width * tigris_tensor_of(in)->channels;
    const tigris_pool_window window = {
        tigris_pool_offset(in, &pixel, pixel.rows.first, params->dilation_height, params->dilation_width),
        (uint32_t)(pixel.rows.end - pixel.rows.first),
        (uint32_t)params->dilation_height * tigris_tensor_of(in)->width * tigris_tensor_of(in)->channels,
        column_step,
        (uint32_t)(pixel.columns.end - pixel.columns.first) * column_step,
        tigris_pool_taps(&pixel)};
    return window;
}

/* 2 x 2 is the commonest window and has loops of its own. */
static inline int tigris_pool_is_2x2(const tigris_pool_window *window)
{
    return window->rows == 2U && window->reach == 2U * window->column_step;
}

/* Writes all channels of an output pixel. */
typedef void (*tigris_pool_pixel_function)(const tigris_kernel_call *call, const tigris_pool_window *window, int8_t *to);

/* All pixels of the band. */
TIGRIS_INLINE void tigris_pool_int8_run(const tigris_kernel_call *call, tigris_pool_pixel_function write)
{
    const tigris_tensor_record *output = tigris_output_tensor(call);
    int8_t *to = tigris_int8_output(call);
    for (int32_t y = 0; y < tigris_output_rows(call); y++) {
        for (uint32_t x = 0; x < output->width; x++) {
            const tigris_pool_window window =
                tigris_pool_window_at(tigris_params(call), tigris_input_band(call, 0), y, (int32_t)x);
            write(call, &window, to);
            to += output->channels;
        }
    }
}

/* The first element of the input band. */
static inline const int8_t *tigris_pool_input(const tigris_kernel_call *call)
{
    return (const int8_t *)(const void *)tigris_input_data(call, 0);
}

#endif
