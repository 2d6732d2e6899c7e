/* The portable kernels, generated from tigris_pio/format by python -m tigris_pio.format.c_header. Do not edit.
 * One entry each, so that firmware links only those its models use:
 *
 *     static const tigris_kernel_entry *const kernels[] = {&tigris_conv_2d_int8, &tigris_softmax_int8};
 *     static const tigris_backend backend = {"model", kernels, 2U, NULL, NULL};
 *     tigris_session_init(&session, &plan, &arenas, &backend);
 *
 * An entry's name is tigris_<operator kind>_<int8, int16 or float> in lower case. With -ffunction-sections,
 * -fdata-sections and --gc-sections nothing else of the kernels is linked. */
#ifndef TIGRIS_KERNELS_H
#define TIGRIS_KERNELS_H

#include "tigris_kernel.h"

#ifdef __cplusplus
extern "C" {
#endif

extern const tigris_kernel_entry tigris_conv_2d_int8;
extern const tigris_kernel_entry tigris_conv_2d_float;
extern const tigris_kernel_entry tigris_depthwise_conv_2d_int8;
extern const tigris_kernel_entry tigris_depthwise_conv_2d_float;
extern const tigris_kernel_entry tigris_fully_connected_int8;
extern const tigris_kernel_entry tigris_fully_connected_float;
extern const tigris_kernel_entry tigris_average_pool_int8;
extern const tigris_kernel_entry tigris_average_pool_float;
extern const tigris_kernel_entry tigris_max_pool_int8;
extern const tigris_kernel_entry tigris_max_pool_float;
extern const tigris_kernel_entry tigris_add_int8;
extern const tigris_kernel_entry tigris_add_float;
extern const tigris_kernel_entry tigris_sub_int8;
extern const tigris_kernel_entry tigris_sub_float;
extern const tigris_kernel_entry tigris_mul_int8;
extern const tigris_kernel_entry tigris_mul_float;
extern const tigris_kernel_entry tigris_softmax_int8;
extern const tigris_kernel_entry tigris_softmax_float;
extern const tigris_kernel_entry tigris_log_softmax_int8;
extern const tigris_kernel_entry tigris_lookup_int8;
extern const tigris_kernel_entry tigris_unary_float;
extern const tigris_kernel_entry tigris_copy_int8;
extern const tigris_kernel_entry tigris_copy_float;
extern const tigris_kernel_entry tigris_transpose_int8;
extern const tigris_kernel_entry tigris_transpose_float;
extern const tigris_kernel_entry tigris_concat_int8;
extern const tigris_kernel_entry tigris_concat_float;
extern const tigris_kernel_entry tigris_quantize_int8;
extern const tigris_kernel_entry tigris_dequantize_int8;
extern const tigris_kernel_entry tigris_select_int8;
extern const tigris_kernel_entry tigris_select_float;
extern const tigris_kernel_entry tigris_resample_int8;
extern const tigris_kernel_entry tigris_resample_float;
extern const tigris_kernel_entry tigris_transpose_conv_int8;
extern const tigris_kernel_entry tigris_transpose_conv_float;
extern const tigris_kernel_entry tigris_trigonometric_float;
extern const tigris_kernel_entry tigris_binary_int8;
extern const tigris_kernel_entry tigris_binary_float;
extern const tigris_kernel_entry tigris_where_float;
extern const tigris_kernel_entry tigris_reduce_int8;
extern const tigris_kernel_entry tigris_reduce_float;
extern const tigris_kernel_entry tigris_arg_reduce_int8;
extern const tigris_kernel_entry tigris_arg_reduce_float;
extern const tigris_kernel_entry tigris_vector_int8;
extern const tigris_kernel_entry tigris_vector_float;
extern const tigris_kernel_entry tigris_lrn_float;
extern const tigris_kernel_entry tigris_normalise_int8;
extern const tigris_kernel_entry tigris_mat_mul_int8;
extern const tigris_kernel_entry tigris_mat_mul_float;
extern const tigris_kernel_entry tigris_cast_float;
extern const tigris_kernel_entry tigris_sum_map_int8;
extern const tigris_kernel_entry tigris_sum_map_float;
extern const tigris_kernel_entry tigris_sum_products_int8;
extern const tigris_kernel_entry tigris_sum_products_float;
extern const tigris_kernel_entry tigris_scale_sums_int8;
extern const tigris_kernel_entry tigris_scale_sums_float;
extern const tigris_kernel_entry tigris_mean_of_sums_int8;
extern const tigris_kernel_entry tigris_mean_of_sums_float;
extern const tigris_kernel_entry tigris_plain_conv_2d_int8;
extern const tigris_kernel_entry tigris_plain_depthwise_conv_2d_int8;
extern const tigris_kernel_entry tigris_plain_fully_connected_int8;
extern const tigris_kernel_entry tigris_int4_conv_2d_int8;
extern const tigris_kernel_entry tigris_int4_fully_connected_int8;
extern const tigris_kernel_entry tigris_table_conv_2d_int8;
extern const tigris_kernel_entry tigris_table_fully_connected_int8;
extern const tigris_kernel_entry tigris_extreme_int8;
extern const tigris_kernel_entry tigris_prelu_int8;
extern const tigris_kernel_entry tigris_divide_int8;
extern const tigris_kernel_entry tigris_squared_difference_int8;
extern const tigris_kernel_entry tigris_asymmetric_conv_2d_int8;
extern const tigris_kernel_entry tigris_asymmetric_depthwise_conv_2d_int8;
extern const tigris_kernel_entry tigris_asymmetric_fully_connected_int8;
extern const tigris_kernel_entry tigris_fetch_int8;
extern const tigris_kernel_entry tigris_take_int8;
extern const tigris_kernel_entry tigris_commit_int8;
extern const tigris_kernel_entry tigris_recurrent_int8;
extern const tigris_kernel_entry tigris_recurrent_float;
extern const tigris_kernel_entry tigris_gather_int8;
extern const tigris_kernel_entry tigris_gather_float;
extern const tigris_kernel_entry tigris_top_k_float;
extern const tigris_kernel_entry tigris_suppress_float;
extern const tigris_kernel_entry tigris_scatter_int8;
extern const tigris_kernel_entry tigris_scatter_float;
extern const tigris_kernel_entry tigris_conv_2d_int16;
extern const tigris_kernel_entry tigris_depthwise_conv_2d_int16;
extern const tigris_kernel_entry tigris_fully_connected_int16;
extern const tigris_kernel_entry tigris_fully_connected_int32;
extern const tigris_kernel_entry tigris_average_pool_int16;
extern const tigris_kernel_entry tigris_max_pool_int16;
extern const tigris_kernel_entry tigris_add_int16;
extern const tigris_kernel_entry tigris_sub_int16;
extern const tigris_kernel_entry tigris_mul_int16;
extern const tigris_kernel_entry tigris_softmax_int16;
extern const tigris_kernel_entry tigris_lookup_int16;
extern const tigris_kernel_entry tigris_copy_int16;
extern const tigris_kernel_entry tigris_transpose_int16;
extern const tigris_kernel_entry tigris_concat_int16;
extern const tigris_kernel_entry tigris_quantize_int16;
extern const tigris_kernel_entry tigris_dequantize_int16;
extern const tigris_kernel_entry tigris_select_int16;
extern const tigris_kernel_entry tigris_transpose_conv_int16;
extern const tigris_kernel_entry tigris_reduce_int16;
extern const tigris_kernel_entry tigris_mat_mul_int16;
extern const tigris_kernel_entry tigris_extreme_int16;
extern const tigris_kernel_entry tigris_recurrent_int16;
extern const tigris_kernel_entry tigris_gather_int16;
extern const tigris_kernel_entry tigris_scatter_int16;
extern const tigris_kernel_entry tigris_logistic_int16;
extern const tigris_kernel_entry tigris_rescale_int16;
extern const tigris_kernel_entry tigris_spectrum_int16;
extern const tigris_kernel_entry tigris_level_int32;

#ifdef __cplusplus
}
#endif

#endif
