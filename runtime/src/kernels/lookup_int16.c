/* Functions of one int16, by straight lines. */
#include "lines_int16.h"
#include "tigris_kernels.h"

static void run(const tigris_kernel_call *call)
{
    const tigris_lookup_int16_params *params = call->params;
    const int16_t *table = tigris_int16_data(call, params->table);
    const uint32_t elements = tigris_band_elements(call->output);
    const int16_t *input = tigris_int16_row(&call->inputs[0], call->output->first);
    int16_t *output = tigris_int16_output(call);
    for (uint32_t i = 0; i < elements; i++) {
        output[i] = (int16_t)tigris_line(table, input[i]);
    }
}

static tigris_status check(const tigris_check_call *call)
{
    const tigris_lookup_int16_params *params = call->params;
    return tigris_check_result(tigris_check_types(call, 1U, TIGRIS_DTYPE_INT16, TIGRIS_DTYPE_INT16) &&
                               tigris_check_pointwise(call, 0U) &&
                               tigris_check_data(call, params->table, TIGRIS_LINE_ENTRIES, sizeof(int16_t)));
}

const tigris_kernel_entry tigris_lookup_int16 = {TIGRIS_OP_KIND_LOOKUP, TIGRIS_DTYPE_INT16,
                                                 sizeof(tigris_lookup_int16_params), run, check};
