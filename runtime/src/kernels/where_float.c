/* WHERE: one of two float32 tensors by a third, with broadcasting. */
#include "binary.h"
#include "tigris_kernels.h"

static void run(const tigris_kernel_call *call)
{
    const tigris_where_params *params = tigris_params(call);
    const tigris_tensor_record *output = tigris_output_tensor(call);
    float *to = tigris_float_output(call);
    for (int32_t y = tigris_output_first(call); y < tigris_output_first(call) + tigris_output_rows(call); y++) {
        const float *row[3];
        for (uint32_t i = 0; i < 3U; i++) {
            const tigris_band *in = tigris_input_band(call, i);
            row[i] = (const float *)(const void *)in->data + tigris_binary_row(in, y, params->row_step[i]);
        }
        for (uint32_t x = 0; x < output->width; x++) {
            for (uint32_t channel = 0; channel < output->channels; channel++) {
                const int32_t at = (int32_t)channel;
                const uint32_t chosen = row[0][at * params->channel_step[0]] != 0.0F ? 1U : 2U;
                *to++ = row[chosen][at * params->channel_step[chosen]];
            }
            for (uint32_t i = 0; i < 3U; i++) {
                row[i] += params->column_step[i];
            }
        }
    }
}

static tigris_status check(const tigris_check_call *call)
{
    const tigris_where_params *params = call->params;
    int holds = tigris_check_types(call, 3U, TIGRIS_DTYPE_FLOAT32, TIGRIS_DTYPE_FLOAT32);
    for (uint32_t i = 0; holds && i < 3U; i++) {
        holds = tigris_check_steps(call, i, params->row_step[i], params->column_step[i], params->channel_step[i]);
    }
    return tigris_check_result(holds);
}

TIGRIS_KERNEL_ENTRY(tigris_where_float, WHERE, FLOAT32, tigris_where_params, run, check);
