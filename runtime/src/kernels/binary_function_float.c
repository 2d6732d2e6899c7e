/* Functions of two float32 tensors, with broadcasting: arithmetic, comparison and logic. */
#include <math.h>

#include "binary.h"
#include "tigris_kernels.h"

static float floor_mod(float a, float b)
{
    const float rest = fmodf(a, b);
    return rest != 0.0F && (rest < 0.0F) != (b < 0.0F) ? rest + b : rest;
}

static int compare(uint32_t function, float a, float b)
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
    case TIGRIS_BINARY_FUNCTION_EQUAL:
        return a == b;
    case TIGRIS_BINARY_FUNCTION_AND:
        return a != 0.0F && b != 0.0F;
    case TIGRIS_BINARY_FUNCTION_OR:
        return a != 0.0F || b != 0.0F;
    default: /* TIGRIS_BINARY_FUNCTION_XOR: the checker admits no other */
        return (a != 0.0F) != (b != 0.0F);
    }
}

static float apply(uint32_t function, float a, float b)
{
    switch (function) {
    case TIGRIS_BINARY_FUNCTION_DIVIDE:
        return a / b;
    case TIGRIS_BINARY_FUNCTION_POWER:
        return powf(a, b);
    case TIGRIS_BINARY_FUNCTION_MAXIMUM:
        return a > b || a != a ? a : b;
    case TIGRIS_BINARY_FUNCTION_MINIMUM:
        return a < b || a != a ? a : b;
    case TIGRIS_BINARY_FUNCTION_FLOOR_MOD:
        return floor_mod(a, b);
    case TIGRIS_BINARY_FUNCTION_TRUNCATE_MOD:
        return fmodf(a, b);
    case TIGRIS_BINARY_FUNCTION_PRELU:
        return a < 0.0F ? a * b : a;
    default:
        return compare(function, a, b) ? 1.0F : 0.0F;
    }
}

static void run(const tigris_kernel_call *call)
{
    const tigris_binary_function_params *params = call->params;
    const tigris_band *in = call->inputs;
    const tigris_tensor_record *output = call->output->tensor;
    float *to = tigris_float_output(call);
    for (int32_t y = call->output->first; y < call->output->first + call->output->rows; y++) {
        const float *a = (const float *)(const void *)in[0].data + tigris_binary_row(&in[0], y, params->row_step[0]);
        const float *b = (const float *)(const void *)in[1].data + tigris_binary_row(&in[1], y, params->row_step[1]);
        for (uint32_t x = 0; x < output->width; x++) {
            const float *a_at = a;
            const float *b_at = b;
            for (uint32_t channel = 0; channel < output->channels; channel++) {
                *to++ = apply(params->function, *a_at, *b_at);
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
    const tigris_binary_function_params *params = call->params;
    int holds = tigris_check_types(call, 2U, TIGRIS_DTYPE_FLOAT32, TIGRIS_DTYPE_FLOAT32) &&
                params->function >= TIGRIS_BINARY_FUNCTION_DIVIDE && params->function <= TIGRIS_BINARY_FUNCTION_XOR;
    for (uint32_t i = 0; holds && i < 2U; i++) {
        holds = tigris_check_steps(call, i, params->row_step[i], params->column_step[i], params->channel_step[i]);
    }
    return tigris_check_result(holds);
}

const tigris_kernel_entry tigris_binary_float = {
    TIGRIS_OP_KIND_BINARY, TIGRIS_DTYPE_FLOAT32, TIGRIS_PACKING_PORTABLE, sizeof(tigris_binary_function_params),
    run, check};
