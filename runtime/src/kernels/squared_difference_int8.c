/* SQUARED_DIFFERENCE, int8: both inputs are scaled to a common scale, the square of their difference to the output's. */
#include "binary_int8.h"
#include "tigris_kernels.h"

/* The square of a difference of two values of 9 bits, shifted left by this, must fit 32. */
#define LARGEST_LEFT_SHIFT 7

static int32_t scaled(const tigris_binary_int8_params *params, uint32_t input, int32_t value)
{
    return tigris_requantise(value * (1 << params->left_shift), params->multiplier[input], params->shift[input]);
}

static int8_t square(const tigris_binary_int8_params *params, int32_t a, int32_t b)
{
    const tigris_output_stage output = {params->output_zero_point, params->activation_min, params->activation_max};
    const uint32_t difference = (uint32_t)scaled(params, 0U, a) - (uint32_t)scaled(params, 1U, b);
    return tigris_to_int8((int32_t)(difference * difference), params->output_multiplier, params->output_shift, &output);
}

static void run(const tigris_kernel_call *call)
{
    tigris_binary_int8_run(call, square);
}

static tigris_status check(const tigris_check_call *call)
{
    const tigris_binary_int8_params *params = call->params;
    return tigris_check_result(tigris_check_binary_int8(call) && params->left_shift >= 0 &&
                               params->left_shift <= LARGEST_LEFT_SHIFT &&
                               tigris_check_multiplier(params->multiplier[0], params->shift[0]) &&
                               tigris_check_multiplier(params->multiplier[1], params->shift[1]));
}

const tigris_kernel_entry tigris_squared_difference_int8 = {TIGRIS_OP_KIND_SQUARED_DIFFERENCE, TIGRIS_DTYPE_INT8,
                                                            sizeof(tigris_binary_int8_params), run, check};
