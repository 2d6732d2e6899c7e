/* Any unary function of int8, by a table of 256 results. */
#include "access.h"
#include "check.h"
#include "tigris_kernels.h"

static void run(const tigris_kernel_call *call)
{
    const tigris_lookup_params *params = tigris_params(call);
    const int8_t *zero = tigris_int8_data(call, params->table) + 128;
    const uint32_t elements = tigris_band_elements(tigris_output_band(call));
    const int8_t *input = tigris_int8_row(tigris_input_band(call, 0), tigris_output_first(call));
    int8_t *output = tigris_int8_output(call);
    for (uint32_t i = 0; i < elements; i++) {
        output[i] = zero[input[i]];
    }
}

static tigris_status check(const tigris_check_call *call)
{
    const tigris_lookup_params *params = call->params;
    return tigris_check_result(tigris_check_types(call, 1U, TIGRIS_DTYPE_INT8, TIGRIS_DTYPE_INT8) &&
                               tigris_check_pointwise(call, 0U) && tigris_check_data(call, params->table, 256U, 1U));
}

TIGRIS_KERNEL_ENTRY(tigris_lookup_int8, LOOKUP, INT8, tigris_lookup_params, run, check);
