/* Access of kernels to their call. Offsets and rows must have passed the checks of a bind.
 *
 * Portable kernels read a call only by these names: generated C (tigris codegen) has other records of a call, and the
 * same names. */
#ifndef TIGRIS_ACCESS_H
#define TIGRIS_ACCESS_H

#include "../extents.h"
#include "tigris_kernel.h"

/* Macros, because with inline functions gcc schedules the loops of most kernels in another order. */
#define tigris_params(call) ((call)->params)
#define tigris_weights(call) ((call)->weights)
#define tigris_scratch(call) ((call)->scratch)
#define tigris_input_count(call) ((call)->input_count)
#define tigris_input_band(call, index) (&(call)->inputs[index]) /* the next inputs follow */
#define tigris_output_band(call) ((call)->output)
#define tigris_output_data(call) ((call)->output_data)

#define tigris_first_row(band) ((band)->first) /* its number in the tensor */
#define tigris_row_count(band) ((band)->rows)
#define tigris_pad_top(band) ((band)->pad_top)
#define tigris_tensor_of(band) ((band)->tensor)

#define tigris_input_data(call, index) (tigris_input_band(call, index)->data)
#define tigris_input_rows(call, index) tigris_row_count(tigris_input_band(call, index))
#define tigris_input_tensor(call, index) tigris_tensor_of(tigris_input_band(call, index))
#define tigris_output_first(call) tigris_first_row(tigris_output_band(call))
#define tigris_output_rows(call) tigris_row_count(tigris_output_band(call))
#define tigris_output_tensor(call) tigris_tensor_of(tigris_output_band(call))

/* Address of absolute row `row`, which the band must hold. */
static inline const uint8_t *tigris_band_row(const tigris_band *band, int32_t row)
{
    return band->data + (uint32_t)(row - tigris_first_row(band)) * tigris_row_bytes(tigris_tensor_of(band));
}

/* Elements of the whole band. */
static inline uint32_t tigris_band_elements(const tigris_band *band)
{
    return (uint32_t)tigris_row_count(band) * tigris_row_elements(tigris_tensor_of(band));
}

static inline const int8_t *tigris_int8_data(const tigris_kernel_call *call, uint32_t offset)
{
    return (const int8_t *)(const void *)(tigris_weights(call) + offset);
}

static inline const int32_t *tigris_int32_data(const tigris_kernel_call *call, uint32_t offset)
{
    return (const int32_t *)(const void *)(tigris_weights(call) + offset);
}

static inline const float *tigris_float_data(const tigris_kernel_call *call, uint32_t offset)
{
    return (const float *)(const void *)(tigris_weights(call) + offset);
}

static inline const int8_t *tigris_int8_row(const tigris_band *band, int32_t row)
{
    return (const int8_t *)(const void *)tigris_band_row(band, row);
}

static inline const float *tigris_float_row(const tigris_band *band, int32_t row)
{
    return (const float *)(const void *)tigris_band_row(band, row);
}

static inline const int8_t *tigris_int8_input(const tigris_kernel_call *call)
{
    return (const int8_t *)(const void *)tigris_input_data(call, 0);
}

static inline const float *tigris_float_input(const tigris_kernel_call *call)
{
    return (const float *)(const void *)tigris_input_data(call, 0);
}

static inline int8_t *tigris_int8_output(const tigris_kernel_call *call)
{
    return (int8_t *)(void *)tigris_output_data(call);
}

static inline float *tigris_float_output(const tigris_kernel_call *call)
{
    return (float *)(void *)tigris_output_data(call);
}

static inline float tigris_clamp_float(float value, float low, float high)
{
    return value < low ? low : value > high ? high : value;
}

#endif
