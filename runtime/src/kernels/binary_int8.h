/* The loop and the conditions that ADD, SUB and MUL of int8 share. */
#ifndef TIGRIS_BINARY_INT8_H
#define TIGRIS_BINARY_INT8_H

#include "binary.h"
#include "requantise.h"

/* Operands with their zero points taken off, to an output value. */
typedef int8_t (*tigris_binary_int8_function)(const tigris_binary_int8_params *params, int32_t a, int32_t b);

static inline void tigris_binary_int8_run(const tigris_kernel_call *call, tigris_binary_int8_function function)
{
    const tigris_binary_int8_params *params = call->params;
    const tigris_band *in = call->inputs;
    const tigris_tensor_record *output = call->output->tensor;
    int8_t *to = tigris_int8_output(call);
    for (int32_t y = call->output->first; y < call->output->first + call->output->rows; y++) {
        const int8_t *a = (const int8_t *)(const void *)in[0].data + tigris_binary_row(&in[0], y, params->row_step[0]);
        const int8_t *b = (const int8_t *)(const void *)in[1].data + tigris_binary_row(&in[1], y, params->row_step[1]);
        for (uint32_t x = 0; x < output->width; x++) {
            const int8_t *a_at = a;
            const int8_t *b_at = b;
            for (uint32_t channel = 0; channel < output->channels; channel++) {
                *to++ = function(params, *a_at - params->zero_point[0], *b_at - params->zero_point[1]);
                a_at += params->channel_step[0];
                b_at += params->channel_step[1];
            }
            a += params->column_step[0];
            b += params->column_step[1];
        }
    }
}

static inline int tigris_check_binary_int8(const tigris_check_call *call)
{
    const tigris_binary_int8_params *params = call->params;
    if (!tigris_check_types(call, 2U, TIGRIS_DTYPE_INT8, TIGRIS_DTYPE_INT8) ||
        !tigris_check_int8(params->output_zero_point) ||
        !tigris_check_multiplier(params->output_multiplier, params->output_shift) ||
        !tigris_check_range(params->activation_min, params->activation_max)) {
        return 0;
    }
    for (uint32_t i = 0; i < 2U; i++) {
        if (!tigris_check_int8(params->zero_point[i]) ||
            !tigris_check_steps(call, i, params->row_step[i], params->column_step[i], params->channel_step[i])) {
            return 0;
        }
    }
    return 1;
}

#endif
