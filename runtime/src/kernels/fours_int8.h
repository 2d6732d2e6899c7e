/* Four pixels of a convolution at a time, a part of conv_2d_int8.h: as pairs, but weights are loaded once for two of
 * them. That takes the registers of RISC-V, and more of a patch and of sums for fewer taps and channels: an inference
 * shall take no more than 1 KB of stack. So there are ways for what networks have, which need to keep little else:
 *
 *   pixels of tigris_neighbours, and any under kernels of few taps: the patches hold all taps, and a block's sums become
 *   outputs at once;
 *   pixels that lie behind each other in 1x1 kernels of more taps, and those of a row under 3x3 kernels of stride 1: slots
 *   of 16 taps, a batch of channels at a time.
 *
 * The first and the third pixel share words, as do the second and the fourth: under 3x3 kernels the words of a
 * column serve both pairs then. */
#ifndef TIGRIS_FOURS_INT8_H
#define TIGRIS_FOURS_INT8_H

#if defined(TAKES_FOURS) && TAKES_FOURS
#define FOURS_TAPS 40  /* of patches that are gathered, a multiple of a tile's */
#define FOURS_BATCH 16 /* channels, a multiple of BLOCK */
#define SLOT TIGRIS_SLOT_TAPS
#define SLOTS 4

/* Sums up to `end` begin with biases. */
TIGRIS_INLINE void begin_fours(uint32_t *sums, const int32_t *bias, const uint32_t *end, uint32_t block_bias)
{
    for (; sums != end; sums += 4) {
        tigris_begin(&sums[0], &sums[1], *bias++, block_bias);
        sums[2] = sums[0];
        sums[3] = sums[1];
    }
}

/* The sums are overwritten, and the output stage comes with the parameters, so that neither takes stack. */
static TIGRIS_NOINLINE void finish_unusually(uint32_t sum[4], int32_t multiplier, int32_t shift,
                                             const tigris_conv_int8_params *params, int8_t *to, int32_t apart)
{
    uint32_t second;
    tigris_end(sum, &sum[0], &second);
    tigris_end(sum + 2, &sum[1], &sum[3]);
    sum[2] = second;
    const tigris_output_stage stage = {params->output_zero_point, params->activation_min, params->activation_max};
    for (const uint32_t *const end = sum + 4; sum != end; sum++, to += apart) {
        *to = (int8_t)tigris_requantise_slow(*sum, multiplier, shift, stage);
    }
}

/* The sums of a channel become outputs, `apart` from pixel to pixel. */
TIGRIS_INLINE void finish_four(uint32_t sum[4], int32_t multiplier, int32_t shift, const tigris_conv_int8_params *params,
                               int8_t *to, int32_t apart)
{
    const tigris_output_stage stage = {params->output_zero_point, params->activation_min, params->activation_max};
    if (tigris_is_fast_scale(multiplier, shift, tigris_fast_above(stage))) {
        const tigris_scale scale = tigris_scale_of(multiplier, shift, stage);
        uint32_t a;
        uint32_t b;
        uint32_t c;
        uint32_t d;
        tigris_end(sum, &a, &c);
        *to = (int8_t)tigris_requantise_fast(a, scale, stage);
        to += apart;
        tigris_end(sum + 2, &b, &d);
        *to = (int8_t)tigris_requantise_fast(b, scale, stage);
        to += apart;
        *to = (int8_t)tigris_requantise_fast(c, scale, stage);
        to += apart;
        *to = (int8_t)tigris_requantise_fast(d, scale, stage);
    } else {
        finish_unusually(sum, multiplier, shift, params, to, apart);
    }
}

/* ---- from patches of all taps ---- */

/* Outputs of a block of channels, of the pixels whose outputs begin `first` bytes behind the first one's. What is
 * loaded anew takes no stack. */
TIGRIS_INLINE void run_block(const tigris_kernel_call *call, const uint32_t *patch, int32_t apart, int32_t taps, int32_t rest,
                             int32_t channels, int32_t first, int32_t channel)
{
    const tigris_conv_int8_params *params = call->params;
    uint32_t sums[4 * BLOCK];
    begin_fours(sums, tigris_int32_data(call, params->bias) + channel, sums + 4 * BLOCK, tigris_block_bias(taps + rest));
    tigris_add_fours(patch, apart, tigris_int8_data(call, params->weights) + channel * (taps + rest), taps, rest, sums);
    TIGRIS_STEP();
    const int32_t *multipliers = tigris_int32_data(call, params->multiplier) + channel;
    const int8_t *shifts = tigris_int8_data(call, params->shift) + channel;
    int8_t *output = tigris_int8_output(call) + first + channel;
    for (uint32_t *sum = sums; sum != sums + 4 * BLOCK; sum += 4) {
        finish_four(sum, *multipliers++, *shifts++, params, output++, channels);
    }
}

/* Pixels of tigris_neighbours, `count` of them, a multiple of four. Returns that. */
static TIGRIS_NOINLINE TIGRIS_FLATTEN int32_t run_neighbouring_fours(const tigris_kernel_call *call, int32_t count)
{
    uint32_t patch[2 * TIGRIS_PATCH_TAPS];
    for (int32_t first = 0; first != count; first += 4) {
        const int32_t depth = (int32_t)call->inputs[0].tensor->channels;
        const int8_t *input = (const int8_t *)(const void *)call->inputs[0].data + first * depth;
        tigris_fill_patch(patch, 0, input, 1, input + 2 * depth, 1, depth);
        tigris_fill_patch(patch, TIGRIS_PATCH_TAPS, input + depth, 1, input + 3 * depth, 1, depth);
        const int32_t channels = (int32_t)call->output->tensor->channels;
        for (int32_t channel = 0; channel < channels; channel += BLOCK) {
            run_block(call, patch, TIGRIS_PATCH_TAPS, depth, 0, channels, first * channels, channel);
        }
    }
    return count;
}

/* All channels of the pixels from `first` on. */
static TIGRIS_NOINLINE TIGRIS_FLATTEN void run_blocks(const tigris_kernel_call *call, const uint32_t *patch, int32_t taps,
                                                      int32_t first)
{
    const int32_t channels = (int32_t)call->output->tensor->channels, rest = taps & (TIGRIS_TILE_TAPS - 1);
    for (int32_t channel = 0; channel < channels; channel += BLOCK) {
        run_block(call, patch, FOURS_TAPS, taps - rest, rest, channels, first * channels, channel);
    }
}

/* `count` taps of one pixel: words begin with the first pixel's, the second's is added to them. `step`: 1, or 0 for
 * padding. */
TIGRIS_INLINE uint32_t *fill_lane(uint32_t *to, const int8_t *from, int32_t step, int32_t count, int second)
{
    for (; count > 0; count--) {
        *to = second ? *to + ((uint32_t)(int32_t)*from << 16) : (uint32_t)(int32_t)*from;
        to++;
        from += step;
        TIGRIS_STEP();
    }
    return to;
}

/* All taps of one pixel in an undilated kernel, some in the padding. */
TIGRIS_INLINE void gather_lane(const conv *c, const conv_pixel *pixel, uint32_t *to, int second)
{
    const int32_t channels = c->group_inputs;
    const int32_t before = pixel->column_first * channels, inside = pixel->column_end * channels - before;
    const int8_t *input = (const int8_t *)(const void *)c->call->inputs[0].data;
    uint32_t at = pixel->first + (uint32_t)before; /* modulo 2^32, as the row may lie outside */
    for (int32_t row = 0; row < c->params->kernel_height; row++) {
        if (row >= pixel->row_first && row < pixel->row_end) {
            to = fill_lane(to, &c->padding, 0, before, second);
            to = fill_lane(to, input + at, 1, inside, second);
            to = fill_lane(to, &c->padding, 0, c->row_taps - before - inside, second);
        } else {
            to = fill_lane(to, &c->padding, 0, c->row_taps, second);
        }
        at += c->params->dilation_height * input_of(c)->width * (uint32_t)channels;
    }
}

/* The same of two pixels. */
static TIGRIS_NOINLINE void gather_lanes(const conv *c, const conv_pixel *pixels, uint32_t *patch)
{
    gather_lane(c, &pixels[0], patch, 0);
    gather_lane(c, &pixels[1], patch, 1);
}

/* `count` pixels under a kernel of few taps. Returns that. */
static TIGRIS_NOINLINE int32_t run_gathered_fours(const tigris_kernel_call *call, int32_t count)
{
    uint32_t patch[2 * FOURS_TAPS];
    conv_pixel pixels[4];
    conv_place place;
    conv c;
    unpack(&c, call);
    begin_at(&c, &place, 0);
    for (int32_t first = 0; first != count; first += 4) {
        take_pixel(&c, &place, &pixels[0]);
        take_pixel(&c, &place, &pixels[2]);
        take_pixel(&c, &place, &pixels[1]);
        take_pixel(&c, &place, &pixels[3]);
        for (int32_t i = 0; i < 2; i++) {
            conv_part all = {0, c.kernel_size, 0, 0};
            const conv_pixel *pair = pixels + 2 * i;
            if (c.params->dilation_width != 1 || (is_inside(&c, &pair[0]) && is_inside(&c, &pair[1]))) {
                gather(&c, pair, 0, &all, patch + i * FOURS_TAPS);
            } else {
                gather_lanes(&c, pair, patch + i * FOURS_TAPS);
            }
        }
        run_blocks(call, patch, c.kernel_size, first);
    }
    return count;
}

/* ---- in slots ---- */

/* Where the slots of a call lie. */
typedef struct fours {
    const tigris_kernel_call *call;
    const int8_t *input; /* the first pixel's first tap; of no use where it lies outside */
    int32_t depth;
    int32_t row;         /* of its first tap in the band, and its column */
    int32_t column;
    int8_t padding;
} fours;

/* Taps `at` … of a part of a kernel's row `row`, those of 16 input channels in each of its columns. */
static TIGRIS_NOINLINE void fill_columns(const fours *f, int32_t row, int32_t at, uint32_t *patch)
{
    const int32_t width = (int32_t)f->call->inputs[0].tensor->width, y = f->row + row;
    const int inside = y >= 0 && y < f->call->inputs[0].rows;
    const int8_t *from = f->input + row * width * f->depth + at;
    for (int32_t x = f->column; x != f->column + SLOTS; x++) {
        const int a = inside && x >= 0 && x < width, b = inside && x + 2 >= 0 && x + 2 < width;
        tigris_fill_patch(patch, 0, a ? from : &f->padding, a, b ? from + 2 * f->depth : &f->padding, b, SLOT);
        from += f->depth;
        patch += SLOT;
    }
}

/* Taps `at` … of a 1x1 kernel. */
static TIGRIS_NOINLINE void fill_pixels(const fours *f, int32_t at, uint32_t *patch)
{
    const int32_t depth = f->depth;
    const int8_t *from = f->input + at;
    tigris_fill_patch(patch, 0, from, 1, from + 2 * depth, 1, 2 * SLOT);
    tigris_fill_patch(patch, 2 * SLOT, from + depth, 1, from + 3 * depth, 1, 2 * SLOT);
}

/* Adds the products of those to the sums of blocks up to `end`. */
static TIGRIS_NOINLINE void add_pixels(const uint32_t *patch, const int8_t *weights, int32_t step, uint32_t *sums,
                                       const uint32_t *end)
{
    for (; sums != end; sums += 4 * BLOCK) {
        tigris_add_fours(patch, 2 * SLOT, weights, 2 * SLOT, 0, sums);
        weights += step;
    }
}

/* The sums of channels from `channel` on become outputs of the pixels from `first` on. */
static TIGRIS_NOINLINE TIGRIS_FLATTEN void finish_fours(const tigris_kernel_call *call, int32_t first, int32_t channel,
                                                        uint32_t *sums, const uint32_t *end)
{
    const tigris_conv_int8_params *params = call->params;
    const int32_t *multipliers = tigris_int32_data(call, params->multiplier) + channel;
    const int8_t *shifts = tigris_int8_data(call, params->shift) + channel;
    const int32_t apart = (int32_t)call->output->tensor->channels;
    int8_t *output = tigris_int8_output(call) + first * apart + channel;
    for (; sums != end; sums += 4) {
        finish_four(sums, *multipliers++, *shifts++, params, output++, apart);
    }
}

/* `count` pixels, a multiple of four. Returns that. Here too, what is loaded anew takes no stack. */
static TIGRIS_NOINLINE int32_t run_fours(const tigris_kernel_call *call, int32_t count)
{
    const tigris_conv_int8_params *params = call->params;
    fours f = {call, NULL, (int32_t)call->inputs[0].tensor->channels, -call->inputs[0].pad_top, -params->pad_left,
               (int8_t)params->input_zero_point};
    uint32_t patch[SLOTS * SLOT];
    uint32_t sums[4 * FOURS_BATCH];
    f.input = (const int8_t *)(const void *)call->inputs[0].data +
              (f.row * (int32_t)call->output->tensor->width + f.column) * f.depth;
    for (int32_t first = 0; first != count; first += 4) {
        for (int32_t channel = 0, left; (left = (int32_t)call->output->tensor->channels - channel) > 0;
             channel += FOURS_BATCH) {
            uint32_t *const end = sums + 4 * (left < FOURS_BATCH ? left : FOURS_BATCH);
            begin_fours(sums, tigris_int32_data(call, params->bias) + channel, end,
                        tigris_block_bias(params->kernel_height * params->kernel_width * f.depth));
            if (params->kernel_height == 1) {
                for (int32_t at = 0; at < f.depth; at += 2 * SLOT) {
                    fill_pixels(&f, at, patch);
                    add_pixels(patch, tigris_int8_data(call, params->weights) + channel * f.depth + at * BLOCK,
                               f.depth * BLOCK, sums, end);
                }
            } else {
                for (int32_t row = 0; row < 3; row++) {
                    for (int32_t at = 0; at < f.depth; at += SLOT) {
                        fill_columns(&f, row, at, patch);
                        const int32_t before = (9 * channel + 3 * row * BLOCK) * f.depth + at * BLOCK;
                        tigris_add_slots(patch, tigris_int8_data(call, params->weights) + before, f.depth, sums, end);
                    }
                }
            }
            finish_fours(call, first, channel, sums, end);
        }
        f.input += 4 * f.depth;
        f.column += 4;
        if (f.column + params->pad_left == (int32_t)call->output->tensor->width) {
            f.column = -params->pad_left;
            f.row++;
        }
    }
    return count;
}

/* The first pixels of a call, as many as go four at a time. Returns how many. */
static TIGRIS_NOINLINE int32_t run_first_fours(const tigris_kernel_call *call)
{
    const tigris_conv_int8_params *params = call->params;
    const tigris_band *in = &call->inputs[0];
    const int32_t pixels = pixels_of(call), width = (int32_t)call->output->tensor->width;
    const int32_t size = params->kernel_height, depth = (int32_t)in->tensor->channels;
    if (tigris_neighbours(call) != 0) { /* rather five are left than one */
        const int32_t count = (pixels & 3) == 1 ? pixels - 5 : pixels & ~3;
        return count > 0 ? run_neighbouring_fours(call, count) : 0;
    }
    if (pixels < 4 || params->groups != 1 || (call->output->tensor->channels & (BLOCK - 1)) != 0U) {
        return 0;
    }
    if (size * params->kernel_width * depth <= FOURS_TAPS) {
        return run_gathered_fours(call, pixels & ~3);
    }
    if (params->kernel_width != size || params->stride_height * params->stride_width != 1 ||
        (int32_t)in->tensor->width != width) {
        return 0;
    }
    if (size == 1) {
        return params->pad_left == 0 && in->pad_top == 0 && in->rows == call->output->rows && depth % (2 * SLOT) == 0
                   ? run_fours(call, pixels & ~3)
                   : 0;
    }
    return size == 3 && params->dilation_height * params->dilation_width == 1 && depth % SLOT == 0 && width % 4 == 0
               ? run_fours(call, pixels)
               : 0;
}

#endif
#endif
