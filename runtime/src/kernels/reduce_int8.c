/* REDUCE and ARG_REDUCE, int8: one number for each vector. Sums are exact: at most 2^22 elements of 2^8. Adjacent
 * vectors are reduced four at a time, which shares the steps along them. */
#include "requantise.h"
#include "tigris_kernels.h"
#include "vectors.h"

#define LANES 4U
#define LONGEST (UINT32_C(1) << 22)

/* One reduction. `flip` is 0 for sums and maxima, -1 for minima: a minimum is the complement of the maximum of the
 * complements. */
typedef struct reduction {
    uint32_t length;
    uint32_t inner;
    int32_t flip;
} reduction;

/* ---- sums ---- */

static void sum_one(const int8_t *x, const reduction *r, int32_t *sum)
{
    int32_t total = 0;
    uint32_t k = r->length;
    if (r->inner == 1U) {
        for (; k >= LANES; k -= LANES) {
            total += x[0] + x[1] + x[2] + x[3];
            x += LANES;
        }
    }
    for (; k > 0U; k--) {
        total += *x;
        x += r->inner;
    }
    *sum = total;
}

static void sum_lanes(const int8_t *x, const reduction *r, int32_t *sums)
{
    int32_t s0 = 0, s1 = 0, s2 = 0, s3 = 0;
    for (uint32_t k = r->length; k > 0U; k--) {
        s0 += x[0], s1 += x[1], s2 += x[2], s3 += x[3];
        x += r->inner;
    }
    sums[0] = s0, sums[1] = s1, sums[2] = s2, sums[3] = s3;
}

/* ---- largest and smallest ---- */

static inline int32_t larger(int32_t best, int32_t value)
{
    return value > best ? value : best;
}

static void extreme_one(const int8_t *x, const reduction *r, int32_t *result)
{
    const int32_t flip = r->flip;
    int32_t best = *x ^ flip;
    uint32_t k = r->length;
    if (r->inner == 1U) {
        for (; k >= LANES; k -= LANES) {
            best = larger(larger(best, x[0] ^ flip), x[1] ^ flip);
            best = larger(larger(best, x[2] ^ flip), x[3] ^ flip);
            x += LANES;
        }
    }
    for (; k > 0U; k--) {
        best = larger(best, *x ^ flip);
        x += r->inner;
    }
    *result = best ^ flip;
}

static void extreme_lanes(const int8_t *x, const reduction *r, int32_t *results)
{
    const int32_t flip = r->flip;
    int32_t b0 = x[0] ^ flip, b1 = x[1] ^ flip, b2 = x[2] ^ flip, b3 = x[3] ^ flip;
    for (uint32_t k = r->length; k > 0U; k--) {
        b0 = larger(b0, x[0] ^ flip), b1 = larger(b1, x[1] ^ flip);
        b2 = larger(b2, x[2] ^ flip), b3 = larger(b3, x[3] ^ flip);
        x += r->inner;
    }
    results[0] = b0 ^ flip, results[1] = b1 ^ flip, results[2] = b2 ^ flip, results[3] = b3 ^ flip;
}

/* ---- REDUCE ---- */

static int8_t finish(const tigris_reduce_int8_params *params, int is_sum, int32_t value)
{
    const tigris_output_stage output = {params->output_zero_point, INT8_MIN, INT8_MAX};
    if (!is_sum) {
        return (int8_t)value;
    }
    const int32_t sum = value - (int32_t)params->length * params->input_zero_point;
    return tigris_to_int8(sum, params->multiplier, params->shift, &output);
}

static void run(const tigris_kernel_call *call)
{
    const tigris_reduce_int8_params *params = tigris_params(call);
    const tigris_span span = tigris_band_span(tigris_output_band(call));
    const uint32_t before = tigris_band_span(tigris_input_band(call, 0)).first;
    const int8_t *input = (const int8_t *)(const void *)tigris_input_data(call, 0);
    const int is_sum = params->function == TIGRIS_REDUCE_FUNCTION_SUM || params->function == TIGRIS_REDUCE_FUNCTION_MEAN;
    const reduction r = {params->length, params->inner, params->function == TIGRIS_REDUCE_FUNCTION_MINIMUM ? -1 : 0};
    int8_t *output = tigris_int8_output(call);
    uint32_t lane = span.first % r.inner;
    uint32_t start = (span.first - lane) * r.length - before;
    for (uint32_t at = span.first; at < span.end;) {
        int32_t values[LANES];
        uint32_t count = 1U;
        if (r.inner - lane >= LANES && span.end - at >= LANES) {
            count = LANES;
            (is_sum ? sum_lanes : extreme_lanes)(input + start + lane, &r, values);
        } else {
            (is_sum ? sum_one : extreme_one)(input + start + lane, &r, values);
        }
        for (uint32_t i = 0; i < count; i++) {
            *output++ = finish(params, is_sum, values[i]);
        }
        at += count;
        lane += count;
        if (lane == r.inner) {
            lane = 0U;
            start += r.inner * r.length;
        }
    }
}

static tigris_status check(const tigris_check_call *call)
{
    const tigris_reduce_int8_params *params = call->params;
    return tigris_check_result(
        tigris_check_types(call, 1U, TIGRIS_DTYPE_INT8, TIGRIS_DTYPE_INT8) &&
        params->function >= TIGRIS_REDUCE_FUNCTION_SUM && params->function <= TIGRIS_REDUCE_FUNCTION_MINIMUM &&
        params->length <= LONGEST && tigris_check_reduced(call, params->length, params->inner) &&
        tigris_check_int8(params->input_zero_point) && tigris_check_int8(params->output_zero_point) &&
        tigris_check_multiplier(params->multiplier, params->shift));
}

/* ---- ARG_REDUCE ---- */

static uint32_t find(const int8_t *x, const tigris_arg_reduce_params *params)
{
    const int32_t flip = params->smallest != 0U ? -1 : 0;
    const int32_t last = params->last != 0U ? 1 : 0;
    int32_t best = *x ^ flip;
    uint32_t place = 0U;
    for (uint32_t k = 1U; k < params->length; k++) {
        x += params->inner;
        const int32_t value = *x ^ flip;
        if (value + last > best) {
            best = value;
            place = k;
        }
    }
    return place;
}

static void run_arg(const tigris_kernel_call *call)
{
    const tigris_arg_reduce_params *params = tigris_params(call);
    const tigris_span span = tigris_band_span(tigris_output_band(call));
    const uint32_t before = tigris_band_span(tigris_input_band(call, 0)).first;
    const int8_t *input = (const int8_t *)(const void *)tigris_input_data(call, 0);
    float *output = tigris_float_output(call);
    for (uint32_t at = span.first; at < span.end; at++) {
        const uint32_t lane = at % params->inner;
        *output++ = (float)find(input + ((at - lane) * params->length - before + lane), params);
    }
}

static tigris_status check_arg(const tigris_check_call *call)
{
    const tigris_arg_reduce_params *params = call->params;
    return tigris_check_result(tigris_check_types(call, 1U, TIGRIS_DTYPE_INT8, TIGRIS_DTYPE_FLOAT32) &&
                               params->length <= 1U << 24 &&
                               tigris_check_reduced(call, params->length, params->inner));
}

TIGRIS_KERNEL_ENTRY(tigris_reduce_int8, REDUCE, INT8, tigris_reduce_int8_params, run, check);
TIGRIS_KERNEL_ENTRY(tigris_arg_reduce_int8, ARG_REDUCE, INT8, tigris_arg_reduce_params, run_arg, check_arg);
