/* Part of conv_2d_int8.h: gathers the taps of output pixels into patches, and requantises the sums of pixel tiles. */
#ifndef TIGRIS_CONV_PIXELS_INT8_H
#define TIGRIS_CONV_PIXELS_INT8_H

#if defined(HAS_PIXEL1)

/* A pass over the pixels of a call: computes the output channels from `channel` up to `end` with their `weights`. */
typedef struct conv_pass {
    const tigris_kernel_call *call;
    const int8_t *weights;
    int32_t channel;
    int32_t end;
} conv_pass;

/* One pass, its fields unpacked, and two of its pixels. */
typedef struct conv {
#if TIGRIS_WEIGHT_ZEROS
    uint32_t totals[2]; /* of the pixels' taps; packed up to the last */
#endif
    const tigris_kernel_call *call;
    int32_t first_input;  /* first input channel of the pass's group */
    int32_t group_inputs; /* input channels of one group */
    int32_t kernel_size;  /* weights of one output channel */
    const tigris_pixel *pixels[2];
    int32_t row; /* kernel row of their next tap */
} conv;

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
    c->group_inputs = (int32_t)input_of(c)->channels / params->groups;
    const int32_t group = pass->channel * params->groups / (int32_t)tigris_output_tensor(pass->call)->channels;
    c->first_input = group * c->group_inputs;
    c->kernel_size = params->kernel_height * params->kernel_width * c->group_inputs;
}

static inline int32_t pixels_of(const tigris_kernel_call *call)
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
    return tigris_tap_count(pixel->columns) == ((const tigris_conv_int8_params *)tigris_params(c->call))->kernel_width;
}

/* The end of the run of columns from `column` on that lie in the input, or in the padding, alike for both pixels. */
static inline int32_t run_end(const conv *c, int32_t column)
{
    int32_t end = ((const tigris_conv_int8_params *)tigris_params(c->call))->kernel_width;
    for (int32_t i = 0; i < 2; i++) {
        const int32_t first = c->pixels[i]->columns.first, last = c->pixels[i]->columns.end;
        end = column < first && first < end ? first : column < last && last < end ? last : end;
    }
    return end;
}

#if TIGRIS_WEIGHT_ZEROS
#define EIGHT_ONES 1, 1, 1, 1, 1, 1, 1, 1
/* A channel that sums up its taps. */
static const int8_t ones[TIGRIS_PATCH_TAPS] = {EIGHT_ONES, EIGHT_ONES, EIGHT_ONES, EIGHT_ONES,
                                               EIGHT_ONES, EIGHT_ONES, EIGHT_ONES, EIGHT_ONES};

/* Sums the taps of a patch. */
static void add_taps(conv *c, int32_t at, int32_t count, const uint32_t *patch)
{
    if (at == 0) {
        tigris_init_pair(&c->totals[0], &c->totals[1], 0, tigris_block_bias(c->kernel_size));
    }
    tigris_add_channel(patch, ones, count, c->totals);
    if (at + count == c->kernel_size) {
        tigris_unpack_pair(c->totals, &c->totals[0], &c->totals[1]);
    }
}
#endif

/* Fills a patch with `count` taps of two pixels, from tap `at` on: a tigris_fill_pair. */
static TIGRIS_NOINLINE void gather(void *vectors, int32_t at, int32_t count, uint32_t *patch)
{
    conv *c = vectors;
    const tigris_pixel *a = c->pixels[0], *b = c->pixels[1];
    const tigris_conv_int8_params *params = tigris_params(c->call);
    const uint32_t channels = input_of(c)->channels;
    const uint32_t row_step = params->dilation_height * input_of(c)->width * channels;
    const int together = params->groups == 1 && params->dilation_width == 1;
    const int whole_rows = together && is_inside(c, a) && is_inside(c, b);
    const int32_t depth = c->group_inputs, row_taps = params->kernel_width * depth;
    const int8_t padding = (int8_t)params->input_zero_point;
    const int8_t *input = tigris_int8_input(c->call);
    const uint32_t first_a = tigris_tap_offset(c->call, a, 0, 0);
    const uint32_t first_b = tigris_tap_offset(c->call, b, 0, 0);
    int32_t row = at == 0 ? 0 : c->row, in_row = at - row * row_taps;
    for (int32_t done = 0; done < count;) {
        uint32_t offset = (uint32_t)in_row;
        int32_t some = row_taps - in_row;
        int step_a = is_among(a->rows, row), step_b = is_among(b->rows, row);
        if (!whole_rows) {
            const int32_t column = depth == 1 ? in_row : in_row / depth;
            const int32_t done_of_pixel = in_row - column * depth;
            step_a &= is_among(a->columns, column);
            step_b &= is_among(b->columns, column);
            const int32_t end = HAS_PIXEL1 && together ? run_end(c, column) : column + 1;
            some = (end - column) * depth - done_of_pixel;
            offset = (uint32_t)(column * params->dilation_width) * channels +
                     (uint32_t)(c->first_input + done_of_pixel);
        }
        if (some > count - done) {
            some = count - done;
        }
        offset += (uint32_t)row * row_step;
        tigris_fill_patch(patch, done, step_a ? input + (first_a + offset) : &padding, step_a,
                          step_b ? input + (first_b + offset) : &padding, step_b, some);
        done += some;
        in_row += some;
        if (in_row == row_taps) {
            in_row = 0;
            row++;
        }
    }
    c->row = row;
#if TIGRIS_WEIGHT_ZEROS
    add_taps(c, at, count, patch);
#endif
}

/* Sets the layer of a pass. */
TIGRIS_HOT
static void set_layer(tigris_layer *layer, const conv *c, const conv_pass *pass)
{
    const tigris_conv_int8_params *params = tigris_params(c->call);
    const int32_t channel = pass->channel;
    layer->rows.weights = pass->weights;
    layer->rows.length = c->kernel_size;
    layer->outputs = pass->end - channel;
    layer->rows.blocked = layer->outputs & ~(BLOCK - 1);
    layer->step = 1;
    layer->bias = tigris_int32_data(c->call, params->bias) + channel;
    layer->multiplier = tigris_int32_data(c->call, params->multiplier) + channel;
    layer->shift = tigris_int8_data(c->call, params->shift) + channel;
    layer->output.zero_point = params->output_zero_point;
    layer->output.low = params->activation_min;
    layer->output.high = params->activation_max;
#if TIGRIS_WEIGHT_ZEROS
    const tigris_asymmetric_conv_int8_params *own = tigris_params(c->call);
    layer->zeros = tigris_int8_data(c->call, own->weight_zero_points) + channel;
#else
    layer->zeros = NULL;
#endif
}

#if HAS_TILES
/* ---- outputs ---- */

/* Requantises the sums of one channel at `pixels` pixels, a constant. `stride`: bytes from a pixel's output to the
 * next's; `last`: from the first pixel's to the last's. */
TIGRIS_INLINE void requantise_pixels(const uint32_t *sum, int32_t pixels, int32_t multiplier, int32_t shift,
                                     tigris_output_stage stage, int32_t fast_above, int8_t *to, int32_t stride,
                                     int32_t last)
{
    uint32_t a, b, c = 0U, d = 0U;
    tigris_unpack_pixels(sum, pixels, &a, &b, &c, &d);
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
        requantise_pixels(sums, pixels, *multipliers++, *shifts++, stage, fast_above, to++, stride, last);
    }
}

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
