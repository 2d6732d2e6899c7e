/* REDUCE, int16: one number for each vector. Sums wrap at 32 bits, as in TensorFlow Lite beyond 65536 elements. */
#include "int16.h"
#include "tigris_kernels.h"
#include "vectors.h"

static int32_t reduced(const tigris_reduce_int8_params *params, const int16_t *x)
{
    const int is_sum = params->function == TIGRIS_REDUCE_FUNCTION_SUM || params->function == TIGRIS_REDUCE_FUNCTION_MEAN;
    const int32_t flip = params->function == TIGRIS_REDUCE_FUNCTION_MINIMUM ? -1 : 0;
    int32_t result = is_sum ? 0 : *x ^ flip;
    for (uint32_t k = params->length; k != 0U; k--) {
        const int32_t value = *x ^ flip;
        result = is_sum ? tigris_wrapping_add(result, value) : value > result ? value : result;
        x += params->inner;
    }
    return is_sum ? tigris_requantise(result, params->multiplier, params->shift) : result ^ flip;
}

static void run(const tigris_kernel_call *call)
{
    const tigris_reduce_int8_params *params = tigris_params(call);
    const tigris_span span = tigris_band_span(tigris_output_band(call));
    const uint32_t before = tigris_band_span(tigris_input_band(call, 0)).first;
    const int16_t *input = (const int16_t *)(const void *)tigris_input_data(call, 0);
    int16_t *output = tigris_int16_output(call);
    for (uint32_t at = span.first; at < span.end; at++) {
        const uint32_t lane = at % params->inner;
        const int16_t *first = input + ((at - lane) * params->length - before + lane);
        *output++ = (int16_t)tigris_clamp(reduced(params, first), INT16_MIN, INT16_MAX);
    }
}

static tigris_status check(const tigris_check_call *call)
{
    const tigris_reduce_int8_params *params = call->params;
    return tigris_check_result(
        tigris_check_types(call, 1U, TIGRIS_DTYPE_INT16, TIGRIS_DTYPE_INT16) &&
        params->function >= TIGRIS_REDUCE_FUNCTION_SUM && params->function <= TIGRIS_REDUCE_FUNCTION_MINIMUM &&
        tigris_check_reduced(call, params->length, params->inner) && params->input_zero_point == 0 &&
        params->output_zero_point == 0 && tigris_check_multiplier(params->multiplier, params->shift));
}

TIGRIS_KERNEL_ENTRY(tigris_reduce_int16, REDUCE, INT16, tigris_reduce_int8_params, run, check);
