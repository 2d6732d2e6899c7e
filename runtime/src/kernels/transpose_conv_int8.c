/* Transposed Conv2D, int8, with groups. The number of taps differs from pixel to pixel, so the input's zero point is
 * subtracted from each input, not folded into the bias. */
#include "four_rows.h"
#include "scale_int8.h"
#include "tigris_kernels.h"
#include "transpose_conv.h"

TIGRIS_INLINE int32_t load_int8(const void *vector, int32_t index, int32_t zero_point)
{
    return ((const int8_t *)vector)[index] - zero_point;
}

static TIGRIS_NOINLINE void add_one(const void *const *from, int32_t zero_point, const int8_t *weights, int32_t step,
                                    int32_t count, tigris_four_sums *sums)
{
    tigris_add_four_rows(load_int8, 0, from, zero_point, weights, step, count, sums);
}

static TIGRIS_NOINLINE void add_two(const void *const *from, int32_t zero_point, const int8_t *weights, int32_t step,
                                    int32_t count, tigris_four_sums *sums)
{
    tigris_add_four_rows(load_int8, 1, from, zero_point, weights, step, count, sums);
}

typedef struct outputs {
    tigris_tile tile;
    const int8_t *input;
    int32_t input_channels;
    const int8_t *weights;
    const int32_t *bias;
    const int32_t *multiplier;
    const int8_t *shift;
    tigris_output_stage stage;
    int8_t *to;
} outputs;

static inline void add_products(void *of, uint32_t input, int32_t weight, int32_t count)
{
    outputs *o = of;
    const int8_t *first = o->input + input;
    const void *const from[] = {first, o->tile.vectors == 1 ? NULL : first + o->input_channels};
    tigris_add_to_sums(&o->tile, load_int8, add_one, add_two, from, o->weights + weight, count);
}

static inline void write_outputs(void *of, const tigris_transposed *c, const tigris_transpose_place *at)
{
    outputs *o = of;
    o->tile.vectors = at->pixels;
    o->tile.rows = at->channels;
    for (int32_t i = 0; i < at->channels; i++) {
        o->tile.sums[0].row[i] = o->tile.sums[1].row[i] = (uint32_t)o->bias[at->channel + i];
    }
    tigris_transpose_sum(c, at, add_products, o);
    int8_t *to = o->to + at->to;
    for (int32_t pixel = 0; pixel < at->pixels; pixel++) {
        tigris_requantise_channels(o->tile.sums[pixel].row, at->channels, o->multiplier + at->channel,
                                   o->shift + at->channel, 1, &o->stage, to);
        to += (uint32_t)c->shape->stride_width * tigris_output_tensor(c->call)->channels;
    }
}

static void run(const tigris_kernel_call *call)
{
    const tigris_transpose_conv_int8_params *params = tigris_params(call);
    const tigris_transpose_shape shape = TIGRIS_TRANSPOSE_SHAPE(params);
    const int32_t taps = shape.kernel_height * shape.kernel_width;
    const int32_t channels = (int32_t)tigris_input_tensor(call, 0)->channels;
    outputs o = {{1, 1, taps * (channels / (int32_t)shape.groups), params->input_zero_point, {{{0}}, {{0}}}},
                 (const int8_t *)(const void *)tigris_input_data(call, 0),
                 channels,
                 tigris_int8_data(call, params->weights),
                 tigris_int32_data(call, params->bias),
                 tigris_int32_data(call, params->multiplier),
                 tigris_int8_data(call, params->shift),
                 {params->output_zero_point, params->activation_min, params->activation_max},
                 tigris_int8_output(call)};
    tigris_transpose_run(call, &shape, 2, 4, write_outputs, &o);
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
