/* Depthwise Conv2D, int8, with channel multiplier: out channel c reads in channel c / multiplier.
 *
 * Weights are packed by blocks of four channels, [row][column][channel] in each (the last block may be smaller;
 * tigris_pio/compiler/emit/packing.py). Undilated 3x3 kernels of stride 1 and 2 walk along the rows, a channel at a time with
 * its weights in registers: each input byte is loaded once a row and goes to all outputs that it belongs to.
 * Any other kernel is computed pixel by pixel, a block of channels at a time. */
#include "access.h"
#include "block_int8.h"
#include "check.h"
#include "scale_int8.h"
#include "tigris_kernels.h"
#include "window.h"

#define BLOCK TIGRIS_CHANNEL_BLOCK

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
} depthwise;

typedef struct depthwise_pixel {
    int32_t row;
    int32_t column;
    tigris_taps rows;
    tigris_taps columns;
} depthwise_pixel;

static void unpack(depthwise *d, const tigris_kernel_call *call)
{
    const tigris_conv_int8_params *params = call->params;
    d->params = params;
    d->input = (const int8_t *)(const void *)call->inputs[0].data;
    d->weights = tigris_int8_data(call, params->weights);
    d->bias = tigris_int32_data(call, params->bias);
    d->multiplier = tigris_int32_data(call, params->multiplier);
    d->shift = tigris_int8_data(call, params->shift);
    d->output = (tigris_output_stage){params->output_zero_point, params->activation_min, params->activation_max};
    d->input_width = (int32_t)call->inputs[0].tensor->width;
    d->input_channels = (int32_t)call->inputs[0].tensor->channels;
    d->output_channels = (int32_t)call->output->tensor->channels;
    d->channel_multiplier = d->output_channels / d->input_channels;
}

/* Channels of the block that `channel` lies in. */
static int32_t block_lanes(const depthwise *d, int32_t channel)
{
    const int32_t left = d->output_channels - channel / BLOCK * BLOCK;
    return left < BLOCK ? left : BLOCK;
}

/* Tap 0 of a channel; its taps are block_lanes apart. */
static const int8_t *channel_weights(const depthwise *d, int32_t channel)
{
    const int32_t lane = channel % BLOCK;
    return d->weights + (channel - lane) * d->params->kernel_height * d->params->kernel_width + lane;
}

/* ---- pixel by pixel ---- */

/* Adds one kernel tap to the sums of `lanes` channels, whose inputs are at `input`, or padding. */
static void add_tap(const depthwise *d, const int8_t *input, int32_t channel, const int8_t *weights, int32_t lanes,
                    uint32_t sum[BLOCK])
{
    for (int32_t k = 0; k < lanes; k++) {
        const int8_t value =
            input != NULL ? input[(channel + k) / d->channel_multiplier] : (int8_t)d->params->input_zero_point;
        sum[k] += tigris_product(value, weights[k]);
    }
}

/* All taps of a whole block of a pixel that lies inside, one input channel an output channel. */
static void add_inside(const depthwise *d, const depthwise_pixel *pixel, int32_t channel, const int8_t *w,
                       uint32_t sum[BLOCK])
{
    const tigris_conv_int8_params *params = d->params;
    const int32_t step = params->dilation_width * d->input_channels;
    const int32_t row_step = params->dilation_height * d->input_width * d->input_channels;
    const int8_t *row = d->input + (pixel->row * d->input_width + pixel->column) * d->input_channels + channel;
    uint32_t s0 = 0U, s1 = 0U, s2 = 0U, s3 = 0U;
    for (int32_t i = 0; i < params->kernel_height; i++) {
        const int8_t *a = row;
        for (int32_t j = 0; j < params->kernel_width; j++) {
            s0 += tigris_product(a[0], w[0]);
            s1 += tigris_product(a[1], w[1]);
            s2 += tigris_product(a[2], w[2]);
            s3 += tigris_product(a[3], w[3]);
            a += step;
            w += BLOCK;
        }
        row += row_step;
    }
    sum[0] = s0, sum[1] = s1, sum[2] = s2, sum[3] = s3;
}

static int is_inside(const depthwise *d, const depthwise_pixel *pixel)
{
    return pixel->rows.end - pixel->rows.first == d->params->kernel_height &&
           pixel->columns.end - pixel->columns.first == d->params->kernel_width;
}

/* Any taps of `lanes` channels, padding included. */
static void add_taps(const depthwise *d, const depthwise_pixel *pixel, int32_t channel, int32_t lanes,
                     const int8_t *weights, uint32_t sum[BLOCK])
{
    const tigris_conv_int8_params *params = d->params;
    const int32_t apart = block_lanes(d, channel);
    for (int32_t i = 0; i < params->kernel_height; i++) {
        const int row_valid = i >= pixel->rows.first && i < pixel->rows.end;
        const int32_t row = pixel->row + i * params->dilation_height;
        for (int32_t j = 0; j < params->kernel_width; j++) {
            const int valid = row_valid && j >= pixel->columns.first && j < pixel->columns.end;
            const int32_t column = pixel->column + j * params->dilation_width;
            add_tap(d, valid ? d->input + (row * d->input_width + column) * d->input_channels : NULL, channel, weights,
                    lanes, sum);
            weights += apart;
        }
    }
}

/* `lanes` channels from `channel` on, all of one block, of one pixel. */
static void pixel_block(const depthwise *d, const depthwise_pixel *pixel, int32_t channel, int32_t lanes,
                        int8_t *output)
{
    const int8_t *weights = channel_weights(d, channel);
    uint32_t sum[BLOCK] = {0U, 0U, 0U, 0U};
    if (d->channel_multiplier == 1 && lanes == BLOCK && is_inside(d, pixel)) {
        add_inside(d, pixel, channel, weights, sum);
    } else {
        add_taps(d, pixel, channel, lanes, weights, sum);
    }
    for (int32_t k = 0; k < lanes; k++, channel++) {
        output[channel] = tigris_scale_to_int8(sum[k] + (uint32_t)d->bias[channel], d->multiplier[channel],
                                               d->shift[channel], d->output);
    }
}

/* Channels [first, end) of all output rows; whole blocks, or a single channel. */
static TIGRIS_NOINLINE void pixel_rows(const depthwise *d, const tigris_band *in, const tigris_band *out,
                                       int32_t first, int32_t end, int8_t *output)
{
    const tigris_conv_int8_params *params = d->params;
    const int32_t width = (int32_t)out->tensor->width;
    for (int32_t y = 0; y < out->rows; y++) {
        depthwise_pixel pixel;
        pixel.row = y * params->stride_height - in->pad_top;
        pixel.rows = tigris_valid_taps(pixel.row, params->kernel_height, params->dilation_height, in->rows);
        for (int32_t x = 0; x < width; x++) {
            pixel.column = x * params->stride_width - params->pad_left;
            pixel.columns =
                tigris_valid_taps(pixel.column, params->kernel_width, params->dilation_width, d->input_width);
            for (int32_t channel = first; channel < end; channel += BLOCK) {
                const int32_t lanes = end - channel < BLOCK ? end - channel : BLOCK;
                pixel_block(d, &pixel, channel, lanes, output);
            }
            output += d->output_channels;
        }
    }
}

/* ---- along rows ---- */

/* One channel of all output rows. */
typedef struct walk {
    const int8_t *input;  /* row 0 of the band, at this channel */
    int32_t weights[9];
    int32_t padded[3];    /* what a column of padding adds: kernel column sums times the padding's value */
    uint32_t bias;
    int32_t multiplier;
    int32_t shift;
    tigris_output_stage output;
    int32_t channels;     /* bytes from one column to the next, input and output alike */
    int32_t columns[3];   /* that an output row reads: padding on the left, inside, padding on the right */
    int32_t row;          /* band row of the first output row's first tap */
    int32_t stride;
    int32_t rows;         /* output rows */
    int32_t band_rows;
    int32_t row_bytes;
    int32_t output_bytes; /* of a row */
    int8_t padding;
} walk;

/* Where a kernel row reads: an input row, or the padding value again and again. */
typedef struct walk_row {
    const int8_t *from;
    int32_t step;
} walk_row;

static inline walk_row begin_row(const walk *w, int32_t row)
{
    const int valid = (uint32_t)row < (uint32_t)w->band_rows;
    const walk_row result = {valid ? w->input + row * w->row_bytes : &w->padding, valid ? w->channels : 0};
    return result;
}

/* Stride 1: a column ends one output, and belongs to the next two. */
static TIGRIS_NOINLINE void walk_stride_1(const walk *w, int8_t *output)
{
    const int32_t w0 = w->weights[0], w1 = w->weights[1], w2 = w->weights[2];
    const int32_t w3 = w->weights[3], w4 = w->weights[4], w5 = w->weights[5];
    const int32_t w6 = w->weights[6], w7 = w->weights[7], w8 = w->weights[8];
    const int32_t channels = w->channels, multiplier = w->multiplier, shift = w->shift;
    const tigris_output_stage stage = w->output;
    const uint32_t bias = w->bias;
    for (int32_t y = 0; y < w->rows; y++) {
        const int32_t row = w->row + y * w->stride;
        walk_row r0 = begin_row(w, row), r1 = begin_row(w, row + 1), r2 = begin_row(w, row + 2);
        int8_t *to = output;
        uint32_t now, next = 0U, after = 0U;
        int32_t unfinished = 2;
        for (int32_t left = w->columns[0]; left > 0; left--) {
            now = next + (uint32_t)w->padded[2];
            next = after + (uint32_t)w->padded[1];
            after = bias + (uint32_t)w->padded[0];
            if (--unfinished < 0) {
                *to = (int8_t)tigris_scale_right(now, multiplier, shift, stage);
                to += channels;
            }
        }
        for (int32_t left = w->columns[1]; left > 0; left--) {
            int32_t value = *r0.from;
            now = next + (uint32_t)(value * w2);
            next = after + (uint32_t)(value * w1);
            after = bias + (uint32_t)(value * w0);
            value = *r1.from;
            now += (uint32_t)(value * w5);
            next += (uint32_t)(value * w4);
            after += (uint32_t)(value * w3);
            value = *r2.from;
            now += (uint32_t)(value * w8);
            next += (uint32_t)(value * w7);
            after += (uint32_t)(value * w6);
            r0.from += r0.step;
            r1.from += r1.step;
            r2.from += r2.step;
            if (--unfinished < 0) {
                *to = (int8_t)tigris_scale_right(now, multiplier, shift, stage);
                to += channels;
            }
        }
        for (int32_t left = w->columns[2]; left > 0; left--) {
            now = next + (uint32_t)w->padded[2];
            next = after + (uint32_t)w->padded[1];
            after = bias + (uint32_t)w->padded[0];
            if (--unfinished < 0) {
                *to = (int8_t)tigris_scale_right(now, multiplier, shift, stage);
                to += channels;
            }
        }
        output += w->output_bytes;
    }
}

/* Stride 2: every other column ends one output and begins the next, the ones between are the middle of one. */
static TIGRIS_NOINLINE void walk_stride_2(const walk *w, int8_t *output)
{
    const int32_t w0 = w->weights[0], w1 = w->weights[1], w2 = w->weights[2];
    const int32_t w3 = w->weights[3], w4 = w->weights[4], w5 = w->weights[5];
    const int32_t w6 = w->weights[6], w7 = w->weights[7], w8 = w->weights[8];
    const int32_t channels = w->channels, multiplier = w->multiplier, shift = w->shift;
    const tigris_output_stage stage = w->output;
    const uint32_t bias = w->bias;
    const walk_row padding = {&w->padding, 0};
    for (int32_t y = 0; y < w->rows; y++) {
        const int32_t row = w->row + y * w->stride;
        int8_t *to = output;
        uint32_t next = 0U;
        int32_t column = 0;
        for (int32_t part = 0; part < 3; part++) {
            const walk_row r0 = part == 1 ? begin_row(w, row) : padding;
            const walk_row r1 = part == 1 ? begin_row(w, row + 1) : padding;
            const walk_row r2 = part == 1 ? begin_row(w, row + 2) : padding;
            const int8_t *p0 = r0.from, *p1 = r1.from, *p2 = r2.from;
            for (const int32_t end = column + w->columns[part]; column < end; column++) {
                const int32_t v0 = *p0, v1 = *p1, v2 = *p2;
                p0 += r0.step;
                p1 += r1.step;
                p2 += r2.step;
                if ((column & 1) != 0) {
                    next += (uint32_t)(v0 * w1);
                    next += (uint32_t)(v1 * w4);
                    next += (uint32_t)(v2 * w7);
                    continue;
                }
                if (column != 0) {
                    next += (uint32_t)(v0 * w2);
                    next += (uint32_t)(v1 * w5);
                    next += (uint32_t)(v2 * w8);
                    *to = (int8_t)tigris_scale_right(next, multiplier, shift, stage);
                    to += channels;
                }
                next = bias + (uint32_t)(v0 * w0);
                next += (uint32_t)(v1 * w3);
                next += (uint32_t)(v2 * w6);
            }
        }
        output += w->output_bytes;
    }
}

static void load_channel(const depthwise *d, int32_t channel, walk *w)
{
    const int32_t lanes = block_lanes(d, channel);
    const int8_t *weights = channel_weights(d, channel);
    for (int32_t i = 0; i < 9; i++) {
        w->weights[i] = *weights;
        weights += lanes;
    }
    for (int32_t j = 0; j < 3; j++) {
        w->padded[j] = w->padding * (w->weights[j] + w->weights[3 + j] + w->weights[6 + j]);
    }
    w->input = d->input + channel;
    w->bias = (uint32_t)d->bias[channel];
    w->multiplier = d->multiplier[channel];
    w->shift = d->shift[channel];
}

/* Channels whose scale is not a right shift of two bits or more are computed pixel by pixel. */
static TIGRIS_NOINLINE void walk_channels(const depthwise *d, walk *w, const tigris_band *in, const tigris_band *out,
                                          int8_t *output)
{
    for (int32_t channel = 0; channel < d->output_channels; channel++) {
        load_channel(d, channel, w);
        if (!tigris_scales_right(w->shift)) {
            pixel_rows(d, in, out, channel, channel + 1, output);
        } else if (d->params->stride_width == 1) {
            walk_stride_1(w, output + channel);
        } else {
            walk_stride_2(w, output + channel);
        }
    }
}

static int can_walk(const depthwise *d)
{
    const tigris_conv_int8_params *params = d->params;
    return params->kernel_height == 3 && params->kernel_width == 3 && params->dilation_height == 1 &&
           params->dilation_width == 1 && params->stride_width <= 2 && d->channel_multiplier == 1;
}

/* The columns that `width` outputs read: padding, inside, padding. */
static void split_columns(const depthwise *d, int32_t width, walk *w)
{
    const int32_t total = (width - 1) * d->params->stride_width + 3;
    const int32_t left = d->params->pad_left < total ? d->params->pad_left : total;
    const int32_t inside = total - left < d->input_width ? total - left : d->input_width;
    w->columns[0] = left;
    w->columns[1] = inside;
    w->columns[2] = total - left - inside;
}

static void walk_all(const depthwise *d, const tigris_band *in, const tigris_band *out, int8_t *output)
{
    walk w;
    w.output = d->output;
    w.channels = d->input_channels;
    w.padding = (int8_t)d->params->input_zero_point;
    split_columns(d, (int32_t)out->tensor->width, &w);
    w.row = -in->pad_top;
    w.stride = d->params->stride_height;
    w.rows = out->rows;
    w.band_rows = in->rows;
    w.row_bytes = d->input_width * d->input_channels;
    w.output_bytes = (int32_t)out->tensor->width * d->output_channels;
    walk_channels(d, &w, in, out, output);
}

static void run(const tigris_kernel_call *call)
{
    depthwise d;
    unpack(&d, call);
    if (can_walk(&d)) {
        walk_all(&d, &call->inputs[0], call->output, tigris_int8_output(call));
    } else {
        pixel_rows(&d, &call->inputs[0], call->output, 0, d.output_channels, tigris_int8_output(call));
    }
}

static tigris_status check(const tigris_check_call *call)
{
    const tigris_conv_int8_params *params = call->params;
    if (!tigris_check_types(call, 1U, TIGRIS_DTYPE_INT8, TIGRIS_DTYPE_INT8)) {
        return TIGRIS_ERR_PARAMS;
    }
    const uint32_t outputs = call->output->channels;
    const tigris_window_axis rows = {params->kernel_height, params->stride_height, params->dilation_height};
    const tigris_window_axis columns = {params->kernel_width, params->stride_width, params->dilation_width};
    const uint64_t taps = (uint64_t)params->kernel_height * params->kernel_width;
    return tigris_check_result(
        tigris_check_per_image(call) && params->groups == 1U && outputs % call->inputs[0]->channels == 0U &&
        tigris_check_window(call, rows, columns) && tigris_check_int8(params->input_zero_point) &&
        tigris_check_int8(params->output_zero_point) &&
        tigris_check_range(params->activation_min, params->activation_max) &&
        tigris_check_data(call, params->weights, taps * outputs, 1U) &&
        tigris_check_data(call, params->bias, outputs, sizeof(int32_t)) &&
        tigris_check_requantise(call, params->multiplier, params->shift, outputs));
}

const tigris_kernel_entry tigris_depthwise_conv_2d_int8 = {TIGRIS_OP_KIND_DEPTHWISE_CONV_2D, TIGRIS_DTYPE_INT8,
                                                           sizeof(tigris_conv_int8_params), run, check};
