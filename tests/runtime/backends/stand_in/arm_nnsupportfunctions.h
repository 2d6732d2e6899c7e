/* See arm_nnfunctions.h. */
#pragma once
#include "arm_nnfunctions.h"

arm_cmsis_nn_status arm_vector_sum_s8(int32_t *sums, const int32_t columns, const int32_t rows, const int8_t *data,
                                      const int32_t lhs_offset, const int32_t rhs_offset, const int32_t *bias);
