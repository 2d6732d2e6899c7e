/* The part of ESP-NN's interface that the adapter uses, for a library that stands in for it in tests. */
#pragma once
#include <stdint.h>

typedef struct data_dims { int32_t width, height, channels, extra; } data_dims_t;
typedef struct data_2d { int32_t width, height; } data_2d_t;
typedef struct act_params { int32_t min, max; } act_params_t;
typedef struct quant_data { int32_t *shift, *mult; } quant_data_t;
typedef struct conv_params {
    int32_t in_offset, out_offset;
    data_2d_t stride, padding, dilation;
    act_params_t activation;
} conv_params_t;
typedef struct dw_conv_params {
    int32_t in_offset, out_offset, ch_mult;
    data_2d_t stride, padding, dilation;
    act_params_t activation;
} dw_conv_params_t;
/* What layers take, with parameters of different types. */
#define STAND_IN_SIZES(params_type)                                                                                    \
    const data_dims_t *input, const data_dims_t *filter, const data_dims_t *output, const params_type *params
#define STAND_IN_LAYER(params_type)                                                                                    \
    const data_dims_t *input_dims, const int8_t *input, const data_dims_t *filter_dims, const int8_t *filter,          \
        const int32_t *bias, const data_dims_t *output_dims, int8_t *output, const params_type *params,                \
        const quant_data_t *scales
