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

/* The window of the loop's current pixel. */
static inline tigris_pool_window tigris_pool_window_of(const tigris_pixel_loop *loop)
{
    const tigris_kernel_call *call = loop->call;
    const tigris_pool_int8_params *params = tigris_params(call);
    const tigris_tensor_record *input = tigris_input_tensor(call, 0);
    const uint32_t column_step = (uint32_t)params->dilation_width * input->channels;
    const tigris_pixel *pixel = &loop->pixel;
    const tigris_pool_window window = {tigris_tap_offset(call, pixel, pixel->rows.first, pixel->columns.first),
                                       (uint32_t)tigris_tap_count(pixel->rows),
                                       (uint32_t)params->dilation_height * input->width * input->channels, column_step,
                                       (uint32_t)tigris_tap_count(pixel->columns) * column_step,
                                       tigris_pool_taps(pixel)};
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
    int8_t *to = tigris_int8_output(call);
    tigris_pixel_loop loop;
    for (tigris_start_pixels(&loop, call, 0); loop.left > 0; tigris_next_pixel(&loop)) {
        const tigris_pool_window window = tigris_pool_window_of(&loop);
        write(call, &window, to);
        to += tigris_output_tensor(call)->channels;
    }
}

#endif
