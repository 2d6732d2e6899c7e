/* ASYMMETRIC_FULLY_CONNECTED, int8: FULLY_CONNECTED with weights that have zero points. Each vector is summed once,
 * for all outputs. */
#define TIGRIS_WEIGHT_ZEROS 1
#include "fully_connected_int8.h"

static tigris_status check_asymmetric(const tigris_check_call *call)
{
    const tigris_asymmetric_fully_connected_int8_params *params = call->params;
    const tigris_status status = tigris_check_fully_connected_int8(call);
    if (status != TIGRIS_OK) {
        return status;
    }
    return tigris_check_result(tigris_check_data(call, params->weight_zero_points, params->out_features, 1U));
}

TIGRIS_KERNEL_ENTRY(tigris_asymmetric_fully_connected_int8, ASYMMETRIC_FULLY_CONNECTED, INT8,
                    tigris_asymmetric_fully_connected_int8_params, run, check_asymmetric);
