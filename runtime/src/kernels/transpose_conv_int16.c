/* Transposed Conv2D of int16 with weights of int8, with groups; sums have 64 bits. */
#include "int16.h"
#include "tigris_kernels.h"
#include "transpose_conv.h"

typedef struct products {
    const int16_t *input;
    const int8_t *weights;
    uint64_t sum;
} products;

static inline void add_products(void *of, uint32_t input, int32_t weight, int32_t count)
{
    products *p = of;
    p->sum += (uint64_t)tigris_dot_int16(p->input + input, p->weights + weight, count);
}

typedef struct outputs {
    products channel;
    uint32_t bias;
    const int32_t *multiplier;
    const int8_t *shift;
    tigris_sum_stage stage;
    int16_t *to;
} outputs;

static inline void write_output(void *of, const tigris_transposed *c, const tigris_transpose_place *at)
{
    outputs *o = of;
    o->channel.sum = tigris_int64_at(c->call, o->bias, (uint32_t)at->channel);
    tigris_transpose_sum(c, at, add_products, &o->channel);
    *o->to++ = tigris_to_int16((int64_t)o->channel.sum, o->multiplier[at->channel], o->shift[at->channel], &o->stage);
}

static void run(const tigris_kernel_call *call)
{
    const tigris_transpose_conv_int16_params *params = tigris_params(call);
    const tigris_transpose_shape shape = TIGRIS_TRANSPOSE_SHAPE(params);
    outputs o = {
        {(const int16_t *)(const void *)tigris_input_data(call, 0), tigris_int8_data(call, params->weights), 0},
        params->bias,
        tigris_int32_data(call, params->multiplier),
        tigris_int8_data(call, params->shift),
        {params->sum_bits, params->activation_min, params->activation_max},
        tigris_int16_output(call)};
    tigris_transpose_run(call, &shape, write_output, &o);
}

static tigris_status check(const tigris_check_call *call)
{
    const tigris_transpose_conv_int16_params *params = call->params;
    const tigris_sum_stage stage = {params->sum_bits, params->activation_min, params->activation_max};
    const tigris_transpose_shape shape = TIGRIS_TRANSPOSE_SHAPE(params);
    return tigris_check_result(
        tigris_check_sums(call, &stage, params->bias, params->multiplier, params->shift, call->output->channels) &&
        tigris_check_transposed(call, &shape, params->weights, sizeof(int8_t)));
}

TIGRIS_KERNEL_ENTRY(tigris_transpose_conv_int16, TRANSPOSE_CONV, INT16, tigris_transpose_conv_int16_params, run, check);
