/* Stored values of the 256 numbers that a component of a pixel has. */
#include <string.h>

#include "tigris_rows.h"
#include "kernels/rounding.h"

/* Larger scales and means lie far outside of what 8 bits are made of, and are no numbers that a model has. */
#define FINITE 1e30F

static int is_number(float x)
{
    return x > -FINITE && x < FINITE;
}

static int32_t bounded(int64_t value, int32_t least, int32_t most)
{
    return value < least ? least : value > most ? most : (int32_t)value;
}

/* Bounds of the type; 0 when it is none that a table may have. */
static int bounds_of(tigris_dtype dtype, int32_t *least, int32_t *most)
{
    *least = dtype == TIGRIS_DTYPE_UINT8 ? 0 : dtype == TIGRIS_DTYPE_INT8 ? INT8_MIN : INT16_MIN;
    *most = dtype == TIGRIS_DTYPE_UINT8 ? UINT8_MAX : dtype == TIGRIS_DTYPE_INT8 ? INT8_MAX : INT16_MAX;
    return dtype == TIGRIS_DTYPE_INT8 || dtype == TIGRIS_DTYPE_UINT8 || dtype == TIGRIS_DTYPE_INT16;
}

tigris_status tigris_rows_fill_table(void *table, size_t bytes, tigris_dtype dtype, float mean, float deviation,
                                     float scale, int32_t zero_point, tigris_rounding rounding)
{
    int32_t least, most;
    const int quantised = bounds_of(dtype, &least, &most);
    const size_t element = dtype == TIGRIS_DTYPE_FLOAT32 ? 4U : dtype == TIGRIS_DTYPE_INT16 ? 2U : 1U;
    if (table == NULL || bytes < 256U * element || !(quantised || dtype == TIGRIS_DTYPE_FLOAT32)) {
        return TIGRIS_ERR_ARGUMENT;
    }
    if (!is_number(mean) || !is_number(deviation) || !(deviation > 0.0F)) {
        return TIGRIS_ERR_ARGUMENT;
    }
    if (quantised && (!is_number(scale) || !(scale > 0.0F) || zero_point < least || zero_point > most)) {
        return TIGRIS_ERR_ARGUMENT;
    }
    for (size_t v = 0; v < 256U; v++) {
        uint8_t *to = (uint8_t *)table + v * element;
        const float value = ((float)v - mean) / deviation;
        if (!quantised) {
            memcpy(to, &value, sizeof value);
            continue;
        }
        const int32_t stored = bounded((int64_t)tigris_rounded(value / scale, (uint32_t)rounding) + zero_point, least, most);
        const int16_t wide = (int16_t)stored;
        if (element == 2U) {
            memcpy(to, &wide, sizeof wide);
        } else {
            *to = (uint8_t)(stored & 0xFF);
        }
    }
    return TIGRIS_OK;
}
