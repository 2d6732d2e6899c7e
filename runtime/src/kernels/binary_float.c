/* ADD, SUB and MUL, float32, with broadcasting. */
#include "binary_loop_float.h"
#include "tigris_kernels.h"

static inline float clamped(const tigris_binary_float_params *params, float value)
{
    return tigris_clamp_float(value, params->activation_min, params->activation_max);
}

static inline float add(const void *params, const void *a, const void *b)
{
    return clamped(params, *(const float *)a + *(const float *)b);
}

static inline float subtract(const void *params, const void *a, const void *b)
{
    return clamped(params, *(const float *)a - *(const float *)b);
}

static inline float multiply(const void *params, const void *a, const void *b)
{
    return clamped(params, *(const float *)a * *(const float *)b);
}

TIGRIS_INLINE void run_binary(const tigris_kernel_call *call, tigris_binary_float_function function)
{
    const tigris_binary_float_params *params = tigris_params(call);
    const tigris_binary_steps steps = TIGRIS_BINARY_STEPS(params);
    tigris_run_binary_float(call, steps, (uint32_t)sizeof(float), function, params);
}

static void run_add(const tigris_kernel_call *call)
{
    run_binary(call, add);
}

static void run_subtract(const tigris_kernel_call *call)
{
    run_binary(call, subtract);
}

static void run_multiply(const tigris_kernel_call *call)
{
    run_binary(call, multiply);
}

static tigris_status check(const tigris_check_call *call)
{
    const tigris_binary_float_params *params = call->params;
    const tigris_binary_steps steps = TIGRIS_BINARY_STEPS(params);
    return tigris_check_result(tigris_check_types(call, 2U, TIGRIS_DTYPE_FLOAT32, TIGRIS_DTYPE_FLOAT32) &&
                               tigris_check_both_steps(call, steps));
}

TIGRIS_KERNEL_ENTRY(tigris_add_float, ADD, FLOAT32, tigris_binary_float_params, run_add, check);
TIGRIS_KERNEL_ENTRY(tigris_sub_float, SUB, FLOAT32, tigris_binary_float_params, run_subtract, check);
TIGRIS_KERNEL_ENTRY(tigris_mul_float, MUL, FLOAT32, tigris_binary_float_params, run_multiply, check);
