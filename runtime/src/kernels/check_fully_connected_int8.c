#include "check.h"
#include "tigris_kernel.h"

tigris_status tigris_check_layer_int8(const tigris_check_call *call, uint32_t count, uint32_t bytes)
{
    const tigris_fully_connected_int8_params *params = call->params;
    const uint32_t scales = params->requantise_step == 0U ? 1U : params->out_features;
    return tigris_check_result(
        tigris_check_types(call, 1U, TIGRIS_DTYPE_INT8, TIGRIS_DTYPE_INT8) &&
        tigris_check_vectors(call, params->rows, params->in_features, params->out_features) &&
        params->requantise_step <= 1U && tigris_check_int8(params->output_zero_point) &&
        tigris_check_range(params->activation_min, params->activation_max) &&
        tigris_check_data(call, params->weights, count, bytes) &&
        tigris_check_data(call, params->bias, params->out_features, sizeof(int32_t)) &&
        tigris_check_requantise(call, params->multiplier, params->shift, scales));
}

tigris_status tigris_check_fully_connected_int8(const tigris_check_call *call)
{
    const tigris_fully_connected_int8_params *params = call->params;
    return tigris_check_layer_int8(call, tigris_multiply(params->in_features, params->out_features), 1U);
}
