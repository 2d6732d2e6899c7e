/* VECTOR, int8: cumulative sums, bit-exact with TensorFlow Lite Micro (kernels/cumsum.cc). */
#include "requantise.h"
#include "tigris_kernels.h"
#include "vectors.h"

/* Fraction bits of sums: inputs are shifted left by 20 and halved. Sums wrap. */
#define FRACTION_BITS 19

/* Writes the elements in `span` of the vector whose first element is `start` of the flattened tensor. */
static void write_sums(const tigris_cumulative_int8_params *params, const int8_t *x, uint32_t start, tigris_span span,
                       int8_t *out)
{
    const tigris_output_stage output = {params->output_zero_point, INT8_MIN, INT8_MAX};
    uint32_t sum = (uint32_t)params->begin;
    for (uint32_t i = 0; i < params->length; i++) {
        const uint32_t k = (params->reverse != 0U ? params->length - 1U - i : i) * params->inner;
        const uint32_t before = sum;
        sum += (uint32_t)((int32_t)x[k] - params->input_zero_point);
        if (start + k >= span.first && start + k < span.end) {
            const uint32_t shown = (params->exclusive != 0U ? before : sum) << FRACTION_BITS;
            out[start + k - span.first] = tigris_to_int8((int32_t)shown, params->multiplier, params->shift, &output);
        }
    }
}

static void run(const tigris_kernel_call *call)
{
    const tigris_cumulative_int8_params *params = tigris_params(call);
    const uint32_t block = params->length * params->inner;
    const uint32_t held = tigris_band_span(tigris_input_band(call, 0)).first;
    const tigris_span span = tigris_band_span(tigris_output_band(call));
    const int8_t *in = (const int8_t *)(const void *)tigris_input_data(call, 0);
    for (uint32_t base = span.first / block * block; base < span.end; base += block) {
        for (uint32_t i = 0; i < params->inner; i++) {
            write_sums(params, in + (base + i - held), base + i, span, tigris_int8_output(call));
        }
    }
}

static tigris_status check(const tigris_check_call *call)
{
    const tigris_cumulative_int8_params *params = call->params;
    return tigris_check_result(tigris_check_types(call, 1U, TIGRIS_DTYPE_INT8, TIGRIS_DTYPE_INT8) &&
                               tigris_check_int8(params->input_zero_point) &&
                               tigris_check_int8(params->output_zero_point) &&
                               tigris_check_multiplier(params->multiplier, params->shift) &&
                               tigris_check_mapped(call, params->length, params->inner));
}

TIGRIS_KERNEL_ENTRY(tigris_vector_int8, VECTOR, INT8, tigris_cumulative_int8_params, run, check);
