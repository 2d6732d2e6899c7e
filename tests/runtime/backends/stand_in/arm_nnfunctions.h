/* The part of CMSIS-NN's interface that the adapter uses, for a library that stands in for it in tests. */
#pragma once
#include <stdint.h>

typedef enum { ARM_CMSIS_NN_SUCCESS = 0, ARM_CMSIS_NN_ARG_ERROR = -1 } arm_cmsis_nn_status;
typedef struct { int32_t w, h; } cmsis_nn_tile;
typedef struct { void *buf; int32_t size; } cmsis_nn_context;
typedef struct { int32_t n, h, w, c; } cmsis_nn_dims;
typedef struct { int32_t *multiplier, *shift; } cmsis_nn_per_channel_quant_params;
typedef struct { int32_t *multiplier, *shift, is_per_channel; } cmsis_nn_quant_params;
typedef struct { int32_t min, max; } cmsis_nn_activation;
typedef struct {
    int32_t input_offset, output_offset;
    cmsis_nn_tile stride, padding, dilation;
    cmsis_nn_activation activation;
} cmsis_nn_conv_params;
typedef struct {
    int32_t input_offset, output_offset, ch_mult;
    cmsis_nn_tile stride, padding, dilation;
    cmsis_nn_activation activation;
} cmsis_nn_dw_conv_params;
typedef struct {
    int32_t input_offset, filter_offset, output_offset;
    cmsis_nn_activation activation;
} cmsis_nn_fc_params;

/* What layers take: parameters and scales of different types. */
#define STAND_IN_LAYER(params_type, scales_type)                                                                       \
    const cmsis_nn_context *context, const params_type *params, const scales_type *scales,                             \
        const cmsis_nn_dims *input_dims, const int8_t *input, const cmsis_nn_dims *filter_dims, const int8_t *filter,  \
        const cmsis_nn_dims *bias_dims, const int32_t *bias, const cmsis_nn_dims *output_dims, int8_t *output
#define STAND_IN_CONV STAND_IN_LAYER(cmsis_nn_conv_params, cmsis_nn_per_channel_quant_params)
#define STAND_IN_DEPTHWISE STAND_IN_LAYER(cmsis_nn_dw_conv_params, cmsis_nn_per_channel_quant_params)
#define STAND_IN_FULL STAND_IN_LAYER(cmsis_nn_fc_params, cmsis_nn_quant_params)
#define STAND_IN_SIZES const cmsis_nn_dims *input, const cmsis_nn_dims *filter, const cmsis_nn_dims *output

int32_t arm_convolve_wrapper_s8_get_buffer_size(const cmsis_nn_conv_params *params, STAND_IN_SIZES);
arm_cmsis_nn_status arm_convolve_wrapper_s8(STAND_IN_CONV);
int32_t arm_depthwise_conv_wrapper_s8_get_buffer_size(const cmsis_nn_dw_conv_params *params, STAND_IN_SIZES);
arm_cmsis_nn_status arm_depthwise_conv_wrapper_s8(STAND_IN_DEPTHWISE);
int32_t arm_fully_connected_s8_get_buffer_size(const cmsis_nn_dims *filter);
arm_cmsis_nn_status arm_fully_connected_wrapper_s8(STAND_IN_FULL);
