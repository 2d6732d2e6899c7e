/* REDUCE and ARG_REDUCE, float32: one number for each vector. */
#include <math.h>

#include "tigris_kernels.h"
#include "vectors.h"

/* A sum that carries its rounding error (W. Kahan, "Further remarks on reducing truncation errors", 1965). */
typedef struct running_sum {
    float total;
    float lost;
} running_sum;

static void add(running_sum *sum, float x)
{
    /* The stores keep compilers from re-associating the error away. */
    const float corrected = x - sum->lost;
    volatile float total = sum->total + corrected;
    volatile float taken = total - sum->total;
    const float lost = taken - corrected;
    sum->lost = lost - lost == 0.0F ? lost : 0.0F; /* infinities and NaN carry no error */
    sum->total = total;
}

static float term(uint32_t function, float x)
{
    switch (function) {
    case TIGRIS_REDUCE_FUNCTION_L1:
        return fabsf(x);
    case TIGRIS_REDUCE_FUNCTION_L2:
    case TIGRIS_REDUCE_FUNCTION_SUM_SQUARE:
        return x * x;
    default:
        return x;
    }
}

static float finish(uint32_t function, float sum, uint32_t length)
{
    switch (function) {
    case TIGRIS_REDUCE_FUNCTION_MEAN:
        return sum / (float)length;
    case TIGRIS_REDUCE_FUNCTION_L2:
        return sqrtf(sum);
    case TIGRIS_REDUCE_FUNCTION_LOG_SUM:
        return logf(sum);
    default:
        return sum;
    }
}

static float sum_vector(const float *x, const tigris_reduce_params *params)
{
    running_sum sum = {0.0F, 0.0F};
    for (uint32_t k = 0; k < params->length; k++) {
        add(&sum, term(params->function, x[k * params->inner]));
    }
    return finish(params->function, sum.total, params->length);
}

/* The largest or smallest element, or NaN if the vector has one. */
static float extreme(const float *x, uint32_t length, uint32_t inner, int smallest)
{
    float best = x[0];
    for (uint32_t k = 1; k < length; k++) {
        const float value = x[k * inner];
        best = value != value || (smallest ? value < best : value > best) ? value : best;
    }
    return best;
}

static float product(const float *x, const tigris_reduce_params *params)
{
    float result = 1.0F;
    for (uint32_t k = 0; k < params->length; k++) {
        result *= x[k * params->inner];
    }
    return result;
}

static float log_sum_exp(const float *x, const tigris_reduce_params *params)
{
    const float largest = extreme(x, params->length, params->inner, 0);
    if (largest - largest != 0.0F) {
        return largest;
    }
    running_sum sum = {0.0F, 0.0F};
    for (uint32_t k = 0; k < params->length; k++) {
        add(&sum, expf(x[k * params->inner] - largest));
    }
    return largest + logf(sum.total);
}

static float reduce(const float *x, const tigris_reduce_params *params)
{
    switch (params->function) {
    case TIGRIS_REDUCE_FUNCTION_MAXIMUM:
        return extreme(x, params->length, params->inner, 0);
    case TIGRIS_REDUCE_FUNCTION_MINIMUM:
        return extreme(x, params->length, params->inner, 1);
    case TIGRIS_REDUCE_FUNCTION_PRODUCT:
        return product(x, params);
    case TIGRIS_REDUCE_FUNCTION_LOG_SUM_EXP:
        return log_sum_exp(x, params);
    default:
        return sum_vector(x, params);
    }
}

/* First element of the vector of output element `at`. */
static const float *vector_of(const tigris_kernel_call *call, uint32_t at, uint32_t length, uint32_t inner)
{
    const float *input = (const float *)(const void *)tigris_input_data(call, 0);
    const uint32_t start = at / inner * inner * length + at % inner;
    return input + (start - tigris_band_span(tigris_input_band(call, 0)).first);
}

static void run(const tigris_kernel_call *call)
{
    const tigris_reduce_params *params = tigris_params(call);
    const tigris_span span = tigris_band_span(tigris_output_band(call));
    float *output = tigris_float_output(call);
    for (uint32_t at = span.first; at < span.end; at++) {
        *output++ = reduce(vector_of(call, at, params->length, params->inner), params);
    }
}

static uint32_t find(const float *x, const tigris_arg_reduce_params *params)
{
    uint32_t best = 0U;
    for (uint32_t k = 1; k < params->length; k++) {
        const float value = x[k * params->inner];
        const float other = x[best * params->inner];
        const int better = params->smallest != 0U ? value < other : value > other;
        best = better || (params->last != 0U && value == other) ? k : best;
    }
    return best;
}

static void run_arg(const tigris_kernel_call *call)
{
    const tigris_arg_reduce_params *params = tigris_params(call);
    const tigris_span span = tigris_band_span(tigris_output_band(call));
    float *output = tigris_float_output(call);
    for (uint32_t at = span.first; at < span.end; at++) {
        *output++ = (float)find(vector_of(call, at, params->length, params->inner), params);
    }
}

static tigris_status check(const tigris_check_call *call)
{
    const tigris_reduce_params *params = call->params;
    return tigris_check_result(tigris_check_types(call, 1U, TIGRIS_DTYPE_FLOAT32, TIGRIS_DTYPE_FLOAT32) &&
                               params->function >= TIGRIS_REDUCE_FUNCTION_SUM &&
                               params->function <= TIGRIS_REDUCE_FUNCTION_LOG_SUM_EXP &&
                               tigris_check_reduced(call, params->length, params->inner));
}

static tigris_status check_arg(const tigris_check_call *call)
{
    const tigris_arg_reduce_params *params = call->params;
    return tigris_check_result(tigris_check_types(call, 1U, TIGRIS_DTYPE_FLOAT32, TIGRIS_DTYPE_FLOAT32) &&
                               params->length <= 1U << 24 &&
                               tigris_check_reduced(call, params->length, params->inner));
}

TIGRIS_KERNEL_ENTRY(tigris_reduce_float, REDUCE, FLOAT32, tigris_reduce_params, run, check);
TIGRIS_KERNEL_ENTRY(tigris_arg_reduce_float, ARG_REDUCE, FLOAT32, tigris_arg_reduce_params, run_arg, check_arg);
