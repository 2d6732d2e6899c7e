/* Bytes of tensors and of their rows, without any sum that could overflow. */
#include "extents.h"

uint32_t tigris_dtype_bytes(uint32_t dtype)
{
    /* One hexadecimal digit a type, type 0 the lowest: smaller than a table. */
    return dtype < 8U ? UINT32_C(0x14842110) >> (dtype * 4U) & 15U : 0U;
}

uint32_t tigris_rows_bytes(const tigris_tensor_record *tensor, uint32_t rows)
{
    const uint32_t row_elements = tigris_multiply(tensor->width, tensor->channels);
    const uint32_t row = tigris_multiply(row_elements, tigris_dtype_bytes(tensor->dtype));
    return tigris_multiply(row, tigris_is_folded(tensor) && rows > 1U ? 1U : rows);
}

uint32_t tigris_row_bytes(const tigris_tensor_record *tensor)
{
    return tigris_rows_bytes(tensor, 1U);
}

uint32_t tigris_tensor_bytes(const tigris_tensor_record *tensor)
{
    const uint32_t row = tigris_row_bytes(tensor);
    /* A folded tensor's rows are counted too: no row number may overflow. */
    const uint32_t all_rows = tigris_multiply(tigris_multiply(row, tensor->height), tensor->batch);
    return tigris_is_folded(tensor) && all_rows - 1U < UINT32_MAX - 1U ? row : all_rows;
}
