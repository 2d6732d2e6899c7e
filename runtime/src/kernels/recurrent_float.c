/* LSTM, GRU and RNN, float32. */
#include "recurrent.h"
#include "tigris_kernels.h"

static tigris_status check(const tigris_check_call *call)
{
    return tigris_check_result(check_recurrent(call, sizeof(float)));
}

const tigris_kernel_entry tigris_recurrent_float = {
    TIGRIS_OP_KIND_RECURRENT, TIGRIS_DTYPE_FLOAT32, TIGRIS_PACKING_PORTABLE, sizeof(tigris_recurrent_params), run,
    check};
