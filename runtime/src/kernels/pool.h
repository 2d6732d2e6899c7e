/* Shared by average and max pooling: the taps of an output pixel that count, and checks. */
#ifndef TIGRIS_POOL_H
#define TIGRIS_POOL_H

#include "access.h"
#include "check.h"
#include "window.h"

static inline int32_t tigris_pool_taps(const tigris_pixel *pixel)
{
    return tigris_tap_count(pixel->rows) * tigris_tap_count(pixel->columns);
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
