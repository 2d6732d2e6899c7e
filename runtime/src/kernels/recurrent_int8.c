/* LSTM, GRU and RNN with int8 weights: everything else is float32, so weights take a quarter of the flash. */
#define TIGRIS_INT8_WEIGHTS 1
#include "recurrent.h"
#include "tigris_kernels.h"

static tigris_status check(const tigris_check_call *call)
{
    const tigris_recurrent_params *params = call->params;
    return tigris_check_result(
        check_recurrent(call, 1U) &&
        tigris_check_data(call, params->input_scales, tigris_gates(params) * params->units, sizeof(float)) &&
        tigris_check_data(call, params->recurrent_scales, tigris_gates(params) * params->units, sizeof(float)));
}

TIGRIS_KERNEL_ENTRY(tigris_recurrent_int8, RECURRENT, INT8, tigris_recurrent_params, run, check);
