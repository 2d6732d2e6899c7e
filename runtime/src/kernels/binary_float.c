/* ADD, SUB and MUL, float32, with broadcasting. */
#include "binary.h"
#include "tigris_kernels.h"

typedef float (*binary_function)(float a, float b);

static inline void run_binary(const tigris_kernel_call *call, binary_function function)
{
    const tigris_binary_float_params *params = call->params;
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
                *to++ = tigris_clamp_float(function(*a_at, *b_at), params->activation_min, params->activation_max);
                a_at += params->channel_step[0];
                b_at += params->channel_step[1];
            }
            a += params->column_step[0];
            b += params->column_step[1];
        }
    }
}

static float add(float a, float b)
{
    return a + b;
}

static float subtract(float a, float b)
{
    return a - b;
}

static float multiply(float a, float b)
{
    return a * b;
}

static void run_add(const tigris_kernel_call *call)
{
    run_binary(call, add);
}

static void run_subtract(const tigris_kernel_call *call)
{
    run_binary(call, subtract);
}

static void run_multiply(const tigris_kernel_call *call)
{
    run_binary(call, multiply);
}

static tigris_status check(const tigris_check_call *call)
{
    const tigris_binary_float_params *params = call->params;
    int holds = tigris_check_types(call, 2U, TIGRIS_DTYPE_FLOAT32, TIGRIS_DTYPE_FLOAT32);
    for (uint32_t i = 0; holds && i < 2U; i++) {
        holds = tigris_check_steps(call, i, params->row_step[i], params->column_step[i], params->channel_step[i]);
    }
    return tigris_check_result(holds);
}

const tigris_kernel_entry tigris_add_float = {
    TIGRIS_OP_KIND_ADD, TIGRIS_DTYPE_FLOAT32, TIGRIS_PACKING_PORTABLE, sizeof(tigris_binary_float_params), run_add,
    check};
const tigris_kernel_entry tigris_sub_float = {
    TIGRIS_OP_KIND_SUB, TIGRIS_DTYPE_FLOAT32, TIGRIS_PACKING_PORTABLE, sizeof(tigris_binary_float_params),
    run_subtract, check};
const tigris_kernel_entry tigris_mul_float = {
    TIGRIS_OP_KIND_MUL, TIGRIS_DTYPE_FLOAT32, TIGRIS_PACKING_PORTABLE, sizeof(tigris_binary_float_params),
    run_multiply, check};
