/* ASYMMETRIC_CONV_2D, int8: CONV_2D with weights that have zero points. The taps of each pixel are summed once, for all
 * channels. */
#define TIGRIS_WEIGHT_ZEROS 1
#include "conv_2d_int8.h"

static tigris_status check_asymmetric(const tigris_check_call *call)
{
    const tigris_asymmetric_conv_int8_params *params = call->params;
    const tigris_status status = check(call);
    if (status != TIGRIS_OK) {
        return status;
    }
    return tigris_check_result(tigris_check_data(call, params->weight_zero_points, call->output->channels, 1U));
}

TIGRIS_KERNEL_ENTRY(tigris_asymmetric_conv_2d_int8, ASYMMETRIC_CONV_2D, INT8, tigris_asymmetric_conv_int8_params, run,
                    check_asymmetric);
