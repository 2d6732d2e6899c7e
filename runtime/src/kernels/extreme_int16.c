/* EXTREME, int16: the larger or the smaller of two elements of one scale. */
#include "binary_int16.h"
#include "extreme.h"
#include "tigris_kernels.h"

static void run(const tigris_kernel_call *call)
{
    const tigris_extreme_params *params = call->params;
    const tigris_binary_steps steps = TIGRIS_BINARY_STEPS(params);
    if (params->smallest != 0U) {
        tigris_run_binary_int16(call, steps, tigris_smaller, NULL);
    } else {
        tigris_run_binary_int16(call, steps, tigris_larger, NULL);
    }
}

static tigris_status check(const tigris_check_call *call)
{
    const tigris_extreme_params *params = call->params;
    const tigris_binary_steps steps = TIGRIS_BINARY_STEPS(params);
    return tigris_check_result(tigris_check_steps_int16(call, steps) && params->smallest <= 1U);
}

TIGRIS_KERNEL_ENTRY(tigris_extreme_int16, EXTREME, INT16, tigris_extreme_params, run, check);
