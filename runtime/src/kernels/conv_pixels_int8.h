/* Part of conv_2d_int8.h: gathers the taps of output pixels into patches, and requantises the sums of pixel tiles. */
#ifndef TIGRIS_CONV_PIXELS_INT8_H
#define TIGRIS_CONV_PIXELS_INT8_H

#if defined(HAS_PIXEL1)

/* A pass over the pixels of a call: computes the output channels from `channel` up to `end`. */
typedef struct conv_pass {
    const tigris_kernel_call *call;
    int32_t channel;
    int32_t end;
} conv_pass;

/* One pass, its fields unpacked. */
typedef struct conv {
    const tigris_kernel_call *call;
    const tigris_conv_int8_params *params;
    int32_t group_inputs;  /* input channels of one group */
    int32_t group_outputs; /* output channels of one group, from `channel` on */
    int32_t channel;       /* first channel of the pass */
    int32_t kernel_size;   /* weights of one output channel */
    int32_t row_taps;      /* weights of one kernel row of one output channel */
    uint32_t block_bias;
    int8_t padding; /* value of a tap in the padding */
} conv;

/* A part of a kernel's taps. */
typedef struct conv_part {
    int32_t at;
    int32_t taps;
    int32_t row;    /* kernel row of its first tap */
    int32_t in_row; /* index of that tap in its kernel row */
} conv_part;

TIGRIS_HOT
static const tigris_tensor_record *input_of(const conv *c)
{
    return tigris_input_tensor(c->call, 0);
}

TIGRIS_HOT
static void unpack(conv *c, const conv_pass *pass)
{
    const tigris_conv_int8_params *params = tigris_params(pass->call);
    c->call = pass->call;
    c->channel = pass->channel;
    c->params = params;
    c->group_inputs = (int32_t)input_of(c)->channels / params->groups;
    c->group_outputs = (pass->end - pass->channel) / params->groups;
    c->row_taps = params->kernel_width * c->group_inputs;
    c->kernel_size = params->kernel_height * c->row_taps;
    c->block_bias = tigris_block_bias(c->kernel_size);
    c->padding = (int8_t)params->input_zero_point;
}

TIGRIS_HOT
static int32_t pixels_of(const tigris_kernel_call *call)
{
    return tigris_output_rows(call) * (int32_t)tigris_output_tensor(call)->width;
}

/* ---- taps into the patch ---- */

static inline int is_among(tigris_taps taps, int32_t tap)
{
    return (uint32_t)(tap - taps.first) < (uint32_t)tigris_tap_count(taps);
}

TIGRIS_HOT
static int is_inside(const conv *c, const tigris_pixel *pixel)
{
    return tigris_tap_count(pixel->columns) == c->params->kernel_width;
}

/* The end of the run of columns from `column` on that lie in the input, or in the padding, alike for both pixels. */
static inline int32_t run_end(const conv *c, const tigris_pixel *pixels, int32_t column)
{
    int32_t end = c->params->kernel_width;
    for (int32_t i = 0; i < 2; i++) {
        const int32_t first = pixels[i].columns.first, last = pixels[i].columns.end;
        end = column < first && first < end ? first : column < last && last < end ? last : end;
    }
    return end;
}

/* Fills the patch with the taps of `part` of two pixels, and advances `part` behind them. */
static TIGRIS_NOINLINE void gather(const conv *c, const tigris_pixel *pixels, int32_t group, conv_part *part,
                                   uint32_t *patch)
{
    const tigris_conv_int8_params *params = c->params;
    const uint32_t channels = input_of(c)->channels;
    const uint32_t row_step = params->dilation_height * input_of(c)->width * channels;
    const int together = params->groups == 1 && params->dilation_width == 1;
    const int whole_rows = together && is_inside(c, &pixels[0]) && is_inside(c, &pixels[1]);
    const int32_t depth = c->group_inputs;
    const int8_t *input = tigris_int8_input(c->call);
    const uint32_t first_a = tigris_tap_offset(c->call, &pixels[0], 0, 0);
    const uint32_t first_b = tigris_tap_offset(c->call, &pixels[1], 0, 0);
    for (int32_t done = 0; done < part->taps;) {
        uint32_t offset = (uint32_t)part->in_row;
        int32_t count = c->row_taps - part->in_row;
        int step_a = is_among(pixels[0].rows, part->row), step_b = is_among(pixels[1].rows, part->row);
        if (!whole_rows) {
            const int32_t column = depth == 1 ? part->in_row : part->in_row / depth;
            const int32_t done_of_pixel = part->in_row - column * depth;
            step_a &= is_among(pixels[0].columns, column);
            step_b &= is_among(pixels[1].columns, column);
            const int32_t end = HAS_PIXEL1 && together ? run_end(c, pixels, column) : column + 1;
            count = (end - column) * depth - done_of_pixel;
            offset = (uint32_t)(column * params->dilation_width) * channels +
                     (uint32_t)(group * depth + done_of_pixel);
        }
        if (count > part->taps - done) {
            count = part->taps - done;
        }
        offset += (uint32_t)part->row * row_step;
        tigris_fill_patch(patch, done, step_a ? input + (first_a + offset) : &c->padding, step_a,
                          step_b ? input + (first_b + offset) : &c->padding, step_b, count);
        done += count;
        part->in_row += count;
        if (part->in_row == c->row_taps) {
            part->in_row = 0;
            part->row++;
        }
    }
}

/* ---- outputs ---- */

/* Requantises the sums of one channel at `pixels` pixels, a constant. `lost`: what each sum loses, or NULL; `stride`:
 * bytes from a pixel's output to the next's; `last`: from the first pixel's to the last's. */
TIGRIS_INLINE void requantise_pixels(const uint32_t *sum, int32_t pixels, const uint32_t *lost, int32_t multiplier,
                                     int32_t shift, tigris_output_stage stage, int32_t fast_above, int8_t *to,
                                     int32_t stride, int32_t last)
{
    uint32_t a, b, c = 0U, d = 0U;
    tigris_unpack_pixels(sum, pixels, &a, &b, &c, &d);
    if (lost != NULL) {
        a -= lost[0];
        b -= lost[1];
    }
    if (tigris_is_fast_scale(multiplier, shift, fast_above)) {
        const tigris_scale scale = tigris_scale_of(multiplier, shift, stage);
        d = pixels > 3 ? (uint32_t)tigris_requantise_fast(d, scale, stage) : d;
        c = pixels > 2 ? (uint32_t)tigris_requantise_fast(c, scale, stage) : c;
        b = (uint32_t)tigris_requantise_fast(b, scale, stage);
        a = (uint32_t)tigris_requantise_fast(a, scale, stage);
    } else {
        d = pixels > 3 ? (uint32_t)tigris_requantise_slow(d, multiplier, shift, stage) : d;
        c = pixels > 2 ? (uint32_t)tigris_requantise_slow(c, multiplier, shift, stage) : c;
        b = (uint32_t)tigris_requantise_slow(b, multiplier, shift, stage);
        a = (uint32_t)tigris_requantise_slow(a, multiplier, shift, stage);
    }
    to[last] = (int8_t)(pixels == 2 ? b : pixels == 3 ? c : d); /* with fewer pixels the place of one below */
    if (pixels > 3) {
        to[2 * stride] = (int8_t)c;
    }
    if (pixels > 2) {
        to[stride] = (int8_t)b;
    }
    *to = (int8_t)a;
}

/* Requantises the sums up to `end`, of the channels from `channel` on; `to`: the first pixel's output of channel 0. */
TIGRIS_INLINE void requantise_channels(const tigris_kernel_call *call, const uint32_t *sums, const uint32_t *end,
                                       int32_t pixels, int32_t channel, int8_t *to, int32_t stride, int32_t last)
{
    const tigris_conv_int8_params *params = tigris_params(call);
    const tigris_output_stage stage = {params->output_zero_point, params->activation_min, params->activation_max};
    const int32_t fast_above = tigris_fast_above(stage);
    const int32_t *multipliers = tigris_int32_data(call, params->multiplier) + channel;
    const int8_t *shifts = tigris_int8_data(call, params->shift) + channel;
    to += channel;
    for (; sums != end; sums += pixels) {
        requantise_pixels(sums, pixels, NULL, *multipliers++, *shifts++, stage, fast_above, to++, stride, last);
    }
}

#if HAS_TILES
/* Initialises the sums of a tile up to `end`, of the channels from `channel` on. `taps`: of a channel. */
static TIGRIS_NOINLINE void init_tile(const tigris_kernel_call *call, int32_t channel, int32_t taps, uint32_t *sums,
                                      const uint32_t *end)
{
    const tigris_conv_int8_params *params = tigris_params(call);
    const int32_t *bias = tigris_int32_data(call, params->bias) + channel;
    const uint32_t block_bias = tigris_block_bias(taps);
    for (; sums != end; sums += TIGRIS_PIXELS) {
        tigris_init_pixels(sums, TIGRIS_PIXELS, *bias++, block_bias);
    }
}

/* Requantises these sums into outputs of the `pixels` pixels from `first` on. */
static TIGRIS_NOINLINE TIGRIS_FLATTEN void requantise_tile(const tigris_kernel_call *call, int32_t first,
                                                           int32_t pixels, int32_t channel, const uint32_t *sums,
                                                           const uint32_t *end)
{
    const int32_t stride = (int32_t)tigris_output_tensor(call)->channels;
    int8_t *output = tigris_int8_output(call) + first * stride;
    requantise_channels(call, sums, end, TIGRIS_PIXELS, channel, output, stride, (pixels - 1) * stride);
}
#endif

#endif
#endif
