/* In place of runtime/src/kernels/portable.c: the int8 kernels that some processor has instructions for, and the few more
 * that a small network needs. Programs for emulated machines compile in a quarter of the time. */
#include "tigris_backends.h"

static const tigris_kernel_entry *const kernels[] = {
    &tigris_conv_2d_int8,      &tigris_depthwise_conv_2d_int8, &tigris_fully_connected_int8, &tigris_add_int8,
    &tigris_sub_int8,          &tigris_mul_int8,               &tigris_average_pool_int8,    &tigris_max_pool_int8,
    &tigris_sum_map_int8,      &tigris_mean_of_sums_int8,      &tigris_softmax_int8,
};
#if defined(__ARM_FEATURE_MVE)
#define OF_SET &tigris_mve_backend
#else
#define OF_SET NULL
#endif
const tigris_backend tigris_portable_backend = {"portable", kernels, sizeof kernels / sizeof kernels[0], NULL, OF_SET};
