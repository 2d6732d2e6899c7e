/* EXTREME, int8 and int16: the larger or the smaller of two elements of one scale. */
#include "binary_loop.h"
#include "tigris_kernels.h"

static inline int32_t larger(const void *constants, int32_t a, int32_t b)
{
    (void)constants;
    return a > b ? a : b;
}

static inline int32_t smaller(const void *constants, int32_t a, int32_t b)
{
    (void)constants;
    return a < b ? a : b;
}

TIGRIS_INLINE void run_elements(const tigris_kernel_call *call, int32_t bytes)
{
    const tigris_extreme_params *params = tigris_params(call);
    const tigris_binary_steps steps = TIGRIS_BINARY_STEPS(params);
    if (params->smallest != 0U) {
        tigris_run_elements(call, steps, smaller, NULL, bytes);
    } else {
        tigris_run_elements(call, steps, larger, NULL, bytes);
    }
}

static void run_int8(const tigris_kernel_call *call)
{
    run_elements(call, 1);
}

static void run_int16(const tigris_kernel_call *call)
{
    run_elements(call, 2);
}

static tigris_status check(const tigris_check_call *call)
{
    const tigris_extreme_params *params = call->params;
    const tigris_binary_steps steps = TIGRIS_BINARY_STEPS(params);
    return tigris_check_result(tigris_check_types(call, 2U, call->op->dtype, call->op->dtype) &&
                               tigris_check_both_steps(call, steps) && params->smallest <= 1U);
}

TIGRIS_KERNEL_ENTRY(tigris_extreme_int8, EXTREME, INT8, tigris_extreme_params, run_int8, check);
TIGRIS_KERNEL_ENTRY(tigris_extreme_int16, EXTREME, INT16, tigris_extreme_params, run_int16, check);
