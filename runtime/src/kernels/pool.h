/* Shared by average and max pooling: the valid taps of an output pixel's window, and checks. */
#ifndef TIGRIS_POOL_H
#define TIGRIS_POOL_H

#include "access.h"
#include "check.h"
#include "window.h"

/* One output pixel. */
typedef struct tigris_pool_pixel {
    int32_t row;    /* of tap 0 in the band; negative in the padding */
    int32_t column; /* of tap 0 */
    tigris_taps rows;
    tigris_taps columns;
} tigris_pool_pixel;

/* Elements from the band's start to channel 0 of the first valid tap of kernel row i. */
static inline uint32_t tigris_pool_offset(const tigris_band *in, const tigris_pool_pixel *pixel, int32_t i,
                                          int32_t dilation_height, int32_t dilation_width)
{
    const int32_t row = pixel->row + i * dilation_height;
    const int32_t column = pixel->column + pixel->columns.first * dilation_width;
    return ((uint32_t)row * tigris_tensor_of(in)->width + (uint32_t)column) * tigris_tensor_of(in)->channels;
}

static inline int32_t tigris_pool_taps(const tigris_pool_pixel *pixel)
{
    return (pixel->rows.end - pixel->rows.first) * (pixel->columns.end - pixel->columns.first);
}

/* Most taps of a window, so that sums of int8 fit 32 bits. */
#define TIGRIS_LARGEST_POOL (UINT32_C(1) << 22)

/* Checks of every pooling kernel except its own parameters. `taps`: taps of a window. */
static inline int tigris_check_pool(const tigris_check_call *call, uint32_t dtype, uint32_t taps)
{
    return tigris_check_types(call, 1U, dtype, dtype) && tigris_check_per_image(call) &&
           call->inputs[0]->channels == call->output->channels && tigris_check_window(call) &&
           taps <= TIGRIS_LARGEST_POOL;
}

#endif
