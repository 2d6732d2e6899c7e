/* CONV_2D, int8, with groups, several pixels at a time: the taps of a pixel, padding included, are a vector of
 * layer.h. */
#include "conv_2d_int8.h"

#include "layer.h"
#include "tigris_kernels.h"

#if TIGRIS_HOST_AVX2 || TIGRIS_HOST_NEON

#include "../pixel_taps.h"
#include "runs.h"

/* Copies the taps of a pixel in one group as bytes, padding included. */
static void gather_bytes(const tigris_taps_conv *c, const tigris_taps_pixel *p, int32_t group, int8_t *to)
{
    memset(to, c->params->input_zero_point, (size_t)c->kernel_size);
    tigris_gather_taps(c, p, group, tigris_host_copy_run, to);
}

/* Copies all taps of a pixel in one group as a vector of layer.h. */
static TIGRIS_HOST_CODE void gather(const tigris_taps_conv *c, const tigris_taps_pixel *p, int32_t group, tigris_host_tap *taps)
{
    const int32_t height = c->params->kernel_height, row_taps = c->params->kernel_width * c->depth;
    const uint32_t row_step = c->params->dilation_height * (uint32_t)c->width * (uint32_t)c->channels;
    int8_t bytes[TIGRIS_HOST_CONV_TAPS + 16];
    if (tigris_has_whole_rows(c, p)) {
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

/* Computes `count` pixels, at most tigris_host_vectors_at_once. */
static TIGRIS_HOST_CODE void run_pixels(const tigris_taps_conv *c, const tigris_host_layer *all, const tigris_taps_pixel *pixels, int32_t count,
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
    const tigris_band *out = call->output;
    const int32_t channels = (int32_t)out->tensor->channels;
    const tigris_taps_conv c = tigris_taps_conv_of(call);
    const tigris_host_layer layer = {
        weights, tigris_int32_data(call, params->bias), tigris_int32_data(call, params->multiplier),
        tigris_int8_data(call, params->shift), 1, c.kernel_size, channels / params->groups,
        {params->output_zero_point, params->activation_min, params->activation_max}};
    const int32_t most = tigris_host_vectors_at_once(c.kernel_size);
    int8_t *output = tigris_int8_output(call);
    tigris_taps_pixel pixels[TIGRIS_HOST_VECTORS], at;
    int32_t count = 0;
    if (c.kernel_size > TIGRIS_HOST_CONV_TAPS) {
        return 0;
    }
    for (int32_t y = 0; y < out->rows; y++) {
        tigris_taps_row(&c, &at, y, call->inputs[0].pad_top);
        for (int32_t x = 0; x < (int32_t)out->tensor->width; x++) {
            tigris_taps_column(&c, &at, x);
            pixels[count++] = at;
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
