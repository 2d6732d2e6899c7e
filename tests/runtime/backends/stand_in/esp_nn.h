/* See esp_nn_defs.h. */
#pragma once
#include "esp_nn_defs.h"

int esp_nn_get_conv_scratch_size(STAND_IN_SIZES(conv_params_t));
void esp_nn_set_conv_scratch_buf(const void *buffer);
void esp_nn_conv_s8(STAND_IN_LAYER(conv_params_t));

int esp_nn_get_depthwise_conv_scratch_size(STAND_IN_SIZES(dw_conv_params_t));
void esp_nn_set_depthwise_conv_scratch_buf(const void *buffer);
void esp_nn_depthwise_conv_s8(STAND_IN_LAYER(dw_conv_params_t));

void esp_nn_fully_connected_s8(const int8_t *input, int32_t input_offset, uint16_t row_len, const int8_t *filter,
                               int32_t filter_offset, const int32_t *bias, int8_t *output, uint16_t out_channels,
                               int32_t out_offset, int32_t out_shift, int32_t out_mult, int32_t low, int32_t high);
void esp_nn_fully_connected_per_ch_s8(const int8_t *input, int32_t input_offset, uint16_t row_len,
                                      const int8_t *filter, int32_t filter_offset, const int32_t *bias, int8_t *output,
                                      uint16_t out_channels, int32_t out_offset, const int32_t *out_shift,
                                      const int32_t *out_mult, int32_t low, int32_t high);
