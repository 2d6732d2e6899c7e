/* QUANTIZE float32 to int8, with halves rounded as the model says, and DEQUANTIZE back. Processors with floating-point
 * arithmetic compute; others look results up in the plan's tables, which hold the same numbers. */
#include <string.h>

#include "access.h"
#include "check.h"
#include "requantise.h"
#include "rounding.h"
#include "tigris_kernels.h"

#define CODES 256U

#if defined(__ARM_FP) || defined(__riscv_flen)

static void run_quantize(const tigris_kernel_call *call)
{
    const tigris_quantize_params *params = tigris_params(call);
    const uint32_t elements = tigris_band_elements(tigris_output_band(call));
    const float *input = tigris_float_row(tigris_input_band(call, 0), tigris_output_first(call));
    int8_t *output = tigris_int8_output(call);
    for (uint32_t i = 0; i < elements; i++) {
        const int32_t value = tigris_rounded(input[i] / params->scale, params->rounding) + params->zero_point;
        output[i] = (int8_t)tigris_clamp(value, INT8_MIN, INT8_MAX);
    }
}

static void run_dequantize(const tigris_kernel_call *call)
{
    const tigris_quantize_params *params = tigris_params(call);
    const uint32_t elements = tigris_band_elements(tigris_output_band(call));
    const int8_t *input = tigris_int8_row(tigris_input_band(call, 0), tigris_output_first(call));
    float *output = tigris_float_output(call);
    for (uint32_t i = 0; i < elements; i++) {
        output[i] = (float)(input[i] - params->zero_point) * params->scale;
    }
}

#else

#define INFINITY_BITS 0x7F800000

/* Maps a float32 to an integer of the same order; NaN to the smallest. */
static inline int32_t ordered(const float *number)
{
    int32_t bits;
    memcpy(&bits, number, sizeof bits);
    const int32_t key = bits ^ ((bits >> 31) & INT32_MAX);
    return key > INFINITY_BITS ? INT32_MIN : key; /* NaNs with a sign are below all numbers already */
}

/* A step of the search for the first entry above the key: advances by `count` entries or stays. */
static inline const int32_t *reached(const int32_t *entries, int32_t key, int32_t count)
{
    return entries + (key >= entries[count - 1] ? count : 0);
}

static void run_quantize(const tigris_kernel_call *call)
{
    const tigris_quantize_params *params = tigris_params(call);
    const uint32_t elements = tigris_band_elements(tigris_output_band(call));
    const float *input = tigris_float_row(tigris_input_band(call, 0), tigris_output_first(call));
    const int32_t *table = tigris_int32_data(call, params->table);
    int8_t *output = tigris_int8_output(call);
    for (uint32_t i = 0; i < elements; i++) {
        const int32_t key = ordered(&input[i]);
        const int32_t *least = reached(reached(reached(reached(table, key, 128), key, 64), key, 32), key, 16);
        least = reached(reached(reached(reached(least, key, 8), key, 4), key, 2), key, 1);
        output[i] = (int8_t)(least - table + INT8_MIN);
    }
}

static void run_dequantize(const tigris_kernel_call *call)
{
    const tigris_quantize_params *params = tigris_params(call);
    const uint32_t elements = tigris_band_elements(tigris_output_band(call));
    const int8_t *input = tigris_int8_row(tigris_input_band(call, 0), tigris_output_first(call));
    const float *table = tigris_float_data(call, params->table) - INT8_MIN;
    float *output = tigris_float_output(call);
    for (uint32_t i = 0; i < elements; i++) {
        output[i] = table[input[i]];
    }
}

#endif

static int is_quantization(const tigris_check_call *call, uint32_t entries)
{
    const tigris_quantize_params *params = call->params;
    return tigris_check_pointwise(call, 0U) && params->scale > 0.0F && tigris_check_int8(params->zero_point) &&
           params->rounding <= TIGRIS_ROUNDING_HALF_AWAY &&
           tigris_check_data(call, params->table, entries, sizeof(int32_t));
}

static tigris_status check_quantize(const tigris_check_call *call)
{
    return tigris_check_result(tigris_check_types(call, 1U, TIGRIS_DTYPE_FLOAT32, TIGRIS_DTYPE_INT8) &&
                               is_quantization(call, CODES - 1U));
}

static tigris_status check_dequantize(const tigris_check_call *call)
{
    return tigris_check_result(tigris_check_types(call, 1U, TIGRIS_DTYPE_INT8, TIGRIS_DTYPE_FLOAT32) &&
                               is_quantization(call, CODES));
}

TIGRIS_KERNEL_ENTRY(tigris_quantize_int8, QUANTIZE, INT8, tigris_quantize_params, run_quantize, check_quantize);
TIGRIS_KERNEL_ENTRY(tigris_dequantize_int8, DEQUANTIZE, INT8, tigris_quantize_params, run_dequantize, check_dequantize);
