/* Checks of element-wise int16 kernels of two inputs. */
#ifndef TIGRIS_BINARY_INT16_H
#define TIGRIS_BINARY_INT16_H

#include "binary_loop.h"
#include "int16.h"

/* Checks tigris_binary_int8_params of an int16 operator: zero points must be 0. */
static inline int tigris_check_binary_int16(const tigris_check_call *call)
{
    const tigris_binary_int8_params *params = call->params;
    const tigris_binary_steps steps = TIGRIS_BINARY_STEPS(params);
    return tigris_check_types(call, 2U, TIGRIS_DTYPE_INT16, TIGRIS_DTYPE_INT16) && tigris_check_both_steps(call, steps) &&
           params->zero_point[0] == 0 && params->zero_point[1] == 0 && params->output_zero_point == 0 &&
           params->left_shift >= 0 && params->left_shift <= 15 &&
           tigris_check_multiplier(params->multiplier[0], params->shift[0]) &&
           tigris_check_multiplier(params->multiplier[1], params->shift[1]) &&
           tigris_check_multiplier(params->output_multiplier, params->output_shift) &&
           tigris_check_range_int16(params->activation_min, params->activation_max);
}

#endif
