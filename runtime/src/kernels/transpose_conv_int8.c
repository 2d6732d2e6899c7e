/* Transposed Conv2D, int8, with groups. The number of taps differs from pixel to pixel, so the input's zero point is
 * subtracted from each input, not folded into the bias. */
#include "requantise.h"
#include "tigris_kernels.h"
#include "transpose_conv.h"

typedef struct products {
    const int8_t *input;
    const int8_t *weights;
    int32_t zero_point; /* of the input */
    int32_t sum;
} products;

static inline void add_products(void *of, uint32_t input, int32_t weight, int32_t count)
{
    products *p = of;
    for (int32_t k = 0; k < count; k++) {
        const int32_t value = p->input[input + (uint32_t)k] - p->zero_point;
        p->sum = tigris_wrapping_add(p->sum, value * p->weights[weight + k]);
    }
}

typedef struct outputs {
    products channel;
    const int32_t *bias;
    const int32_t *multiplier;
    const int8_t *shift;
    tigris_output_stage stage;
    int8_t *to;
} outputs;

static inline void write_output(void *of, const tigris_transposed *c, const tigris_transpose_place *at)
{
    outputs *o = of;
    o->channel.sum = o->bias[at->channel];
    tigris_transpose_sum(c, at, add_products, &o->channel);
    *o->to++ = tigris_to_int8(o->channel.sum, o->multiplier[at->channel], o->shift[at->channel], &o->stage);
}

static void run(const tigris_kernel_call *call)
{
    const tigris_transpose_conv_int8_params *params = tigris_params(call);
    const tigris_transpose_shape shape = TIGRIS_TRANSPOSE_SHAPE(params);
    outputs o = {{(const int8_t *)(const void *)tigris_input_data(call, 0), tigris_int8_data(call, params->weights),
                  params->input_zero_point, 0},
                 tigris_int32_data(call, params->bias),
                 tigris_int32_data(call, params->multiplier),
                 tigris_int8_data(call, params->shift),
                 {params->output_zero_point, params->activation_min, params->activation_max},
                 tigris_int8_output(call)};
    tigris_transpose_run(call, &shape, write_output, &o);
}

static tigris_status check(const tigris_check_call *call)
{
    const tigris_transpose_conv_int8_params *params = call->params;
    const tigris_transpose_shape shape = TIGRIS_TRANSPOSE_SHAPE(params);
    const uint32_t outputs = call->output->channels;
    return tigris_check_result(
        tigris_check_types(call, 1U, TIGRIS_DTYPE_INT8, TIGRIS_DTYPE_INT8) &&
        tigris_check_transposed(call, &shape, params->weights, sizeof(int8_t)) &&
        tigris_check_data(call, params->bias, outputs, sizeof(int32_t)) &&
        tigris_check_requantise(call, params->multiplier, params->shift, outputs) &&
        tigris_check_int8(params->input_zero_point) && tigris_check_int8(params->output_zero_point) &&
        tigris_check_range(params->activation_min, params->activation_max));
}

TIGRIS_KERNEL_ENTRY(tigris_transpose_conv_int8, TRANSPOSE_CONV, INT8, tigris_transpose_conv_int8_params, run, check);
