/* Functions of two float32 tensors, with broadcasting: arithmetic, comparison and logic. */
#include <math.h>

#include "binary_loop_float.h"
#include "tigris_kernels.h"

static float floor_mod(float a, float b)
{
    const float remainder = fmodf(a, b);
    return remainder != 0.0F && (remainder < 0.0F) != (b < 0.0F) ? remainder + b : remainder;
}

static int compare(uint32_t function, float a, float b)
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
    case TIGRIS_BINARY_FUNCTION_EQUAL:
        return a == b;
    case TIGRIS_BINARY_FUNCTION_AND:
        return a != 0.0F && b != 0.0F;
    case TIGRIS_BINARY_FUNCTION_OR:
        return a != 0.0F || b != 0.0F;
    default: /* TIGRIS_BINARY_FUNCTION_XOR: the checker admits no other */
        return (a != 0.0F) != (b != 0.0F);
    }
}

static float apply(uint32_t function, float a, float b)
{
    switch (function) {
    case TIGRIS_BINARY_FUNCTION_DIVIDE:
        return a / b;
    case TIGRIS_BINARY_FUNCTION_POWER:
        return powf(a, b);
    case TIGRIS_BINARY_FUNCTION_MAXIMUM:
        return a > b || a != a ? a : b;
    case TIGRIS_BINARY_FUNCTION_MINIMUM:
        return a < b || a != a ? a : b;
    case TIGRIS_BINARY_FUNCTION_FLOOR_MOD:
        return floor_mod(a, b);
    case TIGRIS_BINARY_FUNCTION_TRUNCATE_MOD:
        return fmodf(a, b);
    case TIGRIS_BINARY_FUNCTION_PRELU:
        return a < 0.0F ? a * b : a;
    default:
        return compare(function, a, b) ? 1.0F : 0.0F;
    }
}

static inline float apply_to(const void *params, const void *a, const void *b)
{
    const tigris_binary_function_params *of = params;
    return apply(of->function, *(const float *)a, *(const float *)b);
}

static void run(const tigris_kernel_call *call)
{
    const tigris_binary_function_params *params = tigris_params(call);
    const tigris_binary_steps steps = TIGRIS_BINARY_STEPS(params);
    tigris_run_binary_float(call, steps, (uint32_t)sizeof(float), apply_to, params);
}

static tigris_status check(const tigris_check_call *call)
{
    const tigris_binary_function_params *params = call->params;
    const tigris_binary_steps steps = TIGRIS_BINARY_STEPS(params);
    return tigris_check_result(tigris_check_types(call, 2U, TIGRIS_DTYPE_FLOAT32, TIGRIS_DTYPE_FLOAT32) &&
                               params->function >= TIGRIS_BINARY_FUNCTION_DIVIDE &&
                               params->function <= TIGRIS_BINARY_FUNCTION_XOR && tigris_check_both_steps(call, steps));
}

TIGRIS_KERNEL_ENTRY(tigris_binary_float, BINARY, FLOAT32, tigris_binary_function_params, run, check);
