/* The valid taps of an output pixel of int8 pooling, for any set of instructions. */
#ifndef TIGRIS_POOL_INT8_H
#define TIGRIS_POOL_INT8_H

#include "pool.h"

/* Elements from the band's start; steps may wrap behind the last tap. */
typedef struct tigris_pool_window {
    uint32_t first; /* of channel 0 of the first valid tap */
    uint32_t rows;
    uint32_t row_step;
    uint32_t column_step;
    uint32_t reach; /* from the first to behind the last valid tap of a row */
} tigris_pool_window;

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
                                       (uint32_t)tigris_tap_count(pixel->columns) * column_step};
    return window;
}

#endif
