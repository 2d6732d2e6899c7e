/* CONV_2D, int8. */
#define TIGRIS_WEIGHT_ZEROS 0
#include "conv_2d_int8.h"

TIGRIS_SET_ENTRY(tigris_conv_2d_int8, CONV_2D, INT8, tigris_conv_int8_params, run, check);
