/* What a plan's records say: bytes of tensors and rows, kinds of views. Loader, memory and executor share it. */
#ifndef TIGRIS_EXTENTS_H
#define TIGRIS_EXTENTS_H

#include "tigris.h"

#define TIGRIS_VIEW_FLAGS                                                                                              \
    (TIGRIS_VIEW_FLAG_WINDOW | TIGRIS_VIEW_FLAG_LOAD | TIGRIS_VIEW_FLAG_STORE | TIGRIS_VIEW_FLAG_KEEP)

/* Bytes of an element of each type: one hexadecimal digit a type, type 0 the lowest. Smaller than a table. */
#define TIGRIS_DTYPES_BYTES UINT32_C(0x14842110)

/* Bytes of one element; 0 for a type that does not exist. */
uint32_t tigris_dtype_bytes(uint32_t dtype);

/* a * b; UINT32_MAX when that does not fit 32 bits. */
static inline uint32_t tigris_multiply(uint32_t a, uint32_t b)
{
    const uint64_t product = (uint64_t)a * b;
    return product > UINT32_MAX ? UINT32_MAX : (uint32_t)product;
}

/* Elements and bytes of one row of one image. Only for tensors that passed tigris_plan_open. Bytes are in line where size
 * does not count. */
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

/* Bytes from one row of an image to the next. */
static inline uint32_t tigris_row_step(const tigris_tensor_record *tensor)
{
    return tigris_is_folded(tensor) ? 0U : tigris_row_bytes(tensor);
}

/* Bytes that `rows` rows of one image take, no more than the tensor has. Only for tensors that passed tigris_plan_open. */
inline uint32_t tigris_rows_bytes(const tigris_tensor_record *tensor, uint32_t rows)
{
    return tigris_row_bytes(tensor) * ((tensor->flags & TIGRIS_TENSOR_FLAG_FOLDED) != 0U && rows > 1U ? 1U : rows);
}

/* How many images of `tensor` a window of `stage` holds: the one that runs, or the whole batch. */
static inline uint32_t tigris_window_images(const tigris_stage_record *stage, const tigris_tensor_record *tensor)
{
    return stage->images == 1U ? tensor->batch : 1U;
}

static inline const tigris_tensor_record *tigris_view_tensor(const tigris_plan *plan, const tigris_view_record *view)
{
    return &plan->tensors[view->tensor];
}

/* The tensor lives in an arena, so its home can be written. */
static inline int tigris_is_writable(const tigris_tensor_record *tensor)
{
    return (uint32_t)tensor->home - TIGRIS_HOME_FAST <= TIGRIS_HOME_SLOW - TIGRIS_HOME_FAST;
}

static inline int tigris_is_window(const tigris_view_record *view)
{
    return (view->flags & TIGRIS_VIEW_FLAG_WINDOW) != 0;
}

/* [offset, offset + bytes) lies inside [0, limit); no sum that could overflow. */
static inline int tigris_fits(uint32_t offset, uint32_t bytes, uint32_t limit)
{
    return offset <= limit && bytes <= limit - offset;
}

/* An operator of one image at a time is called once per image, else once with all images' rows. */
static inline int tigris_takes_batch_whole(const tigris_op_record *op, const tigris_tensor_record *tensor)
{
    return op->images == 1U && tensor->batch > 1U;
}

#endif
