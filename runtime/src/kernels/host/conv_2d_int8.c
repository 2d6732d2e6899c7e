/* CONV_2D, int8, groups allowed, several pixels at a time: the taps of each, with the padding, are a vector of
 * layer.h. */
#include "conv_2d_int8.h"

#include "layer.h"
#include "tigris_kernels.h"

#if TIGRIS_HOST_AVX2 || TIGRIS_HOST_NEON

#include "../access.h"
#include "../window.h"
#include "runs.h"

/* One call, with what is needed often. */
typedef struct conv {
    const tigris_conv_int8_params *params;
    const int8_t *input;
    int32_t rows;     /* of the input */
    int32_t width;    /* of the input */
    int32_t channels; /* of the input */
    int32_t depth;    /* input channels of a group */
    int32_t kernel_size;
} conv;

/* Where an output pixel reads: its first tap, in the padding perhaps, and the taps inside. */
typedef struct pixel {
    int32_t row;
    int32_t column;
    tigris_taps rows;
    tigris_taps columns;
} pixel;

static pixel pixel_of(const conv *c, int32_t y, int32_t x, int32_t pad_top)
{
    const tigris_conv_int8_params *params = c->params;
    pixel p;
    p.row = y * params->stride_height - pad_top;
    p.column = x * params->stride_width - params->pad_left;
    p.rows = tigris_valid_taps(p.row, params->kernel_height, params->dilation_height, c->rows);
    p.columns = tigris_valid_taps(p.column, params->kernel_width, params->dilation_width, c->width);
    return p;
}

/* Whether the taps of a pixel's kernel row are neighbours, in every row. */
static int has_whole_rows(const conv *c, const pixel *p)
{
    const tigris_conv_int8_params *params = c->params;
    return p->rows.end - p->rows.first == params->kernel_height &&
           p->columns.end - p->columns.first == params->kernel_width && params->dilation_width == 1 &&
           c->depth == c->channels;
}

/* The bytes of a pixel's taps, of the channels of a group. */
static void gather_bytes(const conv *c, const pixel *p, int32_t group, int8_t *to)
{
    const tigris_conv_int8_params *params = c->params;
    const int32_t first = p->columns.first, row_taps = params->kernel_width * c->depth;
    const int is_run = params->dilation_width == 1 && c->depth == c->channels;
    memset(to, params->input_zero_point, (size_t)c->kernel_size);
    for (int32_t row = p->rows.first; row < p->rows.end && first < p->columns.end; row++) {
        const int32_t input_row = (p->row + row * params->dilation_height) * c->width + p->column;
        const int8_t *from = c->input + ((input_row + first * params->dilation_width) * c->channels + group * c->depth);
        int8_t *at = to + row * row_taps + first * c->depth;
        if (is_run) {
            tigris_host_copy_run(at, from, (p->columns.end - first) * c->depth);
            continue;
        }
        for (int32_t left = p->columns.end - first; left > 0; left--) {
            tigris_host_copy_run(at, from, c->depth);
            at += c->depth;
            from += left > 1 ? params->dilation_width * c->channels : 0;
        }
    }
}

/* All taps of a pixel, of the channels of a group, as a vector. */
static TIGRIS_HOST_CODE void gather(const conv *c, const pixel *p, int32_t group, tigris_host_tap *taps)
{
    const int32_t height = c->params->kernel_height, row_taps = c->params->kernel_width * c->depth;
    const uint32_t row_step = c->params->dilation_height * (uint32_t)c->width * (uint32_t)c->channels;
    int8_t bytes[TIGRIS_HOST_CONV_TAPS + 16];
    if (has_whole_rows(c, p)) {
        const int8_t *from = c->input + (p->row * c->width + p->column) * c->channels;
        for (int32_t row = 0; row < height; row++) {
            if (row_taps % TIGRIS_HOST_TILE == 0) {
                tigris_host_order(taps + row * row_taps, from + (uint32_t)row * row_step, row_taps);
            } else {
                tigris_host_copy_run(bytes + row * row_taps, from + (uint32_t)row * row_step, row_taps);
            }
        }
        if (row_taps % TIGRIS_HOST_TILE == 0) {
            return;
        }
    } else {
        gather_bytes(c, p, group, bytes);
    }
    memset(bytes + c->kernel_size, 0, 16);
    tigris_host_order(taps, bytes, tigris_host_filled(c->kernel_size));
}

/* Up to as many pixels as go together. */
static TIGRIS_HOST_CODE void run_pixels(const conv *c, const tigris_host_layer *all, const pixel *pixels, int32_t count,
                                        int8_t *output)
{
    const int32_t groups = c->channels / c->depth, filled = tigris_host_filled(c->kernel_size);
    tigris_host_tap taps[TIGRIS_HOST_TAPS];
    tigris_host_layer layer = *all;
    for (int32_t group = 0; group < groups; group++) {
        for (int32_t i = 0; i < count; i++) {
            gather(c, &pixels[i], group, taps + i * filled);
        }
        tigris_host_run_layer(&layer, taps, count, output, all->outputs * groups);
        layer.weights += layer.outputs * layer.length;
        layer.bias += layer.outputs;
        layer.multiplier += layer.outputs;
        layer.shift += layer.outputs;
        output += layer.outputs;
    }
}

int tigris_host_run_conv(const tigris_kernel_call *call, const int8_t *weights)
{
    const tigris_conv_int8_params *params = call->params;
    const tigris_band *in = &call->inputs[0], *out = call->output;
    const int32_t channels = (int32_t)out->tensor->channels, depth = (int32_t)in->tensor->channels / params->groups;
    const conv c = {params, (const int8_t *)(const void *)in->data, in->rows, (int32_t)in->tensor->width,
                    (int32_t)in->tensor->channels, depth, params->kernel_height * params->kernel_width * depth};
    const tigris_host_layer layer = {
        weights, tigris_int32_data(call, params->bias), tigris_int32_data(call, params->multiplier),
        tigris_int8_data(call, params->shift), 1, c.kernel_size, channels / params->groups,
        {params->output_zero_point, params->activation_min, params->activation_max}};
    const int32_t most = tigris_host_together(c.kernel_size);
    int8_t *output = tigris_int8_output(call);
    pixel pixels[TIGRIS_HOST_VECTORS];
    int32_t count = 0;
    if (c.kernel_size > TIGRIS_HOST_CONV_TAPS) {
        return 0;
    }
    for (int32_t y = 0; y < out->rows; y++) {
        for (int32_t x = 0; x < (int32_t)out->tensor->width; x++) {
            pixels[count++] = pixel_of(&c, y, x, in->pad_top);
            if (count == most) {
                run_pixels(&c, &layer, pixels, count, output);
                output += count * channels;
                count = 0;
            }
        }
    }
    if (count != 0) {
        run_pixels(&c, &layer, pixels, count, output);
    }
    return 1;
}

static void run(const tigris_kernel_call *call)
{
    const tigris_conv_int8_params *params = call->params;
    if (!tigris_host_run_conv(call, tigris_int8_data(call, params->weights))) {
        tigris_conv_2d_int8.run(call);
    }
}

static tigris_status check(const tigris_check_call *call)
{
    return tigris_conv_2d_int8.check(call);
}

const tigris_kernel_entry tigris_host_conv_2d_int8 = {
    TIGRIS_OP_KIND_CONV_2D, TIGRIS_DTYPE_INT8, TIGRIS_PACKING_PORTABLE, sizeof(tigris_conv_int8_params), run, check};

#endif
