/* Part of conv_2d_int8.h: the last pixel of an odd number of them, as a product of a matrix and a vector. */
#ifndef TIGRIS_CONV_PIXEL1_INT8_H
#define TIGRIS_CONV_PIXEL1_INT8_H

#if defined(HAS_PIXEL1) && HAS_PIXEL1
/* Whether a pixel's tap at kernel row `row` and `column` lies inside. */
TIGRIS_HOT
static int is_valid(const tigris_pixel *pixel, int32_t row, int32_t column)
{
    return is_among(pixel->rows, row) && is_among(pixel->columns, column);
}

/* Whether the taps of a pixel's group lie side by side in the input. */
TIGRIS_HOT
static int is_contiguous(const conv *c, const tigris_pixel *pixel)
{
    return c->kernel_size == c->group_inputs && is_valid(pixel, 0, 0);
}

/* Copies `count` bytes with a stride of `step`: 1, or 0 for padding. Returns the end of the copy. */
TIGRIS_INLINE int8_t *fill_pixel_taps(int8_t *to, const int8_t *from, int32_t step, int32_t count)
{
    for (; count > 0; count--) {
        *to++ = *from;
        from += step;
    }
    return to;
}

/* Copies the taps of a pixel as bytes. A row's taps lie side by side in the input, except with groups or dilation. */
static TIGRIS_NOINLINE void gather_pixel(const conv *c, const conv_work *work, int8_t *to)
{
    const tigris_conv_int8_params *params = c->params;
    const tigris_pixel *pixel = &work->pixels[0];
    const uint32_t channels = input_of(c)->channels;
    const int8_t *input = tigris_int8_input(c->call);
    const int32_t before = pixel->columns.first * (int32_t)channels;
    const int32_t end_inside = pixel->columns.end * (int32_t)channels;
    const int together = params->groups == 1 && params->dilation_width == 1 && end_inside > before;
    for (int32_t row = 0; row < params->kernel_height; row++) {
        uint32_t from = tigris_tap_offset(c->call, pixel, row, 0) + (uint32_t)(work->group * c->group_inputs);
        if (together && is_valid(pixel, row, pixel->columns.first)) {
            to = fill_pixel_taps(to, &c->padding, 0, before);
            to = fill_pixel_taps(to, input + (from + (uint32_t)before), 1, end_inside - before);
            to = fill_pixel_taps(to, &c->padding, 0, c->row_taps - end_inside);
            continue;
        }
        for (int32_t column = 0; column < params->kernel_width; column++) {
            const int step = is_valid(pixel, row, column);
            const int8_t *tap = step ? input + from : &c->padding;
            for (const int8_t *const end = to + c->group_inputs; to != end; tap += step) {
                *to++ = *tap;
            }
            from += params->dilation_width * channels;
        }
    }
}

/* The channels of a pass for one pixel, from its `count` taps. `output`: of channel 0. */
static TIGRIS_NOINLINE void run_taps(const conv_pass *pass, int32_t count, const int8_t *taps, int8_t *output)
{
    const tigris_kernel_call *call = pass->call;
    const tigris_conv_int8_params *params = tigris_params(call);
    const int32_t first = pass->channel, outputs = pass->end - first;
    const tigris_layer layer = {
        {tigris_int8_data(call, params->weights) + first * count, count, outputs & ~(BLOCK - 1)},
        outputs, 1, tigris_int32_data(call, params->bias) + first,
        tigris_int32_data(call, params->multiplier) + first, tigris_int8_data(call, params->shift) + first,
        {params->output_zero_point, params->activation_min, params->activation_max}};
    const int8_t *zeros = NULL;
#if TIGRIS_WEIGHT_ZEROS
    const tigris_asymmetric_conv_int8_params *own = tigris_params(call);
    zeros = tigris_int8_data(call, own->weight_zero_points) + first;
#endif
    tigris_run_layer(&layer, zeros, taps, output + first);
}

/* All channels of a group for one pixel whose taps are contiguous or fit a patch. */
static TIGRIS_NOINLINE void run_pixel(const conv *c, const conv_work *work)
{
    const int32_t first = c->channel + work->group * c->group_outputs;
    const conv_pass group = {c->call, first, first + c->group_outputs};
    uint32_t patch[TIGRIS_PATCH_TAPS / sizeof(uint32_t)];
    const int8_t *taps = (const int8_t *)(const void *)patch;
    if (is_contiguous(c, &work->pixels[0])) {
        taps = tigris_int8_input(c->call) + tigris_tap_offset(c->call, &work->pixels[0], 0, 0) +
               work->group * c->group_inputs;
    } else {
        gather_pixel(c, work, (int8_t *)(void *)patch);
    }
    run_taps(&group, c->kernel_size, taps, work->output);
}

/* Whether there is a last odd pixel that run_last_pixel can compute: its taps fit a patch or are contiguous. */
static TIGRIS_NOINLINE int has_single_last(const tigris_kernel_call *call)
{
    const tigris_conv_int8_params *params = tigris_params(call);
    const int32_t rows = tigris_output_rows(call), width = (int32_t)tigris_output_tensor(call)->width;
    const int32_t taps = params->kernel_height * params->kernel_width;
    if ((rows * width & 1) == 0) {
        return 0;
    }
    if (taps * ((int32_t)tigris_input_tensor(call, 0)->channels / params->groups) <= TIGRIS_PATCH_TAPS) {
        return 1;
    }
    const int32_t row = (rows - 1) * params->stride_height - tigris_pad_top(tigris_input_band(call, 0));
    const int32_t column = (width - 1) * params->stride_width - params->pad_left;
    return taps == 1 && row >= 0 && row < tigris_input_rows(call, 0) && column >= 0 &&
           column < (int32_t)tigris_input_tensor(call, 0)->width;
}

/* The taps of output pixel `pixel`. Its own function: the loop is off the stack when the pixel is computed. */
static TIGRIS_NOINLINE void find_pixel(const tigris_kernel_call *call, int32_t pixel, tigris_pixel *found)
{
    tigris_pixel_loop loop;
    tigris_start_pixels(&loop, call, pixel);
    *found = loop.pixel;
}

static TIGRIS_NOINLINE void run_last_pixel(const conv_pass *pass)
{
    const tigris_kernel_call *call = pass->call;
    const int32_t last = pixels_of(call) - 1;
    conv c;
    conv_work work;
    unpack(&c, pass);
    find_pixel(call, last, &work.pixels[0]);
    work.output = tigris_int8_output(call) + last * (int32_t)tigris_output_tensor(call)->channels;
    for (work.group = 0; work.group < c.params->groups; work.group++) {
        run_pixel(&c, &work);
    }
}
#endif
#endif
