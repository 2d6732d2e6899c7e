/* SQUARED_DIFFERENCE, int8: both inputs are scaled to a common scale, the square of their difference to the output's. */
#include "binary_int8.h"
#include "tigris_kernels.h"

/* Most left shift, so that the square of a shifted difference of two values of 9 bits fits 32 bits. */
#define LARGEST_LEFT_SHIFT 7

static inline int32_t square(const void *constants, int32_t a, int32_t b)
{
    const uint32_t difference = tigris_binary_int8_difference(constants, a, b);
    return tigris_binary_int8_finish(constants, (int32_t)(difference * difference));
}

static void run(const tigris_kernel_call *call)
{
    tigris_run_binary(call, tigris_binary_int8_steps(tigris_params(call)), square, tigris_params(call));
}

static tigris_status check(const tigris_check_call *call)
{
    return tigris_check_result(tigris_check_common_scale(call, LARGEST_LEFT_SHIFT));
}

TIGRIS_KERNEL_ENTRY(tigris_squared_difference_int8, SQUARED_DIFFERENCE, INT8, tigris_binary_int8_params, run, check);
