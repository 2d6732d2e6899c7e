/* Sizes of tensors. */
#include "extents.h"

uint32_t tigris_dtype_bytes(uint32_t dtype)
{
    return dtype < 8U ? TIGRIS_DTYPES_BYTES >> (dtype * 4U) & 15U : 0U;
}

extern inline uint32_t tigris_row_bytes(const tigris_tensor_record *tensor);
extern inline uint32_t tigris_rows_bytes(const tigris_tensor_record *tensor, uint32_t rows);

uint32_t tigris_tensor_bytes(const tigris_tensor_record *tensor)
{
    const uint32_t elements = tigris_multiply(tensor->width, tensor->channels);
    const uint32_t row = tigris_multiply(elements, tigris_dtype_bytes(tensor->dtype));
    const uint32_t bytes = tigris_multiply(row, tensor->batch);
    return tigris_is_folded(tensor) ? bytes : tigris_multiply(bytes, tensor->height);
}
