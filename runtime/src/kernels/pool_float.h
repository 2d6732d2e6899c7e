/* Average and max pooling of float32 differ in one function: what becomes of one channel's taps. */
#ifndef TIGRIS_POOL_FLOAT_H
#define TIGRIS_POOL_FLOAT_H

#include "pool.h"

typedef float (*tigris_pool_float_function)(const tigris_kernel_call *call, const tigris_pixel *pixel,
                                            uint32_t channel);

static inline void tigris_pool_float_run(const tigris_kernel_call *call, tigris_pool_float_function function)
{
    const tigris_pool_float_params *params = tigris_params(call);
    float *to = tigris_float_output(call);
    tigris_pixel_loop loop;
    for (tigris_start_pixels(&loop, call, 0); loop.left > 0; tigris_next_pixel(&loop)) {
        for (uint32_t channel = 0; channel < tigris_output_tensor(call)->channels; channel++) {
            *to++ = tigris_clamp_float(function(call, &loop.pixel, channel), params->activation_min,
                                       params->activation_max);
        }
    }
}

static inline tigris_status tigris_pool_float_check(const tigris_check_call *call)
{
    const tigris_pool_float_params *params = call->params;
    const uint32_t taps = (uint32_t)params->kernel_height * params->kernel_width;
    return tigris_check_result(tigris_check_pool(call, TIGRIS_DTYPE_FLOAT32, taps) &&
                               params->include_pad <= 1U);
}

#endif
