/* Transposed Conv2D, float32, with groups. */
#include "tigris_kernels.h"
#include "transpose_conv.h"

typedef struct products {
    const float *input;
    const float *weights;
    float sum;
} products;

static inline void add_products(void *of, uint32_t input, int32_t weight, int32_t count)
{
    products *p = of;
    for (int32_t k = 0; k < count; k++) {
        p->sum += p->input[input + (uint32_t)k] * p->weights[weight + k];
    }
}

typedef struct outputs {
    products channel;
    const float *bias;
    float low;
    float high;
    float *to;
} outputs;

static inline void write_output(void *of, const tigris_transposed *c, const tigris_transpose_place *at)
{
    outputs *o = of;
    o->channel.sum = o->bias[at->channel];
    tigris_transpose_sum(c, at, add_products, &o->channel);
    o->to[at->to] = tigris_clamp_float(o->channel.sum, o->low, o->high);
}

static void run(const tigris_kernel_call *call)
{
    const tigris_transpose_conv_float_params *params = tigris_params(call);
    const tigris_transpose_shape shape = TIGRIS_TRANSPOSE_SHAPE(params);
    outputs o = {
        {(const float *)(const void *)tigris_input_data(call, 0), tigris_float_data(call, params->weights), 0.0F},
        tigris_float_data(call, params->bias),
        params->activation_min,
        params->activation_max,
        tigris_float_output(call)};
    tigris_transpose_run(call, &shape, 1, 1, write_output, &o);
}

static tigris_status check(const tigris_check_call *call)
{
    const tigris_transpose_conv_float_params *params = call->params;
    const tigris_transpose_shape shape = TIGRIS_TRANSPOSE_SHAPE(params);
    return tigris_check_result(tigris_check_types(call, 1U, TIGRIS_DTYPE_FLOAT32, TIGRIS_DTYPE_FLOAT32) &&
                               tigris_check_transposed(call, &shape, params->weights, sizeof(float)) &&
                               tigris_check_data(call, params->bias, call->output->channels, sizeof(float)));
}

TIGRIS_KERNEL_ENTRY(tigris_transpose_conv_float, TRANSPOSE_CONV, FLOAT32, tigris_transpose_conv_float_params, run,
                    check);
