/* Conditions that the `check` functions of kernels share. Each returns 1 if it holds, else 0. */
#ifndef TIGRIS_CHECK_H
#define TIGRIS_CHECK_H

#include "../extents.h"
#include "tigris_kernel.h"

/* Bytes of scratch that a call may use: half of the operator's if two cores may share it. */
static inline uint32_t tigris_scratch_of_a_core(const tigris_op_record *op)
{
    return (op->flags & TIGRIS_OP_FLAG_SPLIT) != 0U ? op->scratch_bytes / 2U : op->scratch_bytes;
}

/* There are `inputs` operands of type `input_dtype`, and the output has type `output_dtype`. */
int tigris_check_types(const tigris_check_call *call, uint32_t inputs, uint32_t input_dtype, uint32_t output_dtype);

/* The kernel is called once per image of the output, and each call is given one image of every input. */
int tigris_check_per_image(const tigris_check_call *call);

/* Input `index` has the output's shape and each output row reads the same input row (or all rows). */
int tigris_check_pointwise(const tigris_check_call *call, uint32_t index);

/* Each output row r reads input row r, or all input rows; shapes may differ in width and channels. */
int tigris_check_same_rows(const tigris_check_call *call, uint32_t index);

/* Each output row reads all rows of input `index`. */
int tigris_check_all_rows(const tigris_check_call *call, uint32_t index);

/* Input 0 is `rows` vectors of `in` elements and the output as many of `out`. Vectors do not span output rows. Each
 * output row reads its own vectors' input row, or all of the input. */
int tigris_check_vectors(const tigris_check_call *call, uint32_t rows, uint32_t in, uint32_t out);

/* For parameter records that start like tigris_conv_int8_params: kernel, strides and dilations are at least 1, the
 * row map of input 0 agrees with them, and no position overflows. */
int tigris_check_window(const tigris_check_call *call);

/* `count` elements of `element_bytes` at `offset` lie inside the weight block, on a 16-byte boundary, and are less than
 * 2 GB. The condition is false for a count of UINT32_MAX, which tigris_multiply returns on overflow. */
int tigris_check_data(const tigris_check_call *call, uint32_t offset, uint32_t count, uint32_t element_bytes);

/* Whether the limit of checked constants allows `count` more; counts them. */
int tigris_check_more(const tigris_check_call *call, uint32_t count);

/* `count` Q0.31 multipliers and shifts lie inside the weight block; multipliers are not negative, shifts -31 … 31. */
int tigris_check_requantise(const tigris_check_call *call, uint32_t multiplier, uint32_t shift, uint32_t count);
int tigris_check_multiplier(int32_t multiplier, int32_t shift);

/* tigris_conv_int8_params of a convolution: types, window, ranges, all arrays; with `count` weights of `bytes`, or with
 * a byte for each weight, if output channels read `inputs` input channels each. */
int tigris_check_convolution_int8(const tigris_check_call *call, uint32_t count, uint32_t bytes);
int tigris_check_conv_int8(const tigris_check_call *call, uint32_t inputs);

/* tigris_fully_connected_int8_params: types, vectors, ranges, all arrays; with `count` weights of `bytes`, or with a
 * byte for each weight. */
tigris_status tigris_check_layer_int8(const tigris_check_call *call, uint32_t count, uint32_t bytes);
tigris_status tigris_check_fully_connected_int8(const tigris_check_call *call);

/* An int8 value, and an int8 range. */
int tigris_check_int8(int32_t value);
int tigris_check_range(int32_t low, int32_t high);

/* Elements of one kernel call over a whole tensor: one image, or the batch when it is taken whole. */
uint32_t tigris_call_elements(const tigris_check_call *call, const tigris_tensor_record *tensor);

static inline tigris_status tigris_check_result(int holds)
{
    return holds ? TIGRIS_OK : TIGRIS_ERR_PARAMS;
}

#endif
