/* CAST between float32 and the other element types. */
#include <string.h>

#include "access.h"
#include "check.h"
#include "tigris_kernels.h"

/* The nearest float32 of the element at `from`. */
static float load(const uint8_t *from, uint32_t dtype)
{
    union {
        int16_t i16;
        int32_t i32;
        int64_t i64;
        float f32;
    } value;
    switch (dtype) {
    case TIGRIS_DTYPE_INT8:
        return (float)(int8_t)*from;
    case TIGRIS_DTYPE_UINT8:
        return (float)*from;
    case TIGRIS_DTYPE_BOOL:
        return *from != 0U ? 1.0F : 0.0F;
    case TIGRIS_DTYPE_INT16:
        memcpy(&value.i16, from, sizeof value.i16);
        return (float)value.i16;
    case TIGRIS_DTYPE_INT32:
        memcpy(&value.i32, from, sizeof value.i32);
        return (float)value.i32;
    case TIGRIS_DTYPE_INT64:
        memcpy(&value.i64, from, sizeof value.i64);
        return (float)value.i64;
    default: /* TIGRIS_DTYPE_FLOAT32: the checker admits no other */
        memcpy(&value.f32, from, sizeof value.f32);
        return value.f32;
    }
}

/* x truncated into [low, high]; `beyond` is the first float above `high`. NaN becomes 0. */
static int64_t integer(float x, int64_t low, int64_t high, float beyond)
{
    if (x != x) {
        return 0;
    }
    if (x >= beyond) {
        return high;
    }
    return x <= (float)low ? low : (int64_t)x;
}

static void store(uint8_t *to, uint32_t dtype, float x)
{
    union {
        int16_t i16;
        int32_t i32;
        int64_t i64;
    } value;
    switch (dtype) {
    case TIGRIS_DTYPE_INT8:
        *to = (uint8_t)integer(x, INT8_MIN, INT8_MAX, 128.0F);
        break;
    case TIGRIS_DTYPE_UINT8:
        *to = (uint8_t)integer(x, 0, UINT8_MAX, 256.0F);
        break;
    case TIGRIS_DTYPE_BOOL:
        *to = x != 0.0F;
        break;
    case TIGRIS_DTYPE_INT16:
        value.i16 = (int16_t)integer(x, INT16_MIN, INT16_MAX, 32768.0F);
        memcpy(to, &value.i16, sizeof value.i16);
        break;
    case TIGRIS_DTYPE_INT32:
        value.i32 = (int32_t)integer(x, INT32_MIN, INT32_MAX, 2147483648.0F);
        memcpy(to, &value.i32, sizeof value.i32);
        break;
    case TIGRIS_DTYPE_INT64:
        value.i64 = integer(x, INT64_MIN, INT64_MAX, 9223372036854775808.0F);
        memcpy(to, &value.i64, sizeof value.i64);
        break;
    default: /* TIGRIS_DTYPE_FLOAT32: the checker admits no other */
        memcpy(to, &x, sizeof x);
        break;
    }
}

static void run(const tigris_kernel_call *call)
{
    const tigris_cast_params *params = tigris_params(call);
    const uint32_t elements = tigris_band_elements(tigris_output_band(call));
    const uint8_t *input = tigris_band_row(tigris_input_band(call, 0), tigris_output_first(call));
    uint8_t *output = tigris_output_data(call);
    for (uint32_t i = 0; i < elements; i++) {
        store(output, params->target, load(input, params->source));
        input += tigris_dtype_bytes(params->source);
        output += tigris_dtype_bytes(params->target);
    }
}

static tigris_status check(const tigris_check_call *call)
{
    const tigris_cast_params *params = call->params;
    return tigris_check_result(params->source >= TIGRIS_DTYPE_INT8 && params->source <= TIGRIS_DTYPE_BOOL &&
                               params->target >= TIGRIS_DTYPE_INT8 && params->target <= TIGRIS_DTYPE_BOOL &&
                               tigris_check_types(call, 1U, params->source, params->target) &&
                               tigris_check_pointwise(call, 0U));
}

TIGRIS_KERNEL_ENTRY(tigris_cast_float, CAST, FLOAT32, tigris_cast_params, run, check);
