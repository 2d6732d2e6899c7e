/* Checks that the plain kernels and the adapters of kernel libraries share.
 *
 * Plain operators store constants as TensorFlow Lite does and as kernel libraries expect: weights unpacked, biases
 * without the input's zero point, shifts as int32. */
#ifndef TIGRIS_PLAIN_INT8_H
#define TIGRIS_PLAIN_INT8_H

#include "tigris_kernel.h"

/* Checks of the three kinds. Any kernel of a kind can run an operator that passes. */
tigris_status tigris_check_plain_conv(const tigris_check_call *call);
tigris_status tigris_check_plain_depthwise_conv(const tigris_check_call *call);
tigris_status tigris_check_plain_fully_connected(const tigris_check_call *call);

/* Whether `count` multipliers and shifts are in the ranges of requantise.h. */
int tigris_plain_scales_hold(const int32_t *multipliers, const int32_t *shifts, uint32_t count);

#endif
