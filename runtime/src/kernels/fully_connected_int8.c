/* FULLY_CONNECTED, int8. */
#define TIGRIS_WEIGHT_ZEROS 0
#include "fully_connected_int8.h"

TIGRIS_SET_ENTRY(tigris_fully_connected_int8, FULLY_CONNECTED, INT8, tigris_fully_connected_int8_params, run,
                    tigris_check_fully_connected_int8);
