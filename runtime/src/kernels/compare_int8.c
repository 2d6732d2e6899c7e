/* BINARY, int8: comparisons as TensorFlow Lite Micro's (kernels/comparisons.cc). Results are float32, 1 or 0. */
#include "binary_loop_float.h"
#include "requantise.h"
#include "tigris_kernels.h"

/* Bits of a scaled input behind the point. */
#define LEFT_SHIFT 8

static int32_t scaled(const tigris_compare_int8_params *params, int which, int8_t value)
{
    const int32_t difference = tigris_wrapping_add(value, -params->zero_point[which]);
    return tigris_requantise((int32_t)((uint32_t)difference << LEFT_SHIFT), params->multiplier[which],
                             params->shift[which]);
}

static int compare(uint32_t function, int32_t a, int32_t b)
{
    switch (function) {
    case TIGRIS_BINARY_FUNCTION_LESS:
        return a < b;
    case TIGRIS_BINARY_FUNCTION_LESS_OR_EQUAL:
        return a <= b;
    case TIGRIS_BINARY_FUNCTION_GREATER:
        return a > b;
    case TIGRIS_BINARY_FUNCTION_GREATER_OR_EQUAL:
        return a >= b;
    default: /* TIGRIS_BINARY_FUNCTION_EQUAL: the checker admits no other */
        return a == b;
    }
}

static inline float holds(const void *params, const void *a, const void *b)
{
    const tigris_compare_int8_params *of = params;
    return compare(of->function, scaled(of, 0, *(const int8_t *)a), scaled(of, 1, *(const int8_t *)b)) ? 1.0F : 0.0F;
}

static void run(const tigris_kernel_call *call)
{
    const tigris_compare_int8_params *params = tigris_params(call);
    const tigris_binary_steps steps = TIGRIS_BINARY_STEPS(params);
    tigris_run_binary_float(call, steps, (uint32_t)sizeof(int8_t), holds, params);
}

static tigris_status check(const tigris_check_call *call)
{
    const tigris_compare_int8_params *params = call->params;
    const tigris_binary_steps steps = TIGRIS_BINARY_STEPS(params);
    return tigris_check_result(
        tigris_check_types(call, 2U, TIGRIS_DTYPE_INT8, TIGRIS_DTYPE_FLOAT32) &&
        params->function >= TIGRIS_BINARY_FUNCTION_LESS && params->function <= TIGRIS_BINARY_FUNCTION_EQUAL &&
        tigris_check_int8(params->zero_point[0]) && tigris_check_int8(params->zero_point[1]) &&
        tigris_check_multiplier(params->multiplier[0], params->shift[0]) &&
        tigris_check_multiplier(params->multiplier[1], params->shift[1]) && tigris_check_both_steps(call, steps));
}

TIGRIS_KERNEL_ENTRY(tigris_binary_int8, BINARY, INT8, tigris_compare_int8_params, run, check);
