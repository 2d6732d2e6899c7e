/* The loop of element-wise int16 kernels of two inputs, and the checks of their parameters. */
#ifndef TIGRIS_BINARY_INT16_H
#define TIGRIS_BINARY_INT16_H

#include "binary_loop.h"
#include "int16.h"

/* Each output is `function` of its two inputs and of `constants`. */
TIGRIS_INLINE void tigris_run_binary_int16(const tigris_kernel_call *call, tigris_binary_steps steps,
                                           tigris_integer_function function, const void *constants)
{
    const tigris_band *in = call->inputs;
    const tigris_tensor_record *output = call->output->tensor;
    int16_t *to = tigris_int16_output(call);
    for (int32_t y = call->output->first; y < call->output->first + call->output->rows; y++) {
        const int16_t *a = (const int16_t *)(const void *)in[0].data + tigris_binary_row(&in[0], y, steps.row[0]);
        const int16_t *b = (const int16_t *)(const void *)in[1].data + tigris_binary_row(&in[1], y, steps.row[1]);
        for (uint32_t x = 0; x < output->width; x++) {
            const int16_t *a_at = a;
            const int16_t *b_at = b;
            for (const int16_t *const end = to + output->channels; to != end; to++) {
                *to = (int16_t)function(constants, *a_at, *b_at);
                a_at += steps.channel[0];
                b_at += steps.channel[1];
            }
            a += steps.column[0];
            b += steps.column[1];
        }
    }
}

/* Whether both inputs and the output are int16, and the steps stay inside the inputs. */
static inline int tigris_check_steps_int16(const tigris_check_call *call, tigris_binary_steps steps)
{
    return tigris_check_types(call, 2U, TIGRIS_DTYPE_INT16, TIGRIS_DTYPE_INT16) && tigris_check_both_steps(call, steps);
}

/* Checks tigris_binary_int8_params of an int16 operator: zero points must be 0. */
static inline int tigris_check_binary_int16(const tigris_check_call *call)
{
    const tigris_binary_int8_params *params = call->params;
    const tigris_binary_steps steps = TIGRIS_BINARY_STEPS(params);
    return tigris_check_steps_int16(call, steps) && params->zero_point[0] == 0 && params->zero_point[1] == 0 &&
           params->output_zero_point == 0 && params->left_shift >= 0 && params->left_shift <= 15 &&
           tigris_check_multiplier(params->multiplier[0], params->shift[0]) &&
           tigris_check_multiplier(params->multiplier[1], params->shift[1]) &&
           tigris_check_multiplier(params->output_multiplier, params->output_shift) &&
           tigris_check_range_int16(params->activation_min, params->activation_max);
}

#endif
