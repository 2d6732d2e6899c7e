/* Average and max pooling of float32 differ in one function: what becomes of one channel's taps. */
#ifndef TIGRIS_POOL_FLOAT_H
#define TIGRIS_POOL_FLOAT_H

#include "pool.h"

typedef float (*tigris_pool_float_function)(const tigris_pool_float_params *params, const tigris_band *in,
                                            const tigris_pool_pixel *pixel, uint32_t channel);

static inline void tigris_pool_float_run(const tigris_kernel_call *call, tigris_pool_float_function function)
{
    const tigris_pool_float_params *params = tigris_params(call);
    const tigris_band *in = tigris_input_band(call, 0);
    const tigris_tensor_record *output = tigris_output_tensor(call);
    float *to = tigris_float_output(call);
    for (int32_t y = 0; y < tigris_output_rows(call); y++) {
        tigris_pool_pixel pixel;
        pixel.row = y * params->stride_height - tigris_pad_top(in);
        pixel.rows = tigris_valid_taps(pixel.row, params->kernel_height, params->dilation_height, tigris_row_count(in));
        for (uint32_t x = 0; x < output->width; x++) {
            pixel.column = (int32_t)x * params->stride_width - params->pad_left;
            pixel.columns = tigris_valid_taps(pixel.column, params->kernel_width, params->dilation_width,
                                              (int32_t)tigris_tensor_of(in)->width);
            for (uint32_t channel = 0; channel < output->channels; channel++) {
                *to++ = tigris_clamp_float(function(params, in, &pixel, channel), params->activation_min,
                                           params->activation_max);
            }
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
