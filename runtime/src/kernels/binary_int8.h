/* Arithmetic and checks that ADD, SUB, MUL and SQUARED_DIFFERENCE of int8 share. */
#ifndef TIGRIS_BINARY_INT8_H
#define TIGRIS_BINARY_INT8_H

#include "binary_loop.h"
#include "requantise.h"

/* The steps of the operands: a copy, since the compiler must assume that writing outputs changes the record. */
static inline tigris_binary_steps tigris_binary_int8_steps(const tigris_binary_int8_params *params)
{
    const tigris_binary_steps steps = TIGRIS_BINARY_STEPS(params);
    return steps;
}

/* A value of input `input` less its zero point, in the common scale of both inputs. */
static inline int32_t tigris_binary_int8_common(const tigris_binary_int8_params *params, uint32_t input, int32_t value)
{
    const int32_t shifted = (value - params->zero_point[input]) * (1 << params->left_shift);
    return tigris_requantise(shifted, params->multiplier[input], params->shift[input]);
}

/* The difference of both inputs in their common scale. */
static inline uint32_t tigris_binary_int8_difference(const tigris_binary_int8_params *params, int32_t a, int32_t b)
{
    return (uint32_t)tigris_binary_int8_common(params, 0U, a) - (uint32_t)tigris_binary_int8_common(params, 1U, b);
}

/* Requantises a sum to the output's scale, by any shift. */
static inline int32_t tigris_binary_int8_finish(const tigris_binary_int8_params *params, int32_t sum)
{
    const tigris_output_stage output = {params->output_zero_point, params->activation_min, params->activation_max};
    return tigris_to_int8(sum, params->output_multiplier, params->output_shift, &output);
}

static inline int tigris_check_binary_int8(const tigris_check_call *call)
{
    const tigris_binary_int8_params *params = call->params;
    return tigris_check_binary(call, tigris_binary_int8_steps(params)) && tigris_check_int8(params->zero_point[0]) &&
           tigris_check_int8(params->zero_point[1]) && tigris_check_int8(params->output_zero_point) &&
           tigris_check_multiplier(params->output_multiplier, params->output_shift) &&
           tigris_check_range(params->activation_min, params->activation_max);
}

/* tigris_check_binary_int8 for operators that bring both inputs to a common scale. */
static inline int tigris_check_common_scale(const tigris_check_call *call, int32_t largest_left_shift)
{
    const tigris_binary_int8_params *params = call->params;
    return tigris_check_binary_int8(call) && params->left_shift >= 0 && params->left_shift <= largest_left_shift &&
           tigris_check_multiplier(params->multiplier[0], params->shift[0]) &&
           tigris_check_multiplier(params->multiplier[1], params->shift[1]);
}

#endif
