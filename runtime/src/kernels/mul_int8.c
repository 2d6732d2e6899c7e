/* MUL, int8: the product of both values, scaled to the output's scale. */
#include "binary_int8.h"
#include "tigris_kernels.h"

static int8_t multiply(const tigris_binary_int8_params *params, int32_t a, int32_t b)
{
    const tigris_output_stage output = {params->output_zero_point, params->activation_min, params->activation_max};
    return tigris_to_int8(a * b, params->output_multiplier, params->output_shift, &output);
}

static void run(const tigris_kernel_call *call)
{
    tigris_binary_int8_run(call, multiply);
}

static tigris_status check(const tigris_check_call *call)
{
    const tigris_binary_int8_params *params = call->params;
    return tigris_check_result(tigris_check_binary_int8(call) && params->left_shift == 0);
}

const tigris_kernel_entry tigris_mul_int8 = {TIGRIS_OP_KIND_MUL, TIGRIS_DTYPE_INT8, sizeof(tigris_binary_int8_params),
                                             run, check};
