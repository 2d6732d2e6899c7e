/* Conv2D, int8, groups allowed.
 *
 * Two neighbouring pixels are computed together, a block of four output channels at a time (block_int8.h). Where
 * the input is read from depends on the kernel's shape:
 *
 * - in place, when a tap is a multiple of four channels or the only one: rows of the kernel are runs of contiguous
 *   bytes (of one group, or of one tap when dilated). At the borders runs are shortened and the padded taps
 *   count as input_zero_point;
 * - else through a patch, a copy of the pixel's taps on the stack with the padding filled in, for taps too
 *   narrow to be worth a loop.
 *
 * A 1x1 convolution with stride 1 is one long row of pixels. */
#include "access.h"
#include "block_int8.h"
#include "check.h"
#include "scale_int8.h"
#include "tigris_kernels.h"
#include "window.h"

#define BLOCK TIGRIS_CHANNEL_BLOCK
/* Bytes of a patch, a multiple of a tile's taps. Kernels with more taps take several patches a block. */
#define PATCH_BYTES 64

/* One call, unpacked. */
typedef struct conv {
    const tigris_conv_int8_params *params;
    const int8_t *input;
    const int8_t *weights;
    const int32_t *bias;
    const int32_t *multiplier;
    const int8_t *shift;
    tigris_output_stage output;
    int32_t input_width;
    int32_t input_channels;
    int32_t group_inputs;  /* input channels of one group */
    int32_t group_outputs; /* output channels of one group */
    int32_t channels;      /* output channels */
    int32_t kernel_size;   /* weights of one output channel */
    int32_t row_taps;      /* weights of one kernel row of one output channel */
    int contiguous;        /* a kernel row is one run */
    int in_place;          /* no patch */
} conv;

/* Where one output pixel reads: row and column of its first tap in the band, and the valid taps. */
typedef struct conv_pixel {
    int32_t row;
    int32_t column;
    tigris_taps rows;
    tigris_taps columns;
} conv_pixel;

static void unpack(conv *c, const tigris_kernel_call *call)
{
    const tigris_conv_int8_params *params = call->params;
    const tigris_tensor_record *input = call->inputs[0].tensor;
    c->params = params;
    c->input = (const int8_t *)(const void *)call->inputs[0].data;
    c->weights = tigris_int8_data(call, params->weights);
    c->bias = tigris_int32_data(call, params->bias);
    c->multiplier = tigris_int32_data(call, params->multiplier);
    c->shift = tigris_int8_data(call, params->shift);
    c->output = (tigris_output_stage){params->output_zero_point, params->activation_min, params->activation_max};
    c->input_width = (int32_t)input->width;
    c->input_channels = (int32_t)input->channels;
    c->channels = (int32_t)call->output->tensor->channels;
    c->group_inputs = c->input_channels / params->groups;
    c->group_outputs = c->channels / params->groups;
    c->row_taps = params->kernel_width * c->group_inputs;
    c->kernel_size = params->kernel_height * c->row_taps;
    c->contiguous = params->groups == 1 && params->dilation_width == 1;
    c->in_place = c->group_inputs % TIGRIS_TILE_TAPS == 0 || c->kernel_size == c->group_inputs;
}

/* `count` channels from `channel` on of one pixel. */
static TIGRIS_NOINLINE void finish_single(const conv *c, const uint32_t *sum, int32_t channel, int32_t count,
                                          int8_t *output)
{
    const tigris_output_stage stage = c->output;
    const int32_t *multiplier = c->multiplier + channel;
    const int8_t *shift = c->shift + channel;
    output += channel;
    for (const uint32_t *const end = sum + count; sum != end; sum++) {
        *output++ = tigris_scale_to_int8(*sum, *multiplier++, *shift++, stage);
    }
}

/* A block of two pixels; sum[BLOCK * pixel + channel]. */
TIGRIS_INLINE void finish_pair(const conv *c, const uint32_t *sum, int32_t channel, int8_t *output)
{
    const tigris_output_stage stage = c->output;
    const int32_t *multiplier = c->multiplier + channel;
    const int8_t *shift = c->shift + channel;
    int8_t *first = output + channel;
    int8_t *second = first + c->channels;
    for (const uint32_t *const end = sum + BLOCK; sum != end; sum++) {
        *first++ = tigris_scale_to_int8(sum[0], *multiplier, *shift, stage);
        *second++ = tigris_scale_to_int8(sum[BLOCK], *multiplier++, *shift++, stage);
    }
}

TIGRIS_INLINE void load_bias(const conv *c, int32_t channel, uint32_t sum[2 * BLOCK])
{
    const int32_t *bias = c->bias + channel;
    sum[0] = sum[BLOCK] = (uint32_t)bias[0];
    sum[1] = sum[BLOCK + 1] = (uint32_t)bias[1];
    sum[2] = sum[BLOCK + 2] = (uint32_t)bias[2];
    sum[3] = sum[BLOCK + 3] = (uint32_t)bias[3];
}

/* ---- taps that are one run: 1x1 kernels and patches ---- */

/* The whole blocks from `channel` up to `end` for the pixels whose taps are at a and b. */
static TIGRIS_NOINLINE void run_pair(const conv *c, const int8_t *a, const int8_t *b, int32_t channel, int32_t end,
                                     int8_t *output)
{
    const int32_t size = c->kernel_size;
    const int8_t *weights = c->weights + channel * size;
    for (; channel < end; channel += BLOCK) {
        uint32_t sum[2 * BLOCK];
        load_bias(c, channel, sum);
        tigris_add_pair(a, b, weights, size, sum);
        finish_pair(c, sum, channel, output);
        weights += size * BLOCK;
    }
}

/* The same for one pixel. */
static TIGRIS_NOINLINE void run_single(const conv *c, const int8_t *a, int32_t channel, int32_t end, int8_t *output)
{
    for (; channel < end; channel += BLOCK) {
        uint32_t sum[2 * BLOCK];
        load_bias(c, channel, sum);
        tigris_add_single(a, c->weights + channel * c->kernel_size, c->kernel_size, sum);
        finish_single(c, sum, channel, BLOCK, output);
    }
}

/* First byte that kernel row `tap` of a group reads for tap column 0; outside the band when that is padding. */
static const int8_t *tap_row(const conv *c, const conv_pixel *pixel, int32_t tap, int32_t group)
{
    const int32_t row = pixel->row + tap * c->params->dilation_height;
    return c->input + (row * c->input_width + pixel->column) * c->input_channels + group * c->group_inputs;
}

/* ---- in place ---- */

/* Adds `taps` padded taps of a block. */
static TIGRIS_NOINLINE void add_padding(const conv *c, const int8_t *weights, int32_t taps, uint32_t sum[BLOCK])
{
    if (c->params->input_zero_point != 0) {
        tigris_add_constant(c->params->input_zero_point, weights, taps, sum);
    }
}

/* The bias of a block and its padded kernel rows above and below the input, the same for both pixels. */
static TIGRIS_NOINLINE void begin_padded(const conv *c, const conv_pixel *pixel, int32_t channel,
                                         uint32_t sum[2 * BLOCK])
{
    const int8_t *weights = c->weights + channel * c->kernel_size;
    load_bias(c, channel, sum);
    add_padding(c, weights, pixel->rows.first * c->row_taps, sum);
    add_padding(c, weights + pixel->rows.end * c->row_taps * BLOCK,
                (c->params->kernel_height - pixel->rows.end) * c->row_taps, sum);
    memcpy(sum + BLOCK, sum, BLOCK * sizeof *sum);
}

/* The whole blocks from `channel` up to `end` for two pixels whose columns are all inside. */
static TIGRIS_NOINLINE void blocks_pair(const conv *c, const conv_pixel *pixel, int32_t group, int32_t channel,
                                        int32_t end, int8_t *output)
{
    const tigris_conv_int8_params *params = c->params;
    const int32_t rows = pixel->rows.end - pixel->rows.first;
    const int32_t apart = params->stride_width * c->input_channels;
    const int32_t row_step = params->dilation_height * c->input_width * c->input_channels;
    const int32_t run_step = params->dilation_width * c->input_channels;
    const int32_t runs = c->contiguous ? 1 : params->kernel_width;
    const int32_t length = c->contiguous ? c->row_taps : c->group_inputs;
    const int8_t *const first = tap_row(c, pixel, pixel->rows.first, group);
    for (; channel < end; channel += BLOCK) {
        const int8_t *weights = c->weights + (channel * c->kernel_size + pixel->rows.first * c->row_taps * BLOCK);
        const int8_t *input = first;
        uint32_t sum[2 * BLOCK];
        uint32_t local[2 * BLOCK];
        if (rows == params->kernel_height) {
            load_bias(c, channel, local);
        } else {
            begin_padded(c, pixel, channel, sum);
            memcpy(local, sum, sizeof sum);
        }
        for (int32_t tap = 0; tap < rows; tap++) {
            const int8_t *from = input;
            for (int32_t run = 0; run < runs; run++) {
                tigris_add_tiles_pair(from, from + apart, weights, length, local);
                weights += length * BLOCK;
                from += run_step;
            }
            input += row_step;
        }
        memcpy(sum, local, sizeof sum);
        finish_pair(c, sum, channel, output);
    }
}

/* A block for one pixel anywhere. */
static TIGRIS_NOINLINE void block_single(const conv *c, const conv_pixel *pixel, int32_t group, int32_t channel,
                                         uint32_t sum[BLOCK])
{
    const tigris_conv_int8_params *params = c->params;
    const int32_t step = params->dilation_width * c->input_channels;
    const int32_t depth = c->group_inputs;
    const tigris_taps columns = pixel->columns;
    const int32_t runs = c->contiguous ? 1 : columns.end - columns.first;
    const int32_t length = c->contiguous ? (columns.end - columns.first) * depth : depth;
    const int8_t *weights = c->weights + channel * c->kernel_size;
    for (int32_t tap = 0; tap < params->kernel_height; tap++) {
        if (tap >= pixel->rows.first && tap < pixel->rows.end) {
            const int8_t *input = tap_row(c, pixel, tap, group) + columns.first * step;
            const int8_t *w = weights + columns.first * depth * BLOCK;
            for (int32_t run = 0; run < runs; run++) {
                tigris_add_single(input, w, length, sum);
                input += step;
                w += length * BLOCK;
            }
            add_padding(c, weights, columns.first * depth, sum);
            add_padding(c, weights + columns.end * depth * BLOCK, (params->kernel_width - columns.end) * depth, sum);
        } else {
            add_padding(c, weights, c->row_taps, sum);
        }
        weights += c->row_taps * BLOCK;
    }
}

/* One channel behind the last whole block, whose weights are not packed, for one pixel. */
static TIGRIS_NOINLINE uint32_t rest_channel(const conv *c, const conv_pixel *pixel, int32_t group, int32_t channel)
{
    const tigris_conv_int8_params *params = c->params;
    const int32_t depth = c->group_inputs;
    const int8_t *weights = c->weights + channel * c->kernel_size;
    uint32_t sum = (uint32_t)c->bias[channel];
    for (int32_t tap = 0; tap < params->kernel_height; tap++) {
        const int row_valid = tap >= pixel->rows.first && tap < pixel->rows.end;
        for (int32_t j = 0; j < params->kernel_width; j++) {
            if (row_valid && j >= pixel->columns.first && j < pixel->columns.end) {
                const int8_t *input = tap_row(c, pixel, tap, group) + j * params->dilation_width * c->input_channels;
                sum += tigris_dot(input, weights, depth);
            } else {
                sum += (uint32_t)params->input_zero_point * tigris_weight_sum(weights, depth);
            }
            weights += depth;
        }
    }
    return sum;
}

/* Whether the pixel reads one run of bytes, all inside. */
static int is_whole(const conv *c, const conv_pixel *pixel)
{
    return c->kernel_size == c->group_inputs && pixel->rows.end - pixel->rows.first == 1 &&
           pixel->columns.end - pixel->columns.first == 1;
}

static TIGRIS_NOINLINE void in_place_pixels(const conv *c, const conv_pixel *pixel, int32_t pixels, int32_t group, int8_t *output)
{
    uint32_t sum[2 * BLOCK];
    int32_t channel = group * c->group_outputs;
    const int32_t end = channel + c->group_outputs;
    const int32_t blocked = end - c->group_outputs % BLOCK;
    if (is_whole(c, pixel)) {
        const int8_t *input = tap_row(c, pixel, 0, group);
        if (pixels == 2) {
            run_pair(c, input, input + c->params->stride_width * c->input_channels, channel, blocked, output);
        } else {
            run_single(c, input, channel, blocked, output);
        }
        channel = blocked;
    } else if (pixels == 2) {
        blocks_pair(c, pixel, group, channel, blocked, output);
        channel = blocked;
    }
    for (; channel < blocked; channel += BLOCK) {
        load_bias(c, channel, sum);
        block_single(c, pixel, group, channel, sum);
        finish_single(c, sum, channel, BLOCK, output);
    }
    for (; channel < end; channel++) {
        conv_pixel one = *pixel;
        for (int32_t i = 0; i < pixels; i++) {
            sum[0] = rest_channel(c, &one, group, channel);
            finish_single(c, sum, channel, 1, output + i * c->channels);
            one.column += c->params->stride_width;
        }
    }
}

/* ---- through a patch ---- */

/* Copies taps [at, at + count) of one kernel row, padding filled in. Returns the byte after the last. */
static int8_t *gather_row(const conv *c, const conv_pixel *pixel, int32_t tap, int32_t group, int32_t at, int32_t count,
                          int8_t *to)
{
    const int8_t padding = (int8_t)c->params->input_zero_point;
    const int32_t depth = c->group_inputs;
    const int row_valid = tap >= pixel->rows.first && tap < pixel->rows.end;
    const int32_t first = row_valid ? pixel->columns.first * depth : at + count;
    const int32_t end = row_valid ? pixel->columns.end * depth : at + count;
    const int32_t last = at + count;
    for (; at < first && at < last; at++) {
        *to++ = padding;
    }
    const int8_t *input = tap_row(c, pixel, tap, group);
    if (c->contiguous) {
        const int32_t stop = end < last ? end : last;
        if (at < stop) {
            to = tigris_copy_taps(input + at, stop - at, to);
            at = stop;
        }
    } else {
        for (; at < end && at < last; at++) {
            *to++ = input[at / depth * c->params->dilation_width * c->input_channels + at % depth];
        }
    }
    for (; at < last; at++) {
        *to++ = padding;
    }
    return to;
}

/* Copies taps [at, at + count) of a pixel. */
static void gather(const conv *c, const conv_pixel *pixel, int32_t group, int32_t at, int32_t count, int8_t *to)
{
    int32_t tap = at / c->row_taps;
    at -= tap * c->row_taps;
    while (count > 0) {
        const int32_t more = c->row_taps - at < count ? c->row_taps - at : count;
        to = gather_row(c, pixel, tap++, group, at, more, to);
        count -= more;
        at = 0;
    }
}

/* Taps that fit a patch, for one pixel or two. */
static TIGRIS_NOINLINE void patch_pixels(const conv *c, const conv_pixel *pixel, int32_t pixels, int32_t group, int8_t *output)
{
    int8_t patch[2][PATCH_BYTES];
    const int32_t size = c->kernel_size;
    int32_t channel = group * c->group_outputs;
    const int32_t end = channel + c->group_outputs;
    const int32_t blocked = end - c->group_outputs % BLOCK;
    for (int32_t i = 0; i < pixels; i++) {
        gather(c, &pixel[i], group, 0, size, patch[i]);
    }
    if (pixels == 2) {
        run_pair(c, patch[0], patch[1], channel, blocked, output);
    } else {
        run_single(c, patch[0], channel, blocked, output);
    }
    for (channel = blocked; channel < end; channel++) {
        for (int32_t i = 0; i < pixels; i++) {
            const uint32_t sum = (uint32_t)c->bias[channel] + tigris_dot(patch[i], c->weights + channel * size, size);
            finish_single(c, &sum, channel, 1, output + i * c->channels);
        }
    }
}

/* Any number of taps, for one pixel: patch after patch, for each block anew. */
static TIGRIS_NOINLINE void patches_pixel(const conv *c, const conv_pixel *pixel, int32_t group, int8_t *output)
{
    int8_t patch[PATCH_BYTES];
    uint32_t sum[2 * BLOCK];
    const int32_t size = c->kernel_size;
    int32_t channel = group * c->group_outputs;
    const int32_t end = channel + c->group_outputs;
    while (channel < end) {
        const int32_t count = end - channel >= BLOCK ? BLOCK : 1;
        const int8_t *weights = c->weights + channel * size;
        for (int32_t k = 0; k < count; k++) {
            sum[k] = (uint32_t)c->bias[channel + k];
        }
        for (int32_t at = 0; at < size; at += PATCH_BYTES) {
            const int32_t length = size - at < PATCH_BYTES ? size - at : PATCH_BYTES;
            gather(c, pixel, group, at, length, patch);
            if (count == BLOCK) {
                tigris_add_single(patch, weights, length, sum);
            } else {
                sum[0] += tigris_dot(patch, weights, length);
            }
            weights += length * count;
        }
        finish_single(c, sum, channel, count, output);
        channel += count;
    }
}

/* ---- rows ---- */

static void set_column(const conv *c, conv_pixel *pixel, int32_t x)
{
    const tigris_conv_int8_params *params = c->params;
    pixel->column = x * params->stride_width - params->pad_left;
    pixel->columns = tigris_valid_taps(pixel->column, params->kernel_width, params->dilation_width, c->input_width);
}

static int is_inside(const conv *c, const conv_pixel *pixel)
{
    return pixel->columns.end - pixel->columns.first == c->params->kernel_width;
}

/* Two pixels share loads of weights when their taps lie apart by a constant, or in patches. */
static int can_pair(const conv *c, const conv_pixel pixel[2])
{
    return c->in_place ? is_inside(c, &pixel[0]) && is_inside(c, &pixel[1]) : c->kernel_size <= PATCH_BYTES;
}

/* `width` pixels whose first has the rows of `pixel`. */
static void conv_row(const conv *c, conv_pixel pixel[2], int32_t width, int8_t *output)
{
    for (int32_t x = 0; x < width;) {
        int32_t pixels = 1;
        set_column(c, &pixel[0], x);
        if (x + 1 < width) {
            set_column(c, &pixel[1], x + 1);
            pixels = can_pair(c, pixel) ? 2 : 1;
        }
        for (int32_t group = 0; group < c->params->groups; group++) {
            if (c->in_place) {
                in_place_pixels(c, pixel, pixels, group, output);
            } else if (c->kernel_size <= PATCH_BYTES) {
                patch_pixels(c, pixel, pixels, group, output);
            } else {
                patches_pixel(c, pixel, group, output);
            }
        }
        output += pixels * c->channels;
        x += pixels;
    }
}

/* Output pixel i reads input pixel i. */
static int is_pointwise(const conv *c, const tigris_band *in, const tigris_band *out)
{
    const tigris_conv_int8_params *params = c->params;
    return params->kernel_height == 1 && params->kernel_width == 1 && params->stride_height == 1 &&
           params->stride_width == 1 && params->pad_left == 0 && in->pad_top == 0 && in->rows == out->rows &&
           in->tensor->width == out->tensor->width;
}

static void run(const tigris_kernel_call *call)
{
    const tigris_band *in = &call->inputs[0];
    const tigris_band *out = call->output;
    int8_t *output = tigris_int8_output(call);
    int32_t rows = out->rows;
    int32_t width = (int32_t)out->tensor->width;
    conv c;
    unpack(&c, call);
    if (is_pointwise(&c, in, out)) {
        width *= rows;
        c.input_width = width;
        rows = rows > 0;
    }
    for (int32_t y = 0; y < rows; y++) {
        conv_pixel pixel[2];
        pixel[0].row = y * c.params->stride_height - in->pad_top;
        pixel[0].rows = tigris_valid_taps(pixel[0].row, c.params->kernel_height, c.params->dilation_height, in->rows);
        pixel[1] = pixel[0];
        conv_row(&c, pixel, width, output);
        output += width * c.channels;
    }
}

static tigris_status check(const tigris_check_call *call)
{
    const tigris_conv_int8_params *params = call->params;
    if (!tigris_check_types(call, 1U, TIGRIS_DTYPE_INT8, TIGRIS_DTYPE_INT8) || params->groups == 0U) {
        return TIGRIS_ERR_PARAMS;
    }
    const uint32_t inputs = call->inputs[0]->channels;
    const uint32_t outputs = call->output->channels;
    const tigris_window_axis rows = {params->kernel_height, params->stride_height, params->dilation_height};
    const tigris_window_axis columns = {params->kernel_width, params->stride_width, params->dilation_width};
    const uint64_t taps = (uint64_t)params->kernel_height * params->kernel_width * (inputs / params->groups);
    return tigris_check_result(
        tigris_check_per_image(call) && inputs % params->groups == 0U && outputs % params->groups == 0U &&
        tigris_check_window(call, rows, columns) &&
        tigris_check_int8(params->input_zero_point) && tigris_check_int8(params->output_zero_point) &&
        tigris_check_range(params->activation_min, params->activation_max) && taps <= UINT32_MAX &&
        tigris_check_data(call, params->weights, taps * outputs, 1U) &&
        tigris_check_data(call, params->bias, outputs, sizeof(int32_t)) &&
        tigris_check_requantise(call, params->multiplier, params->shift, outputs));
}

const tigris_kernel_entry tigris_conv_2d_int8 = {TIGRIS_OP_KIND_CONV_2D, TIGRIS_DTYPE_INT8,
                                                 sizeof(tigris_conv_int8_params), run, check};
