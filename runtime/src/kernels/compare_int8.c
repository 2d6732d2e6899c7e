/* BINARY, int8: comparisons as TensorFlow Lite Micro's (kernels/comparisons.cc). Results are float32, 1 or 0. */
#include "binary.h"
#include "requantise.h"
#include "tigris_kernels.h"

/* Bits of a scaled input behind the point. */
#define LEFT_SHIFT 8

static int32_t scaled(const tigris_compare_int8_params *params, int which, int8_t value)
{
    const int32_t difference = tigris_wrapping_add(value, -params->zero_point[which]);
    return tigris_requantise((int32_t)((uint32_t)difference << LEFT_SHIFT), params->multiplier[which],
                             params->shift[which]);
}

static int compare(uint32_t function, int32_t a, int32_t b)
{
    switch (function) {
    case TIGRIS_BINARY_FUNCTION_LESS:
        return a < b;
    case TIGRIS_BINARY_FUNCTION_LESS_OR_EQUAL:
        return a <= b;
    case TIGRIS_BINARY_FUNCTION_GREATER:
        return a > b;
    case TIGRIS_BINARY_FUNCTION_GREATER_OR_EQUAL:
        return a >= b;
    default: /* TIGRIS_BINARY_FUNCTION_EQUAL: the checker admits no other */
        return a == b;
    }
}

static void run(const tigris_kernel_call *call)
{
    const tigris_compare_int8_params *params = call->params;
    const tigris_band *in = call->inputs;
    const tigris_tensor_record *output = call->output->tensor;
    float *to = tigris_float_output(call);
    for (int32_t y = call->output->first; y < call->output->first + call->output->rows; y++) {
        const int8_t *a = (const int8_t *)(const void *)in[0].data + tigris_binary_row(&in[0], y, params->row_step[0]);
        const int8_t *b = (const int8_t *)(const void *)in[1].data + tigris_binary_row(&in[1], y, params->row_step[1]);
        for (uint32_t x = 0; x < output->width; x++) {
            const int8_t *a_at = a;
            const int8_t *b_at = b;
            for (uint32_t channel = 0; channel < output->channels; channel++) {
                *to++ = compare(params->function, scaled(params, 0, *a_at), scaled(params, 1, *b_at)) ? 1.0F : 0.0F;
                a_at += params->channel_step[0];
                b_at += params->channel_step[1];
            }
            a += params->column_step[0];
            b += params->column_step[1];
        }
    }
}

static tigris_status check(const tigris_check_call *call)
{
    const tigris_compare_int8_params *params = call->params;
    int holds = tigris_check_types(call, 2U, TIGRIS_DTYPE_INT8, TIGRIS_DTYPE_FLOAT32) &&
                params->function >= TIGRIS_BINARY_FUNCTION_LESS && params->function <= TIGRIS_BINARY_FUNCTION_EQUAL;
    for (uint32_t i = 0; holds && i < 2U; i++) {
        holds = tigris_check_int8(params->zero_point[i]) &&
                tigris_check_multiplier(params->multiplier[i], params->shift[i]) &&
                tigris_check_steps(call, i, params->row_step[i], params->column_step[i], params->channel_step[i]);
    }
    return tigris_check_result(holds);
}

const tigris_kernel_entry tigris_binary_int8 = {
    TIGRIS_OP_KIND_BINARY, TIGRIS_DTYPE_INT8, TIGRIS_PACKING_PORTABLE, sizeof(tigris_compare_int8_params), run,
    check};
