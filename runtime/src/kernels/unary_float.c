/* Unary functions of float32, except those of trigonometric_float.c. */
#include <math.h>

#include "access.h"
#include "check.h"
#include "tigris_kernels.h"

#define SQRT_HALF 0.70710678118654752F
#define SQRT_2_OVER_PI 0.79788456080286536F

static float softplus(float x)
{
    return (x > 0.0F ? x : 0.0F) + log1pf(expf(-fabsf(x)));
}

static float gelu_tanh(float x)
{
    return 0.5F * x * (1.0F + tanhf(SQRT_2_OVER_PI * (x + 0.044715F * x * x * x)));
}

static float shrink(float x, float limit, float bias)
{
    return x < -limit ? x + bias : x > limit ? x - bias : 0.0F;
}

static float is_inf(float x, float negative, float positive)
{
    return (x == -INFINITY && negative != 0.0F) || (x == INFINITY && positive != 0.0F) ? 1.0F : 0.0F;
}

/* Activation functions. */
static float activate(const tigris_unary_float_params *params, float x)
{
    const float alpha = params->alpha;
    switch (params->function) {
    case TIGRIS_UNARY_FUNCTION_CLAMP:
        return tigris_clamp_float(x, alpha, params->beta);
    case TIGRIS_UNARY_FUNCTION_SIGMOID:
        return 1.0F / (1.0F + expf(-x));
    case TIGRIS_UNARY_FUNCTION_TANH:
        return tanhf(x);
    case TIGRIS_UNARY_FUNCTION_LEAKY_RELU:
        return x < 0.0F ? alpha * x : x;
    case TIGRIS_UNARY_FUNCTION_HARD_SIGMOID:
        return tigris_clamp_float(alpha * x + params->beta, 0.0F, 1.0F);
    case TIGRIS_UNARY_FUNCTION_HARD_SWISH:
        return x * tigris_clamp_float(x / 6.0F + 0.5F, 0.0F, 1.0F);
    case TIGRIS_UNARY_FUNCTION_SOFTPLUS:
        return softplus(x);
    case TIGRIS_UNARY_FUNCTION_SOFTSIGN:
        return x / (1.0F + fabsf(x));
    case TIGRIS_UNARY_FUNCTION_ELU:
        return x < 0.0F ? alpha * expm1f(x) : params->beta * x;
    case TIGRIS_UNARY_FUNCTION_CELU:
        return x < 0.0F ? alpha * expm1f(x / alpha) : x;
    case TIGRIS_UNARY_FUNCTION_GELU:
        return 0.5F * x * (1.0F + erff(x * SQRT_HALF));
    case TIGRIS_UNARY_FUNCTION_GELU_TANH:
        return gelu_tanh(x);
    case TIGRIS_UNARY_FUNCTION_MISH:
        return x * tanhf(softplus(x));
    case TIGRIS_UNARY_FUNCTION_SWISH:
        return x / (1.0F + expf(-alpha * x));
    case TIGRIS_UNARY_FUNCTION_THRESHOLD:
        return x > alpha ? x : 0.0F;
    default: /* TIGRIS_UNARY_FUNCTION_SHRINK: apply passes on no other */
        return shrink(x, alpha, params->beta);
    }
}

static float apply(const tigris_unary_float_params *params, float x)
{
    switch (params->function) {
    case TIGRIS_UNARY_FUNCTION_EXP:
        return expf(x);
    case TIGRIS_UNARY_FUNCTION_SQRT:
        return sqrtf(x);
    case TIGRIS_UNARY_FUNCTION_ABS:
        return fabsf(x);
    case TIGRIS_UNARY_FUNCTION_NEGATE:
        return -x;
    case TIGRIS_UNARY_FUNCTION_LOG:
        return logf(x);
    case TIGRIS_UNARY_FUNCTION_RECIPROCAL:
        return 1.0F / x;
    case TIGRIS_UNARY_FUNCTION_ERF:
        return erff(x);
    case TIGRIS_UNARY_FUNCTION_CEIL:
        return ceilf(x);
    case TIGRIS_UNARY_FUNCTION_FLOOR:
        return floorf(x);
    case TIGRIS_UNARY_FUNCTION_ROUND:
        return rintf(x);
    case TIGRIS_UNARY_FUNCTION_SIGN:
        return x > 0.0F ? 1.0F : x < 0.0F ? -1.0F : x;
    case TIGRIS_UNARY_FUNCTION_TRUNCATE:
        return truncf(x);
    case TIGRIS_UNARY_FUNCTION_SQUARE:
        return x * x;
    case TIGRIS_UNARY_FUNCTION_IS_NAN:
        return x != x ? 1.0F : 0.0F;
    case TIGRIS_UNARY_FUNCTION_IS_INF:
        return is_inf(x, params->alpha, params->beta);
    case TIGRIS_UNARY_FUNCTION_NOT:
        return x == 0.0F ? 1.0F : 0.0F;
    case TIGRIS_UNARY_FUNCTION_IS_TRUE:
        return x == 0.0F ? 0.0F : 1.0F;
    default:
        return activate(params, x);
    }
}

static void run(const tigris_kernel_call *call)
{
    const tigris_unary_float_params *params = tigris_params(call);
    const uint32_t elements = tigris_band_elements(tigris_output_band(call));
    const float *input = tigris_float_row(tigris_input_band(call, 0), tigris_output_first(call));
    float *output = tigris_float_output(call);
    for (uint32_t i = 0; i < elements; i++) {
        output[i] = apply(params, input[i]);
    }
}

static tigris_status check(const tigris_check_call *call)
{
    const tigris_unary_float_params *params = call->params;
    return tigris_check_result(tigris_check_types(call, 1U, TIGRIS_DTYPE_FLOAT32, TIGRIS_DTYPE_FLOAT32) &&
                               tigris_check_pointwise(call, 0U) && params->function >= TIGRIS_UNARY_FUNCTION_CLAMP &&
                               params->function <= TIGRIS_UNARY_FUNCTION_IS_TRUE);
}

TIGRIS_KERNEL_ENTRY(tigris_unary_float, UNARY, FLOAT32, tigris_unary_float_params, run, check);
