/* Transposed Conv2D of int16 with weights of int8, with groups; sums have 64 bits. */
#include "tigris_kernels.h"
#include "tile_int16.h"
#include "transpose_conv.h"

typedef struct layer {
    tigris_tile_int16 tile;
    const int16_t *input;
    const int8_t *weights;
    int16_t *to;
} layer;

static inline void add_products(void *of, uint32_t input, int32_t weight, int32_t count)
{
    layer *l = of;
    tigris_add_to_tile(&l->tile, l->input + input, l->weights + weight, count);
}

static inline void write_outputs(void *of, const tigris_transposed *c, const tigris_transpose_place *at)
{
    layer *l = of;
    tigris_start_rows(&l->tile, at->channel, at->channels);
    tigris_start_tile(&l->tile, at->pixels);
    tigris_transpose_sum(c, at, add_products, l);
    tigris_finish_tile(&l->tile, l->to + at->to,
                       c->shape->stride_width * (int32_t)tigris_output_tensor(c->call)->channels);
}

static void run(const tigris_kernel_call *call)
{
    const tigris_transpose_conv_int16_params *params = tigris_params(call);
    const tigris_transpose_shape shape = TIGRIS_TRANSPOSE_SHAPE(params);
    layer l;
    l.tile.outputs = (tigris_outputs_int16)TIGRIS_OUTPUTS_INT16(call, params);
    l.input = (const int16_t *)(const void *)tigris_input_data(call, 0);
    l.tile.vector_step = (int32_t)tigris_input_tensor(call, 0)->channels;
    l.weights = tigris_int8_data(call, params->weights);
    l.to = tigris_int16_output(call);
    l.tile.row_step = shape.kernel_height * shape.kernel_width * (l.tile.vector_step / (int32_t)shape.groups);
    tigris_transpose_run(call, &shape, TIGRIS_TILE_VECTORS, TIGRIS_TILE_ROWS, write_outputs, &l);
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
