/* CONV_2D of int8 with RVV, with groups: the taps of an output pixel, padding included, are copied in the order of
 * packed weights, as a vector of rows_int8.h. */
#include "rows_int8.h"

#if TIGRIS_RVV

#include "../pixel_taps.h"

#define PATCH_BYTES 1152 /* taps of a pixel at most */

static void copy(int8_t *to, const int8_t *from, int32_t count)
{
    for (size_t left = (size_t)count, now; left != 0U; left -= now) {
        now = RVV(vsetvl_e8m8)(left);
        RVV(vse8_v_i8m8)(to, RVV(vle8_v_i8m8)(from, now), now);
        to += now;
        from += now;
    }
}

static void fill(int8_t *to, int8_t value, int32_t count)
{
    for (size_t left = (size_t)count, now; left != 0U; left -= now) {
        now = RVV(vsetvl_e8m8)(left);
        RVV(vse8_v_i8m8)(to, RVV(vmv_v_x_i8m8)(value, now), now);
        to += now;
    }
}

/* Copies the taps of a pixel in one group, in the input's order. */
static void gather_bytes(const tigris_taps_conv *c, const tigris_taps_pixel *p, int32_t group, int8_t *to)
{
    fill(to, (int8_t)c->params->input_zero_point, c->kernel_size);
    tigris_gather_taps(c, p, group, copy, to);
}

/* Copies the taps of a pixel in one group, in the order of packed weights. */
static void gather(const tigris_taps_conv *c, const tigris_taps_pixel *p, int32_t group, int8_t *to)
{
    const int32_t height = c->params->kernel_height, row_taps = c->params->kernel_width * c->depth;
    if (!tigris_has_whole_rows(c, p)) {
        gather_bytes(c, p, group, to);
        tigris_rvv_order_taps(to, to, c->kernel_size);
        return;
    }
    const int8_t *from = c->input + (p->row * c->width + p->column) * c->channels;
    const uint32_t row_step = c->params->dilation_height * (uint32_t)(c->width * c->channels); /* of one row: any */
    if (height == 1 || row_taps % TIGRIS_RVV_TILE == 0) {
        for (int32_t row = 0; row < height; row++) {
            tigris_rvv_order_taps(to + row * row_taps, from + (uint32_t)row * row_step, row_taps);
        }
        return;
    }
    for (int32_t row = 0; row < height; row++) {
        copy(to + row * row_taps, from + (uint32_t)row * row_step, row_taps);
    }
    tigris_rvv_order_taps(to, to, c->kernel_size);
}

/* Computes all channels of a pixel. `layer`: the layer of the first group. */
static void run_pixel(const tigris_taps_conv *c, const tigris_rvv_layer *layer, const tigris_taps_pixel *p, int8_t *output)
{
    int8_t patch[PATCH_BYTES];
    gather(c, p, 0, patch);
    tigris_rvv_run_layer(layer, patch, output);
    for (int32_t group = 1; group < c->params->groups; group++) {
        const int32_t first = group * layer->outputs;
        tigris_rvv_layer own = *layer;
        own.weights += first * own.length;
        own.bias += first;
        own.end.multiplier += first;
        own.end.shift += first;
        gather(c, p, group, patch);
        tigris_rvv_run_layer(&own, patch, output + first);
    }
}

/* Whether the taps of each pixel are contiguous in the input, in whole tiles, and pixels follow each other. */
static int is_plain(const tigris_taps_conv *c, const tigris_band *in, const tigris_band *out)
{
    const tigris_conv_int8_params *params = c->params;
    return params->kernel_height == 1 && params->kernel_width == 1 && params->stride_height == 1 &&
           params->stride_width == 1 && params->groups == 1 && params->pad_left == 0 && in->pad_top == 0 &&
           out->tensor->width == in->tensor->width && out->rows <= in->rows && c->depth % TIGRIS_RVV_TILE == 0;
}

/* Computes `left` pixels for which is_plain is true; as many as fit the patch are reordered at once. */
static void run_plain(const tigris_taps_conv *c, const tigris_rvv_layer *layer, int32_t left, int8_t *output)
{
    int8_t patch[PATCH_BYTES];
    const int32_t depth = c->depth, most = PATCH_BYTES / depth;
    const int8_t *input = c->input;
    for (int32_t now; left > 0; left -= now) {
        now = left < most ? left : most;
        tigris_rvv_order_taps(patch, input, now * depth);
        for (int32_t i = 0; i < now; i++) {
            tigris_rvv_run_layer(layer, patch + i * depth, output);
            output += layer->outputs;
        }
        input += now * depth;
    }
}

int tigris_rvv_conv_2d(const tigris_kernel_call *call)
{
    const tigris_conv_int8_params *params = call->params;
    const tigris_band *in = &call->inputs[0], *out = call->output;
    const int32_t channels = (int32_t)out->tensor->channels;
    const tigris_taps_conv c = tigris_taps_conv_of(call);
    const tigris_rvv_layer layer = {
        tigris_int8_data(call, params->weights), tigris_int32_data(call, params->bias),
        {tigris_int32_data(call, params->multiplier), tigris_int8_data(call, params->shift),
         {params->output_zero_point, params->activation_min, params->activation_max}},
        1, c.kernel_size, channels / params->groups};
    int8_t *output = tigris_int8_output(call);
    if (c.kernel_size > PATCH_BYTES || ((uintptr_t)layer.weights & 3U) != 0U ||
        (params->groups > 1 && layer.outputs * layer.length % 4 != 0)) {
        return 0;
    }
    if (is_plain(&c, in, out)) {
        run_plain(&c, &layer, out->rows * c.width, output);
        return 1;
    }
    tigris_taps_pixel p;
    for (int32_t y = 0; y < out->rows; y++) {
        tigris_taps_row(&c, &p, y, in->pad_top);
        for (int32_t x = 0; x < (int32_t)out->tensor->width; x++) {
            tigris_taps_column(&c, &p, x);
            run_pixel(&c, &layer, &p, output);
            output += channels;
        }
    }
    return 1;
}

#endif
