/* Addresses of rows, outputs and weights for kernels. Offsets and rows must have passed the checks of a bind. */
#ifndef TIGRIS_ACCESS_H
#define TIGRIS_ACCESS_H

#include "../extents.h"
#include "tigris_kernel.h"

/* Address of absolute row `row`, which the band must hold. */
static inline const uint8_t *tigris_band_row(const tigris_band *band, int32_t row)
{
    return band->data + (uint32_t)(row - band->first) * tigris_row_bytes(band->tensor);
}

/* Elements of the whole band. */
static inline uint32_t tigris_band_elements(const tigris_band *band)
{
    return (uint32_t)band->rows * tigris_row_elements(band->tensor);
}

static inline const int8_t *tigris_int8_data(const tigris_kernel_call *call, uint32_t offset)
{
    return (const int8_t *)(const void *)(call->weights + offset);
}

static inline const int32_t *tigris_int32_data(const tigris_kernel_call *call, uint32_t offset)
{
    return (const int32_t *)(const void *)(call->weights + offset);
}

static inline const float *tigris_float_data(const tigris_kernel_call *call, uint32_t offset)
{
    return (const float *)(const void *)(call->weights + offset);
}

static inline const int8_t *tigris_int8_row(const tigris_band *band, int32_t row)
{
    return (const int8_t *)(const void *)tigris_band_row(band, row);
}

static inline const float *tigris_float_row(const tigris_band *band, int32_t row)
{
    return (const float *)(const void *)tigris_band_row(band, row);
}

static inline int8_t *tigris_int8_output(const tigris_kernel_call *call)
{
    return (int8_t *)(void *)call->output_data;
}

static inline float *tigris_float_output(const tigris_kernel_call *call)
{
    return (float *)(void *)call->output_data;
}

static inline float tigris_clamp_float(float value, float low, float high)
{
    return value < low ? low : value > high ? high : value;
}

#endif
