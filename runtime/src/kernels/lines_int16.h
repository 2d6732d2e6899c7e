/* Functions of int16 by straight lines between 513 entries: TensorFlow Lite's LUTLookup (kernels/internal/common.h). */
#ifndef TIGRIS_LINES_INT16_H
#define TIGRIS_LINES_INT16_H

#include "int16.h"

#define TIGRIS_LINE_ENTRIES 513U

static inline int32_t tigris_line(const int16_t *table, int32_t value)
{
    const int16_t *entry = table + ((value >> 7) + 256);
    const int32_t slope = (int16_t)(uint16_t)(entry[1] - entry[0]);
    return (int16_t)(uint16_t)(entry[0] + ((slope * (value & 127) + 64) >> 7));
}

#endif
