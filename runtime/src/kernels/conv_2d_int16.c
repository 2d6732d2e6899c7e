/* Conv2D and depthwise Conv2D of int16 with weights of int8, and Conv2D with weights of int16. */
#include "set.h"
#include "tigris_kernels.h"
#include "tile_int16.h"
#include "window.h"

typedef struct conv {
    const tigris_kernel_call *call;
    const int16_t *input;
    const tigris_conv_int16_params *params;
    int32_t depth;         /* input channels that one output channel reads */
    int32_t group_outputs; /* output channels that read the same ones */
} conv;

/* `count` products with weights of int16. */
static uint64_t dot_wide(const int16_t *input, const int16_t *weights, int32_t count)
{
    int64_t sum = 0;
    for (int32_t k = 0; k < count; k++) {
        sum += input[k] * weights[k];
    }
    return (uint64_t)sum;
}

/* The sum of all taps of a depthwise channel; runs are so short that their products fit 32 bits. */
static uint64_t sum_channel(const conv *c, const tigris_pixel *at, int32_t channel)
{
    const tigris_conv_int16_params *params = c->params;
    const int32_t outputs = (int32_t)tigris_output_tensor(c->call)->channels;
    /* Modulo 2^32: offsets without a tap inside, and behind the last tap, may be any number. */
    const uint32_t input_step = (uint32_t)params->dilation_width * tigris_input_tensor(c->call, 0)->channels;
    const int16_t *data = c->input + channel / c->group_outputs;
    const int8_t *kernel = tigris_int8_data(c->call, params->weights) + channel;
    uint64_t sum = tigris_int64_at((const uint32_t *)(const void *)tigris_int32_data(c->call, params->bias), channel);
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
static void add_four_channels(const conv *c, const tigris_pixel *at, int32_t channel, uint32_t *sums)
{
    const tigris_conv_int16_params *params = c->params;
    const int32_t channels = (int32_t)tigris_output_tensor(c->call)->channels;
    const uint32_t step = (uint32_t)params->dilation_width * (uint32_t)channels; /* modulo 2^32, as in sum_channel */
    const int16_t *data = c->input + channel;
    const int8_t *kernel = tigris_int8_data(c->call, params->weights) + channel;
    uint32_t sum[TIGRIS_ROW_BLOCK] = {0U, 0U, 0U, 0U};
    for (int32_t i = at->rows.first; i < at->rows.end; i++) {
        uint32_t input = tigris_tap_offset(c->call, at, i, at->columns.first);
        int32_t weight = (i * params->kernel_width + at->columns.first) * channels;
        for (int32_t left = tigris_tap_count(at->columns); left > 0; left--) {
            const int16_t *inputs = data + input;
            const int8_t *weights = kernel + weight;
            TIGRIS_ADD_NEXT(sum[0], inputs[0], weights[0]);
            TIGRIS_ADD_NEXT(sum[1], inputs[1], weights[1]);
            TIGRIS_ADD_NEXT(sum[2], inputs[2], weights[2]);
            TIGRIS_ADD_NEXT(sum[3], inputs[3], weights[3]);
            input += step;
            weight += channels;
        }
    }
    sums[0] = sum[0], sums[1] = sum[1], sums[2] = sum[2], sums[3] = sum[3];
}

/* Adds the products of all taps to a tile, of which `at` is the first pixel, or to one sum, with weights of int16. Taps
 * that are contiguous in input and weights are one run. */
static void add_taps(const conv *c, const tigris_pixel *at, int32_t channel, tigris_tile_int16 *tile, uint64_t *sum)
{
    const tigris_conv_int16_params *params = c->params;
    const int32_t together = params->groups == 1U && params->dilation_width == 1U;
    const int32_t step = together ? tigris_tap_count(at->columns) : 1;
    const int16_t *data = c->input + (params->groups == 1U ? 0 : channel / c->group_outputs * c->depth);
    const int32_t kernel = channel * params->kernel_height * params->kernel_width;
    for (int32_t i = at->rows.first; i < at->rows.end; i++) {
        for (int32_t j = at->columns.first; j < at->columns.end; j += step) {
            const int32_t weight = (kernel + i * params->kernel_width + j) * c->depth;
            const int16_t *input = data + tigris_tap_offset(c->call, at, i, j);
            if (sum == NULL) {
                tigris_add_to_tile(tile, input, tigris_int8_data(c->call, params->weights) + weight, step * c->depth);
            } else {
                *sum += dot_wide(input, tigris_int16_data(c->call, params->weights) + weight, step * c->depth);
            }
        }
    }
}

static int are_alike(const tigris_pixel *a, const tigris_pixel *b)
{
    return a->rows.first == b->rows.first && a->rows.end == b->rows.end && a->columns.first == b->columns.first &&
           a->columns.end == b->columns.end;
}

/* Computes the tile's channels of all pixels. The pixels of a tile have the same taps and the same distance. */
static void run_pixels(const conv *c, tigris_tile_int16 *tile, int32_t channel)
{
    const int32_t channels = (int32_t)tigris_output_tensor(c->call)->channels;
    int16_t *to = tigris_int16_output(c->call) + channel;
    tigris_pixel_loop loop;
    tigris_start_pixels(&loop, c->call, 0);
    while (loop.left > 0) {
        const tigris_pixel at = loop.pixel;
        uint32_t last, next = tigris_tap_offset(c->call, &at, 0, 0);
        int32_t vectors = 0;
        do {
            last = next;
            tigris_next_pixel_inline(&loop);
            next = tigris_tap_offset(c->call, &loop.pixel, 0, 0);
            tile->vector_step = vectors == 0 ? (int32_t)(next - last) : tile->vector_step;
            vectors++;
        } while (vectors < TIGRIS_TILE_VECTORS && loop.left > 0 && next - last == (uint32_t)tile->vector_step &&
                 are_alike(&at, &loop.pixel));
        tigris_start_tile(tile, vectors);
        add_taps(c, &at, channel, tile, NULL);
        tigris_finish_tile(tile, to, channels);
        to += vectors * channels;
    }
}

static void run_wide(const conv *c, const tigris_outputs_int16 *outputs)
{
    const int32_t channels = (int32_t)tigris_output_tensor(c->call)->channels;
    int16_t *to = tigris_int16_output(c->call);
    tigris_pixel_loop loop;
    for (tigris_start_pixels(&loop, c->call, 0); loop.left > 0; tigris_next_pixel(&loop)) {
        for (int32_t channel = 0; channel < channels; channel++) {
            uint64_t sum = tigris_int64_at(outputs->bias, channel);
            add_taps(c, &loop.pixel, channel, NULL, &sum);
            *to++ = tigris_to_int16((int64_t)sum, outputs->multiplier[channel], outputs->shift[channel],
                                    &outputs->stage);
        }
    }
}

static void run(const tigris_kernel_call *call)
{
    const tigris_conv_int16_params *params = tigris_params(call);
    const int32_t channels = (int32_t)tigris_output_tensor(call)->channels;
    const conv c = {call, (const int16_t *)(const void *)tigris_input_data(call, 0), params,
                    (int32_t)tigris_input_tensor(call, 0)->channels / params->groups, channels / params->groups};
    tigris_tile_int16 tile;
    tile.outputs = (tigris_outputs_int16)TIGRIS_OUTPUTS_INT16(call, params);
    if (params->weight_bytes != 1U) {
        run_wide(&c, &tile.outputs);
        return;
    }
    if (params->groups == 1U && tigris_is_dense_1x1(call)) {
        tigris_run_vectors(&tile, tigris_int8_data(call, params->weights), channels, c.input, c.depth,
                           tigris_output_rows(call) * (int32_t)tigris_output_tensor(call)->width,
                           tigris_int16_output(call));
        return;
    }
    tile.row_step = params->kernel_height * params->kernel_width * c.depth;
    for (int32_t channel = 0; channel < channels; channel += tile.rows) {
        tigris_start_rows(&tile, channel, c.group_outputs - channel % c.group_outputs);
        run_pixels(&c, &tile, channel);
    }
}

static void run_depthwise(const tigris_kernel_call *call)
{
    const tigris_conv_int16_params *params = tigris_params(call);
    const int32_t channels = (int32_t)tigris_output_tensor(call)->channels;
    const conv c = {call, (const int16_t *)(const void *)tigris_input_data(call, 0), params, 1,
                    channels / (int32_t)tigris_input_tensor(call, 0)->channels};
    const int32_t fours = c.group_outputs == 1 && params->kernel_height * params->kernel_width <= TIGRIS_SAFE_PRODUCTS
                              ? channels & -TIGRIS_ROW_BLOCK
                              : 0;
    tigris_tile_int16 tile;
    const tigris_outputs_int16 *outputs = &tile.outputs;
    tigris_pixel_loop loop;
    tile.outputs = (tigris_outputs_int16)TIGRIS_OUTPUTS_INT16(call, params);
    int16_t *to = tigris_int16_output(call);
    int32_t channel = 0;
    for (; channel < fours; channel += tile.rows) {
        tigris_start_rows(&tile, channel, fours - channel);
        tigris_start_tile(&tile, 1);
        tile.left = 0;
        int16_t *output = to + channel;
        for (tigris_start_pixels(&loop, call, 0); loop.left > 0; tigris_next_pixel(&loop)) {
            for (int32_t row = 0; row < tile.rows; row += TIGRIS_ROW_BLOCK) {
                add_four_channels(&c, &loop.pixel, channel + row, &tile.part[0][row]);
            }
            tigris_finish_tile(&tile, output, 0);
            output += channels;
        }
    }
    for (; channel < channels; channel++) {
        int16_t *output = to + channel;
        for (tigris_start_pixels(&loop, call, 0); loop.left > 0; tigris_next_pixel(&loop)) {
            *output = tigris_to_int16((int64_t)sum_channel(&c, &loop.pixel, channel), outputs->multiplier[channel],
                                      outputs->shift[channel], &outputs->stage);
            output += channels;
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

TIGRIS_PIE_ENTRY(tigris_conv_2d_int16, CONV_2D, INT16, tigris_conv_int16_params, run, check);
TIGRIS_PIE_ENTRY(tigris_depthwise_conv_2d_int16, DEPTHWISE_CONV_2D, INT16, tigris_conv_int16_params, run_depthwise,
                 check_depthwise);
