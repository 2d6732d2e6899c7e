/* Softmax, int16, bit-exact with TensorFlow Lite's SoftmaxInt16 (kernels/internal/reference/softmax.h). */
#include "fixed_point.h"
#include "int16.h"
#include "tigris_kernels.h"

#define ENTRIES 513U

/* A function of int16 by linear interpolation: LUTLookup (kernels/internal/common.h). */
static int32_t line(const int16_t *table, int32_t value)
{
    const int16_t *entry = table + ((value >> 7) + 256);
    const int32_t slope = (int16_t)(uint16_t)(entry[1] - entry[0]);
    return (int16_t)(uint16_t)(entry[0] + ((slope * (value & 127) + 64) >> 7));
}

static int32_t saturated(int32_t value)
{
    return tigris_clamp(value, INT16_MIN, INT16_MAX);
}

static void softmax(const tigris_kernel_call *call, const int16_t *input, int16_t *output)
{
    const tigris_softmax_int16_params *params = tigris_params(call);
    const int16_t *exponentials = tigris_int16_data(call, params->exponentials);
    const int16_t *reciprocals = tigris_int16_data(call, params->reciprocals);
    int32_t largest = INT16_MIN;
    for (uint32_t i = 0; i < params->length; i++) {
        largest = input[i] > largest ? input[i] : largest;
    }
    int32_t sum = 0; /* at most 65536 * 32767 */
    for (uint32_t i = 0; i < params->length; i++) {
        const int32_t scaled = tigris_requantise(input[i] - largest, params->multiplier, params->shift);
        output[i] = (int16_t)line(exponentials, saturated(tigris_wrapping_add(scaled, INT16_MAX)));
        sum += output[i];
    }
    /* The sum is 1.x * 2^(31 - zeros), or 0 with a damaged table. */
    const int32_t zeros = tigris_leading_zeros((uint32_t)sum);
    const uint32_t normal = (uint32_t)((((uint64_t)(uint32_t)sum << ((zeros + 31) & 31)) + (1U << 13)) >> 14);
    const int32_t reciprocal = line(reciprocals, saturated((int32_t)normal - (1 << 15) - (1 << 16)));
    const uint32_t right = (uint32_t)(31 - zeros) & 31U;
    const int64_t half = (int64_t)((UINT32_C(1) << right) >> 1);
    for (uint32_t i = 0; i < params->length; i++) {
        const int64_t share = ((int64_t)output[i] * reciprocal + half) >> right;
        output[i] = (int16_t)tigris_clamp((int32_t)share, 0, INT16_MAX);
    }
}

static void run(const tigris_kernel_call *call)
{
    const tigris_softmax_int16_params *params = tigris_params(call);
    const uint32_t elements = tigris_band_elements(tigris_output_band(call));
    const int16_t *input = tigris_int16_row(tigris_input_band(call, 0), tigris_output_first(call));
    int16_t *output = tigris_int16_output(call);
    for (uint32_t i = 0; i < elements; i += params->length) {
        softmax(call, input + i, output + i);
    }
}

static tigris_status check(const tigris_check_call *call)
{
    const tigris_softmax_int16_params *params = call->params;
    return tigris_check_result(
        tigris_check_types(call, 1U, TIGRIS_DTYPE_INT16, TIGRIS_DTYPE_INT16) && tigris_check_pointwise(call, 0U) &&
        params->length != 0U && params->length <= 65536U &&
        tigris_row_elements(call->output) % params->length == 0U &&
        tigris_check_multiplier(params->multiplier, params->shift) &&
        tigris_check_data(call, params->exponentials, ENTRIES, sizeof(int16_t)) &&
        tigris_check_data(call, params->reciprocals, ENTRIES, sizeof(int16_t)));
}

TIGRIS_KERNEL_ENTRY(tigris_softmax_int16, SOFTMAX, INT16, tigris_softmax_int16_params, run, check);
