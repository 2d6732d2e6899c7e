/* FULLY_CONNECTED, int8. */
#define TIGRIS_WEIGHT_ZEROS 0
#include "fully_connected_int8.h"

const tigris_kernel_entry tigris_fully_connected_int8 = {
    TIGRIS_OP_KIND_FULLY_CONNECTED, TIGRIS_DTYPE_INT8, TIGRIS_PACKING_PORTABLE,
    sizeof(tigris_fully_connected_int8_params), run, tigris_check_fully_connected_int8};
