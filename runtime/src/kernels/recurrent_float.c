/* LSTM, GRU and RNN, float32. */
#define TIGRIS_INT8_WEIGHTS 0
#include "recurrent.h"
#include "tigris_kernels.h"

static tigris_status check(const tigris_check_call *call)
{
    return tigris_check_result(check_recurrent(call, sizeof(float)));
}

TIGRIS_KERNEL_ENTRY(tigris_recurrent_float, RECURRENT, FLOAT32, tigris_recurrent_params, run, check);
