/* CONV_2D, int8. */
#define TIGRIS_WEIGHT_ZEROS 0
#include "conv_2d_int8.h"

const tigris_kernel_entry tigris_conv_2d_int8 = {
    TIGRIS_OP_KIND_CONV_2D, TIGRIS_DTYPE_INT8, TIGRIS_PACKING_PORTABLE, sizeof(tigris_conv_int8_params), run,
    check};
