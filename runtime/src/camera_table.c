/* tigris_camera_fill_table: the stored value of each of a component's 256 numbers. */
#include <string.h>

#include "tigris_camera.h"
#include "kernels/rounding.h"

/* Larger numbers count as infinite; no model has such a scale or mean. */
#define LARGEST 1e30F

static int is_finite(float x)
{
    return x > -LARGEST && x < LARGEST;
}

static int32_t clamp(int64_t value, int32_t least, int32_t most)
{
    return value < least ? least : value > most ? most : (int32_t)value;
}

/* Sets the range of a quantised type; returns 0 for any other type. */
static int set_bounds(tigris_dtype dtype, int32_t *least, int32_t *most)
{
    *least = dtype == TIGRIS_DTYPE_UINT8 ? 0 : dtype == TIGRIS_DTYPE_INT8 ? INT8_MIN : INT16_MIN;
    *most = dtype == TIGRIS_DTYPE_UINT8 ? UINT8_MAX : dtype == TIGRIS_DTYPE_INT8 ? INT8_MAX : INT16_MAX;
    return dtype == TIGRIS_DTYPE_INT8 || dtype == TIGRIS_DTYPE_UINT8 || dtype == TIGRIS_DTYPE_INT16;
}

tigris_status tigris_camera_fill_table(void *table, size_t bytes, tigris_dtype dtype, float mean, float deviation,
                                       float scale, int32_t zero_point, tigris_rounding rounding)
{
    int32_t least, most;
    const int quantised = set_bounds(dtype, &least, &most);
    const size_t element = dtype == TIGRIS_DTYPE_FLOAT32 ? 4U : dtype == TIGRIS_DTYPE_INT16 ? 2U : 1U;
    if (table == NULL || bytes < 256U * element || !(quantised || dtype == TIGRIS_DTYPE_FLOAT32) ||
        !is_finite(mean) || !is_finite(deviation) || !(deviation > 0.0F) ||
        (quantised && (!is_finite(scale) || !(scale > 0.0F) || zero_point < least || zero_point > most))) {
        return TIGRIS_ERR_ARGUMENT;
    }
    for (size_t v = 0; v < 256U; v++) {
        uint8_t *to = (uint8_t *)table + v * element;
        const float value = ((float)v - mean) / deviation;
        if (!quantised) {
            memcpy(to, &value, sizeof value);
            continue;
        }
        const int32_t stored =
            clamp((int64_t)tigris_rounded(value / scale, (uint32_t)rounding) + zero_point, least, most);
        const int16_t wide = (int16_t)stored;
        if (element == 2U) {
            memcpy(to, &wide, sizeof wide);
        } else {
            *to = (uint8_t)(stored & 0xFF);
        }
    }
    return TIGRIS_OK;
}
