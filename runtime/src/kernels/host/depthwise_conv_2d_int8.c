/* DEPTHWISE_CONV_2D, int8, eight channels at a time, if each output channel reads its own input channel. If all read
 * the only input channel, the call is computed as a convolution.
 *
 * Taps are added in pairs. Weights are reordered for that once a call, for as many channels as fit; then all pixels
 * are computed from them. If the number of channels is no multiple of eight, the last group overlaps the one before
 * it. */
#include "conv_2d_int8.h"
#include "lanes.h"
#include "scale.h"
#include "tigris_kernels.h"

#if TIGRIS_HOST_AVX2 || TIGRIS_HOST_NEON

#include "../access.h"
#include "../window.h"

#define BLOCK 4 /* channels of a block of packed weights */
#define TILE TIGRIS_HOST_TILE
#define LANES TIGRIS_HOST_LANES
#define PAIR (2 * LANES)    /* weights of a pair of taps */
#define MOST_TAPS 512
#define MOST_GROUPS 32      /* groups of eight channels whose weights are reordered at once */
#define MOST_REPACKED 8192  /* weights that are reordered for a convolution */

/* One call, and the groups of channels that are computed. */
typedef struct depthwise {
    tigris_host_channels constants[MOST_GROUPS];
    tigris_host_tap weights[MOST_TAPS / 2 * PAIR]; /* [group][pair of taps][channel][tap] */
    int32_t offsets[MOST_TAPS + 1];    /* bytes from tap 0 to each tap; an odd last tap is there twice */
    const int8_t *taps[MOST_TAPS + 1]; /* addresses of the taps of a pixel at the border, in the first group's channels */
    int32_t starts[MOST_GROUPS];       /* channels from the first group to each */
    int8_t padding[(MOST_GROUPS + 1) * LANES];
    const tigris_conv_int8_params *params;
    tigris_output_stage stage;
    int32_t outputs;
    int32_t count; /* of taps */
    int32_t pairs;
    int32_t first;
    int32_t groups;
} depthwise;

/* Tap 0 of a channel's weights. Stores the stride of its taps in `stride`. */
static const int8_t *channel_weights(const int8_t *weights, int32_t channel, int32_t outputs, int32_t taps,
                                     int32_t *stride)
{
    const int32_t place = channel & (BLOCK - 1), left = outputs - (channel - place);
    *stride = left < BLOCK ? left : BLOCK;
    return weights + ((channel - place) * taps + place);
}

/* ---- each output channel reads its own input channel ---- */

static TIGRIS_HOST_CODE void load_group(depthwise *d, const tigris_kernel_call *call, int32_t group)
{
    const int32_t last = d->outputs - LANES, next = d->first + group * LANES, first = next < last ? next : last;
    tigris_host_tap *to = d->weights + group * d->pairs * PAIR;
    d->starts[group] = first - d->first;
    d->constants[group] = tigris_host_channels_at(
        tigris_int32_data(call, d->params->bias) + first, tigris_int32_data(call, d->params->multiplier) + first,
        tigris_int8_data(call, d->params->shift) + first, 1, LANES);
    memset(to, 0, (size_t)(d->pairs * PAIR) * sizeof *to);
    for (int32_t lane = 0; lane < LANES; lane++) {
        int32_t stride;
        const int8_t *from =
            channel_weights(tigris_int8_data(call, d->params->weights), first + lane, d->outputs, d->count, &stride);
        for (int32_t tap = 0; tap < d->count; tap++) {
            to[tap / 2 * PAIR + 2 * lane + tap % 2] = from[tap * stride];
        }
    }
}

static void set_offsets(depthwise *d, int32_t width)
{
    const tigris_conv_int8_params *params = d->params;
    const uint32_t step = params->dilation_width * (uint32_t)d->outputs; /* steps that wrap are not used */
    const uint32_t row_step = params->dilation_height * (uint32_t)width * (uint32_t)d->outputs;
    int32_t *to = d->offsets;
    uint32_t offset = 0U;
    for (uint32_t row = 0U; row < params->kernel_height; row++) {
        for (uint32_t column = 0U; column < params->kernel_width; column++) {
            offset = row * row_step + column * step;
            *to++ = (int32_t)offset;
        }
    }
    *to = (int32_t)offset;
}

/* Finds the taps of a pixel whose first tap is at `row` and `column`; some may be padding. */
static void find_taps(depthwise *d, const tigris_band *in, int32_t row, int32_t column, tigris_taps rows,
                      tigris_taps columns)
{
    const tigris_conv_int8_params *params = d->params;
    const int8_t *input = (const int8_t *)(const void *)in->data + d->first, *padding = d->padding + LANES;
    const int8_t **to = d->taps, *tap = padding;
    for (int32_t i = 0; i < params->kernel_height; i++) {
        const int is_inside = i >= rows.first && i < rows.end;
        const int32_t from = is_inside ? (row + i * params->dilation_height) * (int32_t)in->tensor->width + column : 0;
        for (int32_t j = 0; j < params->kernel_width; j++) {
            tap = is_inside && j >= columns.first && j < columns.end
                      ? input + (from + j * params->dilation_width) * d->outputs
                      : padding;
            *to++ = tap;
        }
    }
    *to = tap;
}

/* The sums of a group for a pixel. `from`: its first tap in the first group's channels; NULL: use `d->taps`. */
TIGRIS_HOST_INLINE tigris_host_words add_taps(const depthwise *d, int32_t group, const int8_t *from, int32_t pairs)
{
    const tigris_host_tap *weights = d->weights + group * pairs * PAIR;
    const int32_t start = d->starts[group];
    tigris_host_words sum = d->constants[group].bias;
    for (int32_t tap = 0; tap < 2 * pairs; tap += 2) {
        const int8_t *a = from != NULL ? from + d->offsets[tap] : d->taps[tap];
        const int8_t *b = from != NULL ? from + d->offsets[tap + 1] : d->taps[tap + 1];
        sum = tigris_host_add_pair(sum, a + start, b + start, weights);
        weights += PAIR;
    }
    return sum;
}

/* All groups of a pixel. `pairs` is a constant in the call for 3x3 kernels. */
TIGRIS_HOST_INLINE void run_pixel(const depthwise *d, const tigris_host_stage *end, const int8_t *from, int32_t pairs,
                                  int8_t *output)
{
    for (int32_t group = 0; group < d->groups; group++) {
        const tigris_host_words sum =
            from != NULL ? add_taps(d, group, from, pairs) : add_taps(d, group, NULL, pairs);
        tigris_host_output(sum, &d->constants[group].scale, end, LANES, output + d->starts[group]);
    }
}

static TIGRIS_HOST_CODE void run_row(depthwise *d, const tigris_kernel_call *call, int32_t y, int8_t *output)
{
    const tigris_conv_int8_params *params = d->params;
    const tigris_band *in = &call->inputs[0];
    const int32_t row = y * params->stride_height - in->pad_top, width = (int32_t)in->tensor->width;
    const tigris_taps rows = tigris_valid_taps(row, params->kernel_height, params->dilation_height, in->rows);
    const int8_t *input = (const int8_t *)(const void *)in->data + d->first;
    const tigris_host_stage end = tigris_host_stage_of(&d->stage);
    for (int32_t x = 0; x < (int32_t)call->output->tensor->width; x++) {
        const int32_t column = x * params->stride_width - params->pad_left;
        const tigris_taps columns = tigris_valid_taps(column, params->kernel_width, params->dilation_width, width);
        const int8_t *from = NULL;
        if (rows.end - rows.first == params->kernel_height && columns.end - columns.first == params->kernel_width) {
            from = input + (row * width + column) * d->outputs;
        } else {
            find_taps(d, in, row, column, rows, columns);
        }
        if (d->pairs == 5) { /* 3x3 */
            run_pixel(d, &end, from, 5, output);
        } else {
            run_pixel(d, &end, from, d->pairs, output);
        }
        output += d->outputs;
    }
}

static void run_groups(depthwise *d, const tigris_kernel_call *call)
{
    int8_t *output = tigris_int8_output(call) + d->first;
    for (int32_t y = 0; y < call->output->rows; y++) {
        run_row(d, call, y, output);
        output += (int32_t)call->output->tensor->width * d->outputs;
    }
}

static TIGRIS_HOST_CODE void run_own(const tigris_kernel_call *call)
{
    const tigris_conv_int8_params *params = call->params;
    const int32_t taps = params->kernel_height * params->kernel_width, pairs = (taps + 1) / 2;
    const int32_t room = MOST_TAPS / 2 / (pairs > 0 ? pairs : 1), most = room < MOST_GROUPS ? room : MOST_GROUPS;
    depthwise d;
    d.params = params;
    d.stage = (tigris_output_stage){params->output_zero_point, params->activation_min, params->activation_max};
    d.outputs = (int32_t)call->output->tensor->channels;
    d.count = taps;
    d.pairs = pairs;
    memset(d.padding, params->input_zero_point, sizeof d.padding);
    set_offsets(&d, (int32_t)call->inputs[0].tensor->width);
    for (d.first = 0; d.first < d.outputs; d.first += most * LANES) {
        const int32_t left = (d.outputs - d.first + LANES - 1) / LANES;
        d.groups = left < most ? left : most;
        for (int32_t group = 0; group < d.groups; group++) {
            load_group(&d, call, group);
        }
        run_groups(&d, call);
    }
}

/* ---- all read the only channel ---- */

/* The index of a tap's weight in the packing of a convolution (tigris_pio/compiler/weights/packing.py). */
static int32_t place_of(int32_t tap, int32_t place, int32_t channels, int32_t taps)
{
    const int32_t tiled = taps & ~(TILE - 1), in_tile = tap & (TILE - 1);
    if (tap >= tiled) {
        return tap * channels + place;
    }
    return (tap - in_tile) * channels + place * TILE + (in_tile == 1 ? 2 : in_tile == 2 ? 1 : in_tile);
}

/* 0: it does not take the call, and has written nothing. */
static int run_shared(const tigris_kernel_call *call)
{
    const tigris_conv_int8_params *params = call->params;
    const int32_t outputs = (int32_t)call->output->tensor->channels;
    const int32_t taps = params->kernel_height * params->kernel_width, blocked = outputs & ~(BLOCK - 1);
    int8_t weights[MOST_REPACKED];
    if (taps > MOST_REPACKED / outputs) {
        return 0;
    }
    for (int32_t channel = 0; channel < outputs; channel++) {
        const int32_t channels = channel < blocked ? BLOCK : 1, place = channel & (channels - 1);
        int8_t *to = weights + (channel - place) * taps;
        int32_t stride;
        const int8_t *from = channel_weights(tigris_int8_data(call, params->weights), channel, outputs, taps, &stride);
        for (int32_t tap = 0; tap < taps; tap++) {
            to[place_of(tap, place, channels, taps)] = from[tap * stride];
        }
    }
    return tigris_host_run_conv(call, weights);
}

static void run(const tigris_kernel_call *call)
{
    const tigris_conv_int8_params *params = call->params;
    const uint32_t inputs = call->inputs[0].tensor->channels, outputs = call->output->tensor->channels;
    if (inputs == outputs && outputs >= LANES && params->kernel_height * params->kernel_width <= MOST_TAPS) {
        run_own(call);
    } else if (inputs != 1U || !run_shared(call)) {
        tigris_depthwise_conv_2d_int8.run(call);
    }
}

static tigris_status check(const tigris_check_call *call)
{
    return tigris_depthwise_conv_2d_int8.check(call);
}

const tigris_kernel_entry tigris_host_depthwise_conv_2d_int8 = {
    TIGRIS_OP_KIND_DEPTHWISE_CONV_2D, TIGRIS_DTYPE_INT8, TIGRIS_PACKING_PORTABLE, sizeof(tigris_conv_int8_params), run,
    check};

#endif
