/* QUANTIZE float32 to int8 and int16, with halves rounded as the model says, and DEQUANTIZE back. Processors without
 * floating-point arithmetic look results of int8 up in the plan's tables, which hold the same numbers. */
#include <string.h>

#include "inlining.h"
#include "int16.h"
#include "rounding.h"
#include "tigris_kernels.h"

#define CODES 256U

/* `bytes`: of a quantised element, 1 or 2. */
TIGRIS_INLINE void quantize(const tigris_kernel_call *call, float scale, int32_t zero_point, uint32_t rounding,
                            int32_t bytes)
{
    const uint32_t elements = tigris_band_elements(tigris_output_band(call));
    const float *input = tigris_float_row(tigris_input_band(call, 0), tigris_output_first(call));
    for (uint32_t i = 0; i < elements; i++) {
        const int32_t value = tigris_rounded(input[i] / scale, rounding) + zero_point;
        if (bytes == 1) {
            tigris_int8_output(call)[i] = (int8_t)tigris_clamp(value, INT8_MIN, INT8_MAX);
        } else {
            tigris_int16_output(call)[i] = (int16_t)tigris_clamp(value, INT16_MIN, INT16_MAX);
        }
    }
}

TIGRIS_INLINE void dequantize(const tigris_kernel_call *call, float scale, int32_t zero_point, int32_t bytes)
{
    const uint32_t elements = tigris_band_elements(tigris_output_band(call));
    const uint8_t *input = tigris_band_row(tigris_input_band(call, 0), tigris_output_first(call));
    float *output = tigris_float_output(call);
    for (uint32_t i = 0; i < elements; i++) {
        const int32_t value =
            bytes == 1 ? ((const int8_t *)(const void *)input)[i] : ((const int16_t *)(const void *)input)[i];
        output[i] = (float)(value - zero_point) * scale;
    }
}

#if defined(__ARM_FP) || defined(__riscv_flen)

static void quantize_int8(const tigris_kernel_call *call)
{
    const tigris_quantize_params *params = tigris_params(call);
    quantize(call, params->scale, params->zero_point, params->rounding, 1);
}

static void dequantize_int8(const tigris_kernel_call *call)
{
    const tigris_quantize_params *params = tigris_params(call);
    dequantize(call, params->scale, params->zero_point, 1);
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

static void quantize_int8(const tigris_kernel_call *call)
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

static void dequantize_int8(const tigris_kernel_call *call)
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

static void quantize_int16(const tigris_kernel_call *call)
{
    const tigris_quantize_int16_params *params = tigris_params(call);
    quantize(call, params->scale, params->zero_point, params->rounding, 2);
}

static void dequantize_int16(const tigris_kernel_call *call)
{
    const tigris_quantize_int16_params *params = tigris_params(call);
    dequantize(call, params->scale, params->zero_point, 2);
}

/* The types of QUANTIZE, or the reverse ones of DEQUANTIZE, and the constants. */
static int is_quantization(const tigris_check_call *call, float scale, uint32_t rounding)
{
    const uint32_t dtype = call->op->dtype;
    const int types_fit = call->op->kind == TIGRIS_OP_KIND_QUANTIZE
                              ? tigris_check_types(call, 1U, TIGRIS_DTYPE_FLOAT32, dtype)
                              : tigris_check_types(call, 1U, dtype, TIGRIS_DTYPE_FLOAT32);
    return types_fit && tigris_check_pointwise(call, 0U) && scale > 0.0F && rounding <= TIGRIS_ROUNDING_HALF_AWAY;
}

static tigris_status check_int8(const tigris_check_call *call)
{
    const tigris_quantize_params *params = call->params;
    const uint32_t entries = call->op->kind == TIGRIS_OP_KIND_QUANTIZE ? CODES - 1U : CODES;
    return tigris_check_result(is_quantization(call, params->scale, params->rounding) &&
                               tigris_check_int8(params->zero_point) &&
                               tigris_check_data(call, params->table, entries, sizeof(int32_t)));
}

static tigris_status check_int16(const tigris_check_call *call)
{
    const tigris_quantize_int16_params *params = call->params;
    return tigris_check_result(is_quantization(call, params->scale, params->rounding) &&
                               tigris_is_int16(params->zero_point));
}

TIGRIS_KERNEL_ENTRY(tigris_quantize_int8, QUANTIZE, INT8, tigris_quantize_params, quantize_int8, check_int8);
TIGRIS_KERNEL_ENTRY(tigris_dequantize_int8, DEQUANTIZE, INT8, tigris_quantize_params, dequantize_int8, check_int8);
TIGRIS_KERNEL_ENTRY(tigris_quantize_int16, QUANTIZE, INT16, tigris_quantize_int16_params, quantize_int16, check_int16);
TIGRIS_KERNEL_ENTRY(tigris_dequantize_int16, DEQUANTIZE, INT16, tigris_quantize_int16_params, dequantize_int16,
                    check_int16);
