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
static TIGRIS_NOINLINE void gather_pixel(const conv *c, const tigris_pixel *pixel, int8_t *to)
{
    const tigris_conv_int8_params *params = tigris_params(c->call);
    const int8_t padding = (int8_t)params->input_zero_point;
    const uint32_t channels = input_of(c)->channels;
    const int32_t row_taps = params->kernel_width * c->group_inputs;
    const int8_t *input = tigris_int8_input(c->call);
    const int32_t before = pixel->columns.first * (int32_t)channels;
    const int32_t end_inside = pixel->columns.end * (int32_t)channels;
    const int together = params->groups == 1 && params->dilation_width == 1 && end_inside > before;
    for (int32_t row = 0; row < params->kernel_height; row++) {
        uint32_t from = tigris_tap_offset(c->call, pixel, row, 0) + (uint32_t)c->first_input;
        if (together && is_valid(pixel, row, pixel->columns.first)) {
            to = fill_pixel_taps(to, &padding, 0, before);
            to = fill_pixel_taps(to, input + (from + (uint32_t)before), 1, end_inside - before);
            to = fill_pixel_taps(to, &padding, 0, row_taps - end_inside);
            continue;
        }
        for (int32_t column = 0; column < params->kernel_width; column++) {
            const int step = is_valid(pixel, row, column);
            const int8_t *tap = step ? input + from : &padding;
            for (const int8_t *const end = to + c->group_inputs; to != end; tap += step) {
                *to++ = *tap;
            }
            from += params->dilation_width * channels;
        }
    }
}

/* The channels of a pass for one pixel, from its taps. */
static TIGRIS_NOINLINE void run_taps(const conv *c, const conv_pass *pass, const int8_t *taps, int8_t *output)
{
    tigris_layer layer;
    set_layer(&layer, c, pass);
    tigris_run_layer(&layer, taps, output);
}

/* Likewise for a pixel whose taps are contiguous or fit a patch. */
static TIGRIS_NOINLINE void run_pixel(const conv *c, const conv_pass *pass, const tigris_pixel *pixel, int8_t *output)
{
    uint32_t patch[TIGRIS_PATCH_TAPS / sizeof(uint32_t)];
    const int8_t *taps = (const int8_t *)(const void *)patch;
    if (is_contiguous(c, pixel)) {
        taps = tigris_int8_input(c->call) + tigris_tap_offset(c->call, pixel, 0, 0) + c->first_input;
    } else {
        gather_pixel(c, pixel, (int8_t *)(void *)patch);
    }
    run_taps(c, pass, taps, output);
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
    int8_t *output = tigris_int8_output(call) + last * (int32_t)tigris_output_tensor(call)->channels + pass->channel;
    conv c;
    tigris_pixel pixel;
    unpack(&c, pass);
    find_pixel(call, last, &pixel);
    run_pixel(&c, pass, &pixel, output);
}
#endif
#endif
