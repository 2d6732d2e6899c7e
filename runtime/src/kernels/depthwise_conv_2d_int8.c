/* Depthwise Conv2D, int8, with channel multiplier: out channel c reads in channel c / multiplier.
 *
 * Weights are packed by blocks of four channels, [row][column][channel] in each (the last block may be smaller;
 * tigris_pio/format/packing.py). Undilated 3x3 kernels of stride 1 and 2 are computed along lines of outputs
 * (depthwise_int8.h). All other calls are computed pixel by pixel, a block of channels at a time. */
#include "access.h"
#include "check.h"
#include "depthwise_int8.h"
#include "set.h"
#include "tigris_kernels.h"
#include "window.h"


#define BLOCK TIGRIS_CHANNEL_BLOCK
#define BATCH 16 /* channels whose sums are kept before they become outputs, a multiple of BLOCK */

typedef struct depthwise {
    const tigris_conv_int8_params *params;
    const int8_t *input;
    const int8_t *weights;
    const int32_t *bias;
    const int32_t *multiplier;
    const int8_t *shift;
    tigris_output_stage output;
    int32_t input_width;
    int32_t input_channels;
    int32_t output_channels;
    int32_t channel_multiplier;
    int8_t padding[BLOCK]; /* values of padded taps */
} depthwise;

TIGRIS_HOT
static void unpack(depthwise *d, const tigris_kernel_call *call)
{
    const tigris_conv_int8_params *params = tigris_params(call);
    d->params = params;
    d->input = tigris_int8_input(call);
    d->weights = tigris_int8_data(call, params->weights);
    d->bias = tigris_int32_data(call, params->bias);
    d->multiplier = tigris_int32_data(call, params->multiplier);
    d->shift = tigris_int8_data(call, params->shift);
    d->output = (tigris_output_stage){params->output_zero_point, params->activation_min, params->activation_max};
    d->input_width = (int32_t)tigris_input_tensor(call, 0)->width;
    d->input_channels = (int32_t)tigris_input_tensor(call, 0)->channels;
    d->output_channels = (int32_t)tigris_output_tensor(call)->channels;
    d->channel_multiplier = d->output_channels / d->input_channels;
    memset(d->padding, params->input_zero_point, sizeof d->padding);
}

/* The number of channels in the block of `channel`. */
TIGRIS_HOT
static int32_t block_lanes(const depthwise *d, int32_t channel)
{
    const int32_t left = d->output_channels - (channel & ~(BLOCK - 1));
    return left < BLOCK ? left : BLOCK;
}

/* Tap 0 of a channel. The stride of its taps is block_lanes. */
TIGRIS_HOT
static const int8_t *channel_weights(const depthwise *d, int32_t channel)
{
    const int32_t lane = channel & (BLOCK - 1);
    return d->weights + (channel - lane) * d->params->kernel_height * d->params->kernel_width + lane;
}

/* ---- pixel by pixel ---- */

/* One axis of the kernel at one output pixel. */
typedef struct pixel_axis {
    int32_t taps;
    uint32_t step;      /* bytes from a tap's input to the next */
    tigris_taps inside;
} pixel_axis;

typedef struct depthwise_pixel {
    uint32_t input;                  /* bytes from the band's start to the first tap, modulo 2^32: it may be padding */
    const pixel_axis *outer, *inner; /* rows and columns, or columns and rows */
} depthwise_pixel;

TIGRIS_HOT
static int is_inside(const pixel_axis *axis, int32_t tap)
{
    return tap >= axis->inside.first && tap < axis->inside.end;
}

TIGRIS_HOT
static int all_inside(const pixel_axis *axis)
{
    return axis->inside.end - axis->inside.first == axis->taps;
}

/* Adds `runs` runs of `count` taps to the sums of blocks of channels up to `end`, at least one. `step` and `run_step`:
 * strides of taps and of runs in the input. */
static TIGRIS_NOINLINE void add_runs(const int8_t *input, uint32_t step, uint32_t run_step, const int8_t *weights,
                                     int32_t count, int32_t runs, uint32_t *sum, const uint32_t *end)
{
    do {
        uint32_t block[BLOCK] = {sum[0], sum[1], sum[2], sum[3]};
        const int8_t *from = input;
        for (int32_t left = runs; left > 0; left--) {
            tigris_add_run(from, (int32_t)step, weights, count, block);
            from += run_step;
            weights += count * BLOCK;
        }
        sum[0] = block[0], sum[1] = block[1], sum[2] = block[2], sum[3] = block[3];
        input += BLOCK;
        sum += BLOCK;
    } while (sum != end);
}

#if defined(__OPTIMIZE_SIZE__)
/* Adds all taps of four channels whose inputs start at offset `input`, padding among them. */
static TIGRIS_NOINLINE void add_padded(const depthwise *d, const depthwise_pixel *pixel, uint32_t input,
                                       const int8_t *weights, uint32_t sum[BLOCK])
{
    const int32_t taps = pixel->inner->taps;
    const uint32_t step = pixel->inner->step;
    const tigris_taps none = {(uint16_t)taps, (uint16_t)taps};
    for (int32_t i = 0; i < pixel->outer->taps; i++) {
        const tigris_taps inside = is_inside(pixel->outer, i) ? pixel->inner->inside : none;
        for (int32_t tap = 0, end; tap < taps; tap = end) {
            const int padded = tap < inside.first || tap >= inside.end;
            end = tap < inside.first ? inside.first : padded ? taps : inside.end;
            add_runs(padded ? d->padding : d->input + (input + (uint32_t)tap * step), padded ? 0U : step, 0U, weights,
                     end - tap, 1, sum, sum + BLOCK);
            weights += (end - tap) * BLOCK;
        }
        input += pixel->outer->step;
    }
}
#else
/* Adds `count` taps, if any, and returns the weights behind them. */
TIGRIS_INLINE const int8_t *add_some(const int8_t *from, uint32_t step, const int8_t *weights, int32_t count,
                                     uint32_t sum[BLOCK])
{
    if (count != 0) {
        tigris_add_run(from, (int32_t)step, weights, count, sum);
    }
    return weights + count * BLOCK;
}

/* add_padded for speed: sums stay in registers. Padding behind a run and before the next has adjacent weights, so it is
 * added at once. */
static TIGRIS_NOINLINE void add_padded(const depthwise *d, const depthwise_pixel *pixel, uint32_t input,
                                       const int8_t *weights, uint32_t sum[BLOCK])
{
    const pixel_axis *outer = pixel->outer, *inner = pixel->inner;
    const int32_t taps = inner->taps, count = inner->inside.end - inner->inside.first;
    const int32_t runs = count > 0 ? outer->inside.end - outer->inside.first : 0;
    const uint32_t first = (uint32_t)outer->inside.first * outer->step + (uint32_t)inner->inside.first * inner->step;
    const int8_t *from = runs > 0 ? d->input + (input + first) : d->input;
    uint32_t block[BLOCK] = {sum[0], sum[1], sum[2], sum[3]};
    int32_t padded = outer->inside.first * taps + inner->inside.first;
    for (int32_t left = runs; left > 0; left--) {
        weights = add_some(d->padding, 0U, weights, padded, block);
        weights = add_some(from, inner->step, weights, count, block);
        from += outer->step;
        padded = taps - count;
    }
    padded = runs > 0 ? (outer->taps - outer->inside.end) * taps + taps - inner->inside.end : outer->taps * taps;
    add_some(d->padding, 0U, weights, padded, block);
    sum[0] = block[0], sum[1] = block[1], sum[2] = block[2], sum[3] = block[3];
}
#endif

/* The whole blocks of one pixel from channel 0 up to `end`. */
static TIGRIS_NOINLINE void pixel_blocks(const depthwise *d, const depthwise_pixel *pixel, int32_t end, int8_t *output)
{
    const int32_t taps = pixel->outer->taps * pixel->inner->taps;
    uint32_t sums[BATCH];
    for (int32_t channel = 0, count; channel < end; channel += count) {
        count = end - channel < BATCH ? end - channel : BATCH;
        tigris_init_sums(sums, d->bias + channel, count);
        const uint32_t input = pixel->input + (uint32_t)channel;
        const int8_t *weights = d->weights + channel * taps;
        if (all_inside(pixel->outer) && all_inside(pixel->inner)) {
            add_runs(d->input + input, pixel->inner->step, pixel->outer->step, weights, pixel->inner->taps,
                     pixel->outer->taps, sums, sums + count);
        } else {
            for (int32_t i = 0; i < count; i += BLOCK) {
                add_padded(d, pixel, input + (uint32_t)i, weights + i * taps, sums + i);
            }
        }
        tigris_requantise_channels(sums, count, d->multiplier + channel, d->shift + channel, 1, &d->output,
                                   output + channel);
    }
}

/* One channel of one pixel. */
TIGRIS_HOT
static void pixel_channel(const depthwise *d, const depthwise_pixel *pixel, int32_t channel, int8_t *output)
{
    const int32_t stride = block_lanes(d, channel);
    const int8_t *weights = channel_weights(d, channel);
    uint32_t row = pixel->input + (uint32_t)(channel / d->channel_multiplier);
    uint32_t sum = (uint32_t)d->bias[channel];
    for (int32_t i = 0; i < pixel->outer->taps; i++) {
        uint32_t at = row;
        for (int32_t j = 0; j < pixel->inner->taps; j++) {
            const int inside = is_inside(pixel->outer, i) && is_inside(pixel->inner, j);
            sum += tigris_product(inside ? d->input[at] : d->padding[0], *weights);
            weights += stride;
            at += pixel->inner->step;
        }
        row += pixel->outer->step;
    }
    tigris_requantise_channels(&sum, 1, d->multiplier + channel, d->shift + channel, 1, &d->output, output + channel);
}

/* All pixels, whole blocks of channels together. */
static TIGRIS_NOINLINE void run_pixels(const depthwise *d, const tigris_kernel_call *call, int8_t *output)
{
    const tigris_conv_int8_params *params = d->params;
    const int32_t end = d->output_channels, blocks_end = d->channel_multiplier == 1 ? end & ~(BLOCK - 1) : 0;
    const uint32_t channels = (uint32_t)d->input_channels;
    pixel_axis rows = {params->kernel_height, params->dilation_height * (uint32_t)d->input_width * channels, {0, 0}};
    pixel_axis columns = {params->kernel_width, params->dilation_width * channels, {0, 0}};
    depthwise_pixel pixel = {0U, &rows, &columns};
    tigris_pixel_loop loop;
    if (columns.taps == 1) { /* one run, not one a row */
        pixel.outer = &columns;
        pixel.inner = &rows;
    }
    for (tigris_start_pixels(&loop, call, 0); loop.left > 0; tigris_next_pixel(&loop)) {
        rows.inside = loop.pixel.rows;
        columns.inside = loop.pixel.columns;
        pixel.input = tigris_tap_offset(call, &loop.pixel, 0, 0);
        pixel_blocks(d, &pixel, blocks_end, output);
        for (int32_t channel = blocks_end; channel < end; channel++) {
            pixel_channel(d, &pixel, channel, output);
        }
        output += end;
    }
}

/* ---- along lines ---- */

/* One axis of a band, rows or columns, as the kernel moves along it. */
typedef struct line_axis {
    int32_t first;       /* position of the first output's first tap; negative in the padding */
    int32_t stride;
    int32_t extent;      /* positions inside */
    int32_t step;        /* bytes from a position to the next */
    int32_t outputs;
    int32_t output_step; /* bytes from an output to the next */
    int32_t weight_step; /* taps from a weight to the next */
} line_axis;

/* Prepares lines along an axis. Returns 0 if a side has more than one position of padding. */
TIGRIS_HOT
static int init_lines(const line_axis *along, const line_axis *across, tigris_line_loop *w)
{
    const int32_t total = (along->outputs - 1) * along->stride + 3;
    w->left = along->first < 0;
    w->columns = total - w->left < along->extent ? total - w->left : along->extent;
    w->right = total - w->left - w->columns;
    w->stride = along->stride;
    w->step = along->step;
    w->output_step = along->output_step;
    w->line_step = (int32_t)((uint32_t)across->stride * (uint32_t)across->step); /* of no use where it does not fit */
    w->output_line_step = across->output_step;
    return along->stride <= 2 && along->first >= -1 && w->right <= 1 && w->columns > 0 && across->first >= -1 &&
           across->first + (across->outputs - 1) * across->stride + 1 < across->extent;
}

/* Fills in what all lines share. */
TIGRIS_HOT
static void fill_loop(const depthwise *d, const line_axis *along, const line_axis *across, tigris_line_loop *w)
{
    w->weights = d->weights;
    w->bias = d->bias;
    w->multiplier = d->multiplier;
    w->shift = d->shift;
    w->channels = d->output_channels;
    w->along = along->weight_step;
    w->across = across->weight_step;
    w->output = d->output;
    w->padding = d->padding[0];
    w->lane[1] = -across->step, w->lane[2] = across->step;
    w->before = across->first < 0;
    w->after = across->first + (across->outputs - 1) * across->stride + 2 >= across->extent;
    w->lines = across->outputs;
}

/* Computes all channels of a 3x3 kernel along lines. Returns 0, with nothing computed, if lines cannot. */
TIGRIS_HOT
static int run_channels(const depthwise *d, const tigris_band *in, const tigris_band *out, int8_t *output)
{
    const tigris_conv_int8_params *params = d->params;
    const int32_t width = (int32_t)tigris_tensor_of(out)->width;
    const line_axis rows = {-tigris_pad_top(in), params->stride_height, tigris_row_count(in),
                            d->input_width * d->input_channels, tigris_row_count(out), width * d->output_channels, 3};
    const line_axis columns = {-params->pad_left, params->stride_width, d->input_width, d->input_channels,
                               width, d->output_channels, 1};
    const int32_t longer = params->stride_height * params->stride_width == 1 ? TIGRIS_LONGER_LINES : 1;
    const line_axis *along = rows.outputs > longer * columns.outputs ? &rows : &columns;
    const line_axis *across = along == &rows ? &columns : &rows;
    tigris_line_loop w;
    if (params->kernel_height != 3 || params->kernel_width != 3 || params->dilation_height != 1 ||
        params->dilation_width != 1 || d->channel_multiplier != 1 || !init_lines(along, across, &w)) {
        return 0;
    }
    fill_loop(d, along, across, &w);
#if !TIGRIS_HAS_ROW_LOOP
    for (int32_t channel = 0; channel < d->output_channels; channel++) {
        if (!tigris_has_line_loop(&w, channel)) {
            return 0;
        }
    }
#endif
    tigris_run_all_lines(&w, d->input + (across->first + 1) * across->step, output);
    return 1;
}

TIGRIS_HOT
static void run(const tigris_kernel_call *call)
{
    const tigris_band *in = tigris_input_band(call, 0), *out = tigris_output_band(call);
    int8_t *output = tigris_int8_output(call);
    depthwise d;
    unpack(&d, call);
    if (!run_channels(&d, in, out, output)) {
        run_pixels(&d, call, output);
    }
}

static tigris_status check(const tigris_check_call *call)
{
    return tigris_check_result(((const tigris_conv_int8_params *)call->params)->groups == 1U &&
                               tigris_check_conv_int8(call, 1U) &&
                               call->output->channels % call->inputs[0]->channels == 0U);
}

TIGRIS_SET_ENTRY(tigris_depthwise_conv_2d_int8, DEPTHWISE_CONV_2D, INT8, tigris_conv_int8_params, run, check);
