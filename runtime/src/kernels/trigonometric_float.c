/* Trigonometric and hyperbolic functions of float32. They are separate from unary_float.c because they link large
 * library code into firmware. */
#include <math.h>

#include "access.h"
#include "check.h"
#include "tigris_kernels.h"

static float apply(uint32_t function, float x)
{
    switch (function) {
    case TIGRIS_UNARY_FUNCTION_SIN:
        return sinf(x);
    case TIGRIS_UNARY_FUNCTION_COS:
        return cosf(x);
    case TIGRIS_UNARY_FUNCTION_TAN:
        return tanf(x);
    case TIGRIS_UNARY_FUNCTION_ASIN:
        return asinf(x);
    case TIGRIS_UNARY_FUNCTION_ACOS:
        return acosf(x);
    case TIGRIS_UNARY_FUNCTION_ATAN:
        return atanf(x);
    case TIGRIS_UNARY_FUNCTION_SINH:
        return sinhf(x);
    case TIGRIS_UNARY_FUNCTION_COSH:
        return coshf(x);
    case TIGRIS_UNARY_FUNCTION_ASINH:
        return asinhf(x);
    case TIGRIS_UNARY_FUNCTION_ACOSH:
        return acoshf(x);
    default: /* TIGRIS_UNARY_FUNCTION_ATANH: the checker admits no other */
        return atanhf(x);
    }
}

static void run(const tigris_kernel_call *call)
{
    const tigris_unary_float_params *params = tigris_params(call);
    const uint32_t elements = tigris_band_elements(tigris_output_band(call));
    const float *input = tigris_float_row(tigris_input_band(call, 0), tigris_output_first(call));
    float *output = tigris_float_output(call);
    for (uint32_t i = 0; i < elements; i++) {
        output[i] = apply(params->function, input[i]);
    }
}

static tigris_status check(const tigris_check_call *call)
{
    const tigris_unary_float_params *params = call->params;
    return tigris_check_result(tigris_check_types(call, 1U, TIGRIS_DTYPE_FLOAT32, TIGRIS_DTYPE_FLOAT32) &&
                               tigris_check_pointwise(call, 0U) && params->function >= TIGRIS_UNARY_FUNCTION_SIN &&
                               params->function <= TIGRIS_UNARY_FUNCTION_ATANH);
}

TIGRIS_KERNEL_ENTRY(tigris_trigonometric_float, TRIGONOMETRIC, FLOAT32, tigris_unary_float_params, run, check);
