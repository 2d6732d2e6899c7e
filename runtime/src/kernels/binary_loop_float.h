/* The loop of element-wise kernels of two inputs whose outputs are float32. */
#ifndef TIGRIS_BINARY_LOOP_FLOAT_H
#define TIGRIS_BINARY_LOOP_FLOAT_H

#include "binary_loop.h"

/* The output of the input elements at `a` and `b`. */
typedef float (*tigris_binary_float_function)(const void *params, const void *a, const void *b);

/* Each output is `function` of its two inputs, elements of `bytes` bytes, and of `params`. A step behind the last
 * element may be any number, so steps are multiplied modulo 2^32. */
TIGRIS_INLINE void tigris_run_binary_float(const tigris_kernel_call *call, tigris_binary_steps steps, uint32_t bytes,
                                           tigris_binary_float_function function, const void *params)
{
    const tigris_band *in = tigris_input_band(call, 0);
    const tigris_tensor_record *output = tigris_output_tensor(call);
    float *to = tigris_float_output(call);
    for (int32_t y = tigris_output_first(call); y < tigris_output_first(call) + tigris_output_rows(call); y++) {
        const uint8_t *a = in[0].data + (uint32_t)tigris_binary_row(&in[0], y, steps.row[0]) * bytes;
        const uint8_t *b = in[1].data + (uint32_t)tigris_binary_row(&in[1], y, steps.row[1]) * bytes;
        for (uint32_t x = 0; x < output->width; x++) {
            const uint8_t *a_at = a;
            const uint8_t *b_at = b;
            for (const float *const end = to + output->channels; to != end; to++) {
                *to = function(params, a_at, b_at);
                a_at += (uint32_t)steps.channel[0] * bytes;
                b_at += (uint32_t)steps.channel[1] * bytes;
            }
            a += (uint32_t)steps.column[0] * bytes;
            b += (uint32_t)steps.column[1] * bytes;
        }
    }
}

#endif
