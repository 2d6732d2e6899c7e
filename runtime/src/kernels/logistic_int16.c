/* LOGISTIC: 1 / (1 + exp(-x)) and tanh(x) of int16, bit-exact with TensorFlow Lite
 * (kernels/internal/reference/integer_ops: logistic.h, tanh.h). One table serves both: tanh(x) = 2 / (1 + exp(-2x))
 * - 1. */
#include "int16.h"
#include "tigris_kernels.h"

#define ENTRIES 256U

/* Interpolates in the table at position x / 2^bits; the result has `bits` fraction bits. `most`: the result from the
 * last entry on. */
static uint32_t between(const uint16_t *table, uint32_t x, uint32_t bits, uint32_t most)
{
    const uint32_t place = x >> bits;
    if (place >= ENTRIES - 1U) {
        return most;
    }
    const uint32_t low = table[place];
    const uint32_t high = table[place + 1U];
    return (low << bits) + (x & ((1U << bits) - 1U)) * (high - low);
}

static int32_t logistic(const uint16_t *table, int32_t x)
{
    const uint32_t most = UINT32_C(0x7FFF) << 10;
    const uint32_t value = between(table, (uint32_t)(x < 0 ? -x : x), 9U, most);
    return (int32_t)((x >= 0 ? value + 512U : (UINT32_C(1) << 25) - value + 511U) >> 10);
}

static int32_t hyperbolic(const uint16_t *table, int32_t x)
{
    const uint32_t most = UINT32_C(0xFFFF) << 8;
    const int32_t value = (int32_t)(between(table, (uint32_t)(x < 0 ? -x : x), 8U, most) - (UINT32_C(1) << 23));
    return (x >= 0 ? value + 128 : 127 - value) >> 8;
}

static void run(const tigris_kernel_call *call)
{
    const tigris_logistic_int16_params *params = tigris_params(call);
    const uint16_t *table = (const uint16_t *)(const void *)(tigris_weights(call) + params->table);
    const int32_t half = (int32_t)((UINT32_C(1) << params->shift) >> 1);
    const uint32_t elements = tigris_band_elements(tigris_output_band(call));
    const int16_t *input = tigris_int16_row(tigris_input_band(call, 0), tigris_output_first(call));
    int16_t *output = tigris_int16_output(call);
    for (uint32_t i = 0; i < elements; i++) {
        const int32_t x = (input[i] * params->multiplier + half) >> params->shift;
        output[i] = (int16_t)(params->hyperbolic != 0U ? hyperbolic(table, x) : logistic(table, x));
    }
}

static tigris_status check(const tigris_check_call *call)
{
    const tigris_logistic_int16_params *params = call->params;
    return tigris_check_result(tigris_check_types(call, 1U, TIGRIS_DTYPE_INT16, TIGRIS_DTYPE_INT16) &&
                               tigris_check_pointwise(call, 0U) && params->multiplier >= 0 &&
                               params->multiplier <= INT16_MAX && params->shift >= 0 && params->shift <= 31 &&
                               params->hyperbolic <= 1U &&
                               tigris_check_data(call, params->table, ENTRIES, sizeof(uint16_t)));
}

TIGRIS_KERNEL_ENTRY(tigris_logistic_int16, LOGISTIC, INT16, tigris_logistic_int16_params, run, check);
