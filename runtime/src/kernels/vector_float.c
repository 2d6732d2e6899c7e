/* VECTOR, float32: functions of a whole vector: normalisations, LogSoftmax, Hardmax, CumSum.
 *
 * Most are out = (x - offset) * factor with two numbers for each vector. A band computes the numbers of the vectors
 * that it touches, and writes only its own elements. */
#include <math.h>

#include "tigris_kernels.h"
#include "vectors.h"

/* A vector, and the span of the flattened tensor that the band writes: element k has index start + k * inner. */
typedef struct vector {
    const float *x;
    float *out;
    uint32_t start;
    tigris_span span;
} vector;

typedef struct moments {
    float mean;
    float variance;
} moments;

static moments moments_of(const float *x, const tigris_vector_params *params)
{
    moments result = {0.0F, 0.0F};
    const float count = (float)params->length;
    for (uint32_t k = 0; k < params->length; k++) {
        result.mean += (x[k * params->inner] - result.mean) / (float)(k + 1U);
    }
    for (uint32_t k = 0; k < params->length; k++) {
        const float d = x[k * params->inner] - result.mean;
        result.variance += d * d;
    }
    result.variance /= count;
    return result;
}

static float sum_squares(const float *x, const tigris_vector_params *params)
{
    float sum = 0.0F;
    for (uint32_t k = 0; k < params->length; k++) {
        sum += x[k * params->inner] * x[k * params->inner];
    }
    return sum;
}

static float sum_magnitudes(const float *x, const tigris_vector_params *params)
{
    float sum = 0.0F;
    for (uint32_t k = 0; k < params->length; k++) {
        sum += fabsf(x[k * params->inner]);
    }
    return sum;
}

static uint32_t find_largest(const float *x, const tigris_vector_params *params)
{
    uint32_t best = 0U;
    for (uint32_t k = 1; k < params->length; k++) {
        best = x[k * params->inner] > x[best * params->inner] ? k : best;
    }
    return best;
}

static float sum_exponentials(const float *x, const tigris_vector_params *params, float largest)
{
    float sum = 0.0F;
    for (uint32_t k = 0; k < params->length; k++) {
        sum += expf(x[k * params->inner] - largest);
    }
    return sum;
}

static float inverse(float norm)
{
    return norm > 0.0F ? 1.0F / norm : 0.0F;
}

static int wanted(const vector *v, uint32_t k, uint32_t inner)
{
    const uint32_t at = v->start + k * inner;
    return at >= v->span.first && at < v->span.end;
}

static float *place(const vector *v, uint32_t k, uint32_t inner)
{
    return v->out + (v->start + k * inner - v->span.first);
}

static void write_linear(const vector *v, const tigris_vector_params *params, float offset, float factor)
{
    for (uint32_t k = 0; k < params->length; k++) {
        if (wanted(v, k, params->inner)) {
            *place(v, k, params->inner) = (v->x[k * params->inner] - offset) * factor;
        }
    }
}

static void write_cumulative(const vector *v, const tigris_vector_params *params)
{
    const int is_product = params->function == TIGRIS_VECTOR_FUNCTION_CUMULATIVE_PRODUCT;
    float sum = is_product ? 1.0F : 0.0F;
    for (uint32_t i = 0; i < params->length; i++) {
        const uint32_t k = params->reverse != 0U ? params->length - 1U - i : i;
        const float before = sum;
        sum = is_product ? sum * v->x[k * params->inner] : sum + v->x[k * params->inner];
        if (wanted(v, k, params->inner)) {
            *place(v, k, params->inner) = params->exclusive != 0U ? before : sum;
        }
    }
}

static void write_hardmax(const vector *v, const tigris_vector_params *params)
{
    const uint32_t largest = find_largest(v->x, params);
    for (uint32_t k = 0; k < params->length; k++) {
        if (wanted(v, k, params->inner)) {
            *place(v, k, params->inner) = k == largest ? 1.0F : 0.0F;
        }
    }
}

static void write_softmax(const vector *v, const tigris_vector_params *params)
{
    const float largest = v->x[find_largest(v->x, params) * params->inner];
    const float sum = sum_exponentials(v->x, params, largest);
    if (params->function == TIGRIS_VECTOR_FUNCTION_LOG_SOFTMAX) {
        const float log_sum = logf(sum);
        for (uint32_t k = 0; k < params->length; k++) {
            if (wanted(v, k, params->inner)) {
                *place(v, k, params->inner) = v->x[k * params->inner] - largest - log_sum;
            }
        }
        return;
    }
    for (uint32_t k = 0; k < params->length; k++) {
        if (wanted(v, k, params->inner)) {
            *place(v, k, params->inner) = expf(v->x[k * params->inner] - largest) / sum;
        }
    }
}

static void write_standardised(const vector *v, const tigris_vector_params *params)
{
    const moments m = moments_of(v->x, params);
    const float deviation = params->function == TIGRIS_VECTOR_FUNCTION_STANDARDISE
                                ? sqrtf(m.variance + params->epsilon)
                                : sqrtf(m.variance) + params->epsilon;
    write_linear(v, params, m.mean, 1.0F / deviation);
}

static void write_vector(const vector *v, const tigris_vector_params *params)
{
    switch (params->function) {
    case TIGRIS_VECTOR_FUNCTION_STANDARDISE:
    case TIGRIS_VECTOR_FUNCTION_STANDARDISE_OUTSIDE:
        write_standardised(v, params);
        break;
    case TIGRIS_VECTOR_FUNCTION_RMS:
        write_linear(v, params, 0.0F,
                     1.0F / sqrtf(sum_squares(v->x, params) / (float)params->length + params->epsilon));
        break;
    case TIGRIS_VECTOR_FUNCTION_L1:
        write_linear(v, params, 0.0F, inverse(sum_magnitudes(v->x, params)));
        break;
    case TIGRIS_VECTOR_FUNCTION_L2:
        write_linear(v, params, 0.0F, inverse(sqrtf(sum_squares(v->x, params))));
        break;
    case TIGRIS_VECTOR_FUNCTION_HARDMAX:
        write_hardmax(v, params);
        break;
    case TIGRIS_VECTOR_FUNCTION_CUMULATIVE_SUM:
    case TIGRIS_VECTOR_FUNCTION_CUMULATIVE_PRODUCT:
        write_cumulative(v, params);
        break;
    default: /* SOFTMAX and LOG_SOFTMAX: the checker admits no other */
        write_softmax(v, params);
        break;
    }
}

static void run(const tigris_kernel_call *call)
{
    const tigris_vector_params *params = tigris_params(call);
    const uint32_t block = params->length * params->inner;
    const uint32_t held = tigris_band_span(tigris_input_band(call, 0)).first;
    vector v;
    v.span = tigris_band_span(tigris_output_band(call));
    v.out = tigris_float_output(call);
    for (uint32_t base = v.span.first / block * block; base < v.span.end; base += block) {
        for (uint32_t i = 0; i < params->inner; i++) {
            v.start = base + i;
            v.x = (const float *)(const void *)tigris_input_data(call, 0) + (v.start - held);
            write_vector(&v, params);
        }
    }
}

static tigris_status check(const tigris_check_call *call)
{
    const tigris_vector_params *params = call->params;
    return tigris_check_result(tigris_check_types(call, 1U, TIGRIS_DTYPE_FLOAT32, TIGRIS_DTYPE_FLOAT32) &&
                               params->function >= TIGRIS_VECTOR_FUNCTION_STANDARDISE &&
                               params->function <= TIGRIS_VECTOR_FUNCTION_CUMULATIVE_PRODUCT &&
                               tigris_check_mapped(call, params->length, params->inner));
}

TIGRIS_KERNEL_ENTRY(tigris_vector_float, VECTOR, FLOAT32, tigris_vector_params, run, check);
