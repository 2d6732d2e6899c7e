/* Conv2D and depthwise Conv2D of int16 with weights of int8, and Conv2D with weights of int16. */
#include "tigris_kernels.h"
#include "tile_int16.h"
#include "window.h"

typedef struct conv {
    const tigris_kernel_call *call;
    const tigris_conv_int16_params *params;
    int32_t depth;         /* input channels that one output channel reads */
    int32_t group_outputs; /* output channels that read the same ones */
} conv;

/* `count` products with weights of int16, from weight number `weight` on. */
static uint64_t dot_wide(const conv *c, const int16_t *input, int32_t weight, int32_t count)
{
    const int16_t *weights = tigris_int16_data(c->call, c->params->weights) + weight;
    int64_t sum = 0;
    for (int32_t k = 0; k < count; k++) {
        sum += input[k] * weights[k];
    }
    return (uint64_t)sum;
}

/* Adds all products of the tile's channels, of which `channel` is the first, and pixels: `at`, and perhaps one with the
 * same taps, `apart` elements of the input behind it. Taps that are contiguous in input and weights are one run. */
static void add_taps(const conv *c, tigris_tile_int16 *tile, const tigris_pixel *at, int32_t apart, int32_t channel)
{
    const tigris_conv_int16_params *params = c->params;
    const int32_t together = params->groups == 1U && params->dilation_width == 1U;
    const int32_t step = together ? tigris_tap_count(at->columns) : 1;
    const int16_t *data = (const int16_t *)(const void *)tigris_input_data(c->call, 0);
    const int32_t kernel = channel * params->kernel_height * params->kernel_width;
    data += params->groups == 1U ? 0 : channel / c->group_outputs * c->depth;
    for (int32_t i = at->rows.first; i < at->rows.end; i++) {
        for (int32_t j = at->columns.first; j < at->columns.end; j += step) {
            const int32_t weight = (kernel + i * params->kernel_width + j) * c->depth;
            const uint32_t offset = tigris_tap_offset(c->call, at, i, j);
            const int16_t *const inputs[] = {data + offset, data + offset + apart};
            if (params->weight_bytes == 1U) {
                tigris_add_to_tile(tile, inputs, tigris_int8_data(c->call, params->weights) + weight, step * c->depth);
            } else {
                tile->sum[0][0] += dot_wide(c, inputs[0], weight, step * c->depth);
            }
        }
    }
}

/* The sum of all taps of a depthwise channel; runs are so short that their products fit 32 bits. */
static uint64_t sum_channel(const conv *c, const tigris_pixel *at, int32_t channel)
{
    const tigris_conv_int16_params *params = c->params;
    const int32_t outputs = (int32_t)tigris_output_tensor(c->call)->channels;
    /* Modulo 2^32: offsets without a tap inside, and behind the last tap, may be any number. */
    const uint32_t input_step = (uint32_t)params->dilation_width * tigris_input_tensor(c->call, 0)->channels;
    const int16_t *data = (const int16_t *)(const void *)tigris_input_data(c->call, 0) + channel / c->group_outputs;
    const int8_t *kernel = tigris_int8_data(c->call, params->weights) + channel;
    uint64_t sum = tigris_int64_at(c->call, params->bias, (uint32_t)channel);
    for (int32_t i = at->rows.first; i < at->rows.end; i++) {
        uint32_t input = tigris_tap_offset(c->call, at, i, at->columns.first);
        uint32_t weight = (uint32_t)(i * params->kernel_width + at->columns.first) * (uint32_t)outputs;
        int32_t left = tigris_tap_count(at->columns);
        while (left > 0) {
            int32_t part = 0;
            for (int32_t k = left < TIGRIS_SAFE_PRODUCTS ? left : TIGRIS_SAFE_PRODUCTS; k > 0; k--) {
                part += data[input] * kernel[weight];
                input += input_step;
                weight += (uint32_t)outputs;
            }
            sum += (uint64_t)(int64_t)part;
            left -= TIGRIS_SAFE_PRODUCTS;
        }
    }
    return sum;
}

/* Adds all taps of four depthwise channels, each of which reads an input channel of its own. */
static void add_four_channels(const conv *c, const tigris_pixel *at, int32_t channel, tigris_four_sums *sums)
{
    const tigris_conv_int16_params *params = c->params;
    const int32_t channels = (int32_t)tigris_output_tensor(c->call)->channels;
    const uint32_t step = (uint32_t)params->dilation_width * (uint32_t)channels; /* modulo 2^32, as in sum_channel */
    const int16_t *data = (const int16_t *)(const void *)tigris_input_data(c->call, 0) + channel;
    const int8_t *kernel = tigris_int8_data(c->call, params->weights) + channel;
    tigris_four_sums sum = *sums;
    for (int32_t i = at->rows.first; i < at->rows.end; i++) {
        uint32_t input = tigris_tap_offset(c->call, at, i, at->columns.first);
        int32_t weight = (i * params->kernel_width + at->columns.first) * channels;
        for (int32_t left = tigris_tap_count(at->columns); left > 0; left--) {
            const int16_t *inputs = data + input;
            const int8_t *weights = kernel + weight;
            TIGRIS_ADD_NEXT(sum.row[0], inputs[0], weights[0]);
            TIGRIS_ADD_NEXT(sum.row[1], inputs[1], weights[1]);
            TIGRIS_ADD_NEXT(sum.row[2], inputs[2], weights[2]);
            TIGRIS_ADD_NEXT(sum.row[3], inputs[3], weights[3]);
            input += step;
            weight += channels;
        }
    }
    *sums = sum;
}

static tigris_outputs_int16 outputs_of(const conv *c)
{
    const tigris_conv_int16_params *params = c->params;
    const tigris_outputs_int16 outputs = {params->bias, tigris_int32_data(c->call, params->multiplier),
                                          tigris_int8_data(c->call, params->shift),
                                          {params->sum_bits, params->activation_min, params->activation_max}};
    return outputs;
}

static int are_equal(tigris_taps a, tigris_taps b)
{
    return a.first == b.first && a.end == b.end;
}

/* Computes pixel `at`, and perhaps the next, which has the same taps. */
static void run_pixels(const conv *c, tigris_tile_int16 *tile, const tigris_pixel *at, int32_t apart, int16_t *to)
{
    const tigris_outputs_int16 outputs = outputs_of(c);
    const int32_t channels = (int32_t)tigris_output_tensor(c->call)->channels;
    const int32_t most = c->params->weight_bytes == 1U ? TIGRIS_TILE_ROWS : 1;
    int32_t left = 0; /* channels of the group */
    for (int32_t channel = 0; channel < channels; channel += tile->rows) {
        left = left == 0 ? c->group_outputs : left;
        tile->rows = left < most ? left : most;
        left -= tile->rows;
        tigris_start_tile(tile, c->call, &outputs, channel);
        add_taps(c, tile, at, apart, channel);
        for (int32_t vector = 0; vector < tile->vectors; vector++) {
            tigris_finish_tile(tile, &outputs, channel, vector, to + vector * channels + channel);
        }
    }
}

static void run(const tigris_kernel_call *call)
{
    const tigris_conv_int16_params *params = tigris_params(call);
    const int32_t outputs = (int32_t)tigris_output_tensor(call)->channels;
    const conv c = {call, params, (int32_t)tigris_input_tensor(call, 0)->channels / params->groups,
                    outputs / params->groups};
    tigris_tile_int16 tile;
    tile.row_step = params->kernel_height * params->kernel_width * c.depth;
    int16_t *to = tigris_int16_output(call);
    tigris_pixel_loop loop;
    tigris_start_pixels(&loop, call, 0);
    while (loop.left > 0) {
        const tigris_pixel at = loop.pixel;
        int32_t apart = 0;
        tile.vectors = 1;
        tigris_next_pixel(&loop);
        if (loop.left > 0 && params->weight_bytes == 1U && are_equal(at.rows, loop.pixel.rows) &&
            are_equal(at.columns, loop.pixel.columns)) {
            apart = (int32_t)(tigris_tap_offset(call, &loop.pixel, 0, 0) - tigris_tap_offset(call, &at, 0, 0));
            tile.vectors = 2;
            tigris_next_pixel(&loop);
        }
        run_pixels(&c, &tile, &at, apart, to);
        to += tile.vectors * outputs;
    }
}

static void run_depthwise(const tigris_kernel_call *call)
{
    const int32_t channels = (int32_t)tigris_output_tensor(call)->channels;
    const conv c = {call, tigris_params(call), 1, channels / (int32_t)tigris_input_tensor(call, 0)->channels};
    const tigris_outputs_int16 outputs = outputs_of(&c);
    const int fours =
        c.group_outputs == 1 && c.params->kernel_height * c.params->kernel_width <= TIGRIS_SAFE_PRODUCTS;
    tigris_tile_int16 tile;
    tile.vectors = 1;
    tile.rows = TIGRIS_TILE_ROWS;
    int16_t *to = tigris_int16_output(call);
    tigris_pixel_loop loop;
    for (tigris_start_pixels(&loop, call, 0); loop.left > 0; tigris_next_pixel(&loop)) {
        int32_t channel = 0;
        for (; fours && channels - channel >= TIGRIS_TILE_ROWS; channel += TIGRIS_TILE_ROWS) {
            tigris_start_tile(&tile, call, &outputs, channel);
            add_four_channels(&c, &loop.pixel, channel, tile.part);
            tigris_finish_tile(&tile, &outputs, channel, 0, to);
            to += TIGRIS_TILE_ROWS;
        }
        for (; channel < channels; channel++) {
            *to++ = tigris_to_int16((int64_t)sum_channel(&c, &loop.pixel, channel), outputs.multiplier[channel],
                                    outputs.shift[channel], &outputs.stage);
        }
    }
}

/* `inputs`: input channels that one output channel reads. */
static int is_conv(const tigris_check_call *call, uint32_t inputs)
{
    const tigris_conv_int16_params *params = call->params;
    const uint32_t outputs = call->output->channels;
    const uint32_t window = (uint32_t)params->kernel_height * params->kernel_width;
    const uint32_t weights = tigris_multiply(tigris_multiply(window, inputs), outputs);
    const tigris_sum_stage stage = {params->sum_bits, params->activation_min, params->activation_max};
    return tigris_check_sums(call, &stage, params->bias, params->multiplier, params->shift, outputs) &&
           tigris_check_per_image(call) && tigris_check_window(call) &&
           tigris_check_data(call, params->weights, weights, params->weight_bytes);
}

static tigris_status check(const tigris_check_call *call)
{
    const tigris_conv_int16_params *params = call->params;
    const uint32_t groups = params->groups;
    return tigris_check_result(groups != 0U && call->inputs[0]->channels % groups == 0U &&
                               call->output->channels % groups == 0U &&
                               (params->weight_bytes == 1U || params->weight_bytes == 2U) &&
                               is_conv(call, call->inputs[0]->channels / groups));
}

static tigris_status check_depthwise(const tigris_check_call *call)
{
    const tigris_conv_int16_params *params = call->params;
    return tigris_check_result(params->groups == 1U && params->weight_bytes == 1U && is_conv(call, 1U) &&
                               call->output->channels % call->inputs[0]->channels == 0U);
}

TIGRIS_KERNEL_ENTRY(tigris_conv_2d_int16, CONV_2D, INT16, tigris_conv_int16_params, run, check);
TIGRIS_KERNEL_ENTRY(tigris_depthwise_conv_2d_int16, DEPTHWISE_CONV_2D, INT16, tigris_conv_int16_params, run_depthwise,
                    check_depthwise);
