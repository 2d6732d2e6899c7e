/* Facts derived from a plan's records: sizes of tensors and rows, kinds of views. Loader, memory and executor share
 * them. */
#ifndef TIGRIS_EXTENTS_H
#define TIGRIS_EXTENTS_H

#include "tigris.h"

#define TIGRIS_VIEW_FLAGS                                                                                              \
    (TIGRIS_VIEW_FLAG_WINDOW | TIGRIS_VIEW_FLAG_LOAD | TIGRIS_VIEW_FLAG_STORE | TIGRIS_VIEW_FLAG_KEEP)

/* Bytes per element: hexadecimal digit i, counted from the lowest, is the size of tigris_dtype i. Smaller than a
 * table. */
#define TIGRIS_DTYPES_BYTES UINT32_C(0x14842110)

/* Bytes of one element; 0 for an unknown type. */
uint32_t tigris_dtype_bytes(uint32_t dtype);

/* a * b; UINT32_MAX if the product does not fit 32 bits. */
static inline uint32_t tigris_multiply(uint32_t a, uint32_t b)
{
    const uint64_t product = (uint64_t)a * b;
    return product > UINT32_MAX ? UINT32_MAX : (uint32_t)product;
}

/* Elements and bytes of one row of one image; no overflow check, so only for tensors whose size fits 32 bits.
 * Bytes are inlined except at -Os. */
static inline uint32_t tigris_row_elements(const tigris_tensor_record *tensor)
{
    return tensor->width * tensor->channels;
}

inline uint32_t tigris_row_bytes(const tigris_tensor_record *tensor)
{
    return tensor->width * tensor->channels * (TIGRIS_DTYPES_BYTES >> (tensor->dtype * 4U) & 15U);
}

static inline int tigris_is_folded(const tigris_tensor_record *tensor)
{
    return (tensor->flags & TIGRIS_TENSOR_FLAG_FOLDED) != 0;
}

/* Bytes from one row of an image to the next; 0 for a folded tensor, whose rows share one place. */
static inline uint32_t tigris_row_step(const tigris_tensor_record *tensor)
{
    return tigris_is_folded(tensor) ? 0U : tigris_row_bytes(tensor);
}

/* Bytes of `rows` rows of one image, at most the tensor's height. Only for tensors whose size fits 32 bits. */
inline uint32_t tigris_rows_bytes(const tigris_tensor_record *tensor, uint32_t rows)
{
    return tigris_row_bytes(tensor) * ((tensor->flags & TIGRIS_TENSOR_FLAG_FOLDED) != 0U && rows > 1U ? 1U : rows);
}

/* Images of `tensor` that a window of `stage` holds: 1 if the stage runs image by image, else the whole batch. */
static inline uint32_t tigris_window_images(const tigris_stage_record *stage, const tigris_tensor_record *tensor)
{
    return stage->images == 1U ? tensor->batch : 1U;
}

static inline const tigris_tensor_record *tigris_view_tensor(const tigris_plan *plan, const tigris_view_record *view)
{
    return &plan->tensors[view->tensor];
}

/* Whether the tensor's home is in an arena. */
static inline int tigris_is_writable(const tigris_tensor_record *tensor)
{
    return (uint32_t)tensor->home - TIGRIS_HOME_FAST <= TIGRIS_HOME_SLOW - TIGRIS_HOME_FAST;
}

static inline int tigris_is_window(const tigris_view_record *view)
{
    return (view->flags & TIGRIS_VIEW_FLAG_WINDOW) != 0;
}

/* Whether [offset, offset + bytes) lies inside [0, limit), for any values. */
static inline int tigris_fits(uint32_t offset, uint32_t bytes, uint32_t limit)
{
    return offset <= limit && bytes <= limit - offset;
}

/* Whether one kernel call takes the rows of all images of a batch; otherwise the stage runs once per image. */
static inline int tigris_is_whole_batch(const tigris_op_record *op, const tigris_tensor_record *tensor)
{
    return op->images == 1U && tensor->batch > 1U;
}

#endif
