/* Part of conv_2d_int8.h, for DSP instructions: a patch holds all taps of some tiles of three pixels. The last patch
 * may have one tile of two pixels, or two. Two channels at a time are computed for all tiles of a patch; their sums stay
 * in registers from the bias to the outputs. The pixels are those of a dense 1x1 (conv_1x1_int8.h), or are gathered:
 * one group, undilated columns and at most TIGRIS_PATCH_TAPS taps. */
#ifndef TIGRIS_CONV_PATCH3_INT8_H
#define TIGRIS_CONV_PATCH3_INT8_H

#if defined(HAS_TILES) && HAS_TILES && defined(TIGRIS_DSP)

/* The tiles of a patch, and two channels. */
typedef struct patch3 {
    const tigris_kernel_call *call;
    const conv_pass *pass;
    int32_t first;       /* number of the first pixel */
    const int8_t *weights;
    int32_t words;       /* of a pixel's whole weight tiles in a patch, two taps a word */
    int32_t tail;        /* taps behind them, */
    uint32_t tails[2];   /* and their weights as a weight tile */
    int32_t pixels;      /* of a tile */
    const uint32_t *end; /* the tile behind the last */
    uint32_t bias[2];
    uint32_t doubled[2]; /* the scales, on the fast path */
    int32_t right[2];
    int32_t offset;
    int32_t stride;      /* bytes from a pixel's outputs to the next pixel's */
} patch3;

/* Requantises the sums of channel `i` of two. */
TIGRIS_INLINE void requantise_fast_pixels(const patch3 *p, int32_t i, const uint32_t sums[3], int32_t pixels,
                                          int8_t *to, int32_t stride)
{
    const tigris_output_stage none = {0, 0, 0};
    const tigris_scale scale = {p->doubled[i], p->right[i], p->offset};
    to[0] = (int8_t)tigris_requantise_fast(sums[0], scale, none);
    to[stride] = (int8_t)tigris_requantise_fast(sums[1], scale, none);
    if (pixels == 3) {
        to[2 * stride] = (int8_t)tigris_requantise_fast(sums[2], scale, none);
    }
}

/* Sums of both channels at a tile's pixels. Returns the next tile. */
TIGRIS_INLINE const uint32_t *sum_tile(const patch3 *p, const uint32_t *patch, int32_t pixels, uint32_t sums[6])
{
    sums[0] = sums[1] = sums[2] = p->bias[0];
    sums[3] = sums[4] = sums[5] = p->bias[1];
    patch = tigris_add_pixels3(patch, p->weights, p->words, pixels, sums);
    return p->tail == 0 ? patch : tigris_add_pixels3_tail(patch, p->tails, pixels, sums);
}

/* Two channels of all tiles, on the fast path. `pixels` is a constant. */
TIGRIS_INLINE void run_fast_tiles(const patch3 *p, const uint32_t *patch, int32_t pixels, int8_t *to)
{
    do {
        uint32_t sums[6];
        patch = sum_tile(p, patch, pixels, sums);
        const int32_t stride = p->stride;
        requantise_fast_pixels(p, 0, &sums[0], pixels, to, stride);
        requantise_fast_pixels(p, 1, &sums[3], pixels, to + 1, stride);
        to += pixels * stride;
    } while (patch != p->end);
}

static TIGRIS_NOINLINE TIGRIS_FLATTEN void run_fast_twos(const patch3 *p, const uint32_t *patch, int8_t *to)
{
    run_fast_tiles(p, patch, 2, to);
}

static TIGRIS_NOINLINE TIGRIS_FLATTEN void run_fast_threes(const patch3 *p, const uint32_t *patch, int8_t *to)
{
    run_fast_tiles(p, patch, 3, to);
}

/* The number of words of a pixel in a patch. */
static inline int32_t words_of(const patch3 *p)
{
    return p->words + (p->tail == 0 ? 0 : TIGRIS_TILE_TAPS / 2);
}

/* Two channels of all tiles, from `channel` on, on any path. */
static TIGRIS_NOINLINE void run_slow_tiles(const patch3 *p, const uint32_t *patch, int32_t channel, int8_t *to)
{
    uint32_t sums[6];
    while (patch != p->end) {
        patch = p->pixels == 3 ? sum_tile(p, patch, 3, sums) : sum_tile(p, patch, 2, sums);
        requantise_channels(p->call, sums, sums + 6, 3, channel, to, p->stride, (p->pixels - 1) * p->stride);
        to += p->pixels * p->stride;
    }
}

/* The channels of a pass for all tiles. */
static TIGRIS_NOINLINE void run_channels(patch3 *p, const uint32_t *patch)
{
    const tigris_kernel_call *call = p->call;
    const tigris_conv_int8_params *params = tigris_params(call);
    const tigris_output_stage stage = {params->output_zero_point, params->activation_min, params->activation_max};
    const int32_t *biases = tigris_int32_data(call, params->bias);
    const int32_t *multipliers = tigris_int32_data(call, params->multiplier);
    const int8_t *shifts = tigris_int8_data(call, params->shift);
    const int32_t taps = 2 * p->words + p->tail, fast_above = tigris_fast_above(stage), end = p->pass->end;
    int8_t *const output = tigris_int8_output(call) + p->first * p->stride;
    void (*const fast)(const patch3 *, const uint32_t *, int8_t *) = p->pixels == 3 ? run_fast_threes : run_fast_twos;
    p->weights = p->pass->weights;
    p->offset = tigris_scale_of(0, 0, stage).offset;
    for (int32_t channel = p->pass->channel; channel != end; channel += 2) {
        const int32_t *multiplier = multipliers + channel, *bias = biases + channel;
        const int8_t *shift = shifts + channel;
        const int32_t m0 = multiplier[0], m1 = multiplier[1], s0 = shift[0], s1 = shift[1];
        p->bias[0] = (uint32_t)bias[0], p->bias[1] = (uint32_t)bias[1];
        p->doubled[0] = (uint32_t)m0 << 1, p->doubled[1] = (uint32_t)m1 << 1;
        p->right[0] = (-1 - s0) & 31, p->right[1] = (-1 - s1) & 31;
        if (p->tail != 0) {
            const int8_t *from = p->weights + 2 * p->words * BLOCK - (channel & 2) * (TIGRIS_TILE_TAPS - 1);
            p->tails[0] = tigris_tail_tile(from, p->tail);
            p->tails[1] = tigris_tail_tile(from + 1, p->tail);
        }
        if (TIGRIS_LIKELY((m0 & m1) > fast_above && tigris_is_right_shift(s0) && tigris_is_right_shift(s1))) {
            fast(p, patch, output + channel);
        } else {
            run_slow_tiles(p, patch, channel, output);
        }
        /* To the block's second pair, or to the next block. */
        p->weights += (channel & 2) == 0 ? 2 * TIGRIS_TILE_TAPS : taps * BLOCK - 2 * TIGRIS_TILE_TAPS;
    }
}

/* Fills a patch with the taps of a dense 1x1. */
static TIGRIS_NOINLINE void fill_dense3(const patch3 *p, uint32_t *patch)
{
    const int32_t words = p->words;
    const int8_t *input = tigris_int8_input(p->call) + p->first * 2 * words;
    for (const uint32_t *const last = p->end; patch != last; patch += words) {
        for (int32_t i = 0; i < p->pixels * (TIGRIS_PIXELS_TAPS / 2); i += TIGRIS_PIXELS_TAPS / 2) {
            uint32_t *to = patch + i, *const end = to + words;
            if ((words & 2) != 0) {
                to = tigris_store_words(to, input);
                input += TIGRIS_TILE_TAPS;
            }
            while (to != end) {
                to = tigris_store_words(to, input);
                to = tigris_store_words(to, input + TIGRIS_TILE_TAPS);
                input += 2 * TIGRIS_TILE_TAPS;
            }
        }
    }
}

/* Fills a pixel of a patch row by row. If taps are outside the input, all are padding first. */
static TIGRIS_NOINLINE void gather_pixel3(const patch3 *p, const tigris_pixel *pixel, uint32_t *patch)
{
    const tigris_conv_int8_params *params = tigris_params(p->call);
    const tigris_tensor_record *input = tigris_input_tensor(p->call, 0);
    const int32_t depth = (int32_t)input->channels, taps = params->kernel_width * depth;
    const int32_t inside = tigris_tap_count(pixel->columns) * depth, rows = tigris_tap_count(pixel->rows);
    const int32_t step = (int32_t)(params->dilation_height * input->width * (uint32_t)depth);
    const int8_t *from = tigris_int8_input(p->call) +
                         tigris_tap_offset(p->call, pixel, pixel->rows.first, pixel->columns.first);
    int16_t *to = (int16_t *)(void *)patch;
    if (inside == taps && taps >= TIGRIS_TILE_TAPS && rows == params->kernel_height) {
        patch[words_of(p) - 2] = patch[words_of(p) - 1] = 0U; /* behind the last tap */
        for (int32_t left = rows; left > 0; left--) {
            tigris_fill_four_or_more(to, from, taps);
            to += taps;
            from += step;
        }
        return;
    }
    const uint32_t padding = ((uint32_t)params->input_zero_point & 0xFFFFU) * 0x10001U;
    for (const uint32_t *const end = patch + words_of(p); patch != end;) {
        *patch++ = padding;
    }
    to += pixel->rows.first * taps + pixel->columns.first * depth;
    for (int32_t left = inside == 0 ? 0 : rows; left > 0; left--) {
        tigris_fill_taps(to, from, 1, inside);
        to += taps;
        from += step;
    }
}

/* Fills a patch with the taps under any kernel. */
static TIGRIS_NOINLINE void gather3(const patch3 *p, uint32_t *patch)
{
    tigris_pixel_loop loop;
    tigris_start_pixels(&loop, p->call, p->first);
    for (; patch != p->end; patch += words_of(p)) {
        for (int32_t i = 0; i < p->pixels * (TIGRIS_PIXELS_TAPS / 2); i += TIGRIS_PIXELS_TAPS / 2) {
            gather_pixel3(p, &loop.pixel, patch + i);
            tigris_next_pixel_inline(&loop);
        }
    }
}

/* Tiles of three among `pixels` pixels, at least two: as many as leave no single pixel. */
static int32_t count_threes(int32_t pixels)
{
    return (pixels % 3 == 1 ? pixels - 4 : pixels) / 3; /* of two none */
}

/* Whether run_patches3 can compute a call. */
static TIGRIS_NOINLINE int has_patches3(const tigris_kernel_call *call)
{
    const tigris_conv_int8_params *params = tigris_params(call);
    const uint32_t depth = tigris_input_tensor(call, 0)->channels;
    return pixels_of(call) > 1 &&
           (is_dense_1x1(call) ||
            (params->groups == 1 && params->dilation_width == 1 &&
             (uint32_t)params->kernel_height * params->kernel_width * depth <= TIGRIS_PATCH_TAPS &&
             (tigris_output_tensor(call)->channels & (BLOCK - 1)) == 0U));
}

/* A pass of a call for which has_patches3 is true. */
static TIGRIS_NOINLINE void run_patches3(const conv_pass *pass)
{
    uint32_t patch[TIGRIS_PIXELS_WORDS];
    const tigris_kernel_call *call = pass->call;
    const tigris_conv_int8_params *params = tigris_params(call);
    const int32_t taps = params->kernel_height * params->kernel_width * (int32_t)tigris_input_tensor(call, 0)->channels;
    patch3 p;
    p.call = call;
    p.pass = pass;
    p.tail = taps & (TIGRIS_TILE_TAPS - 1);
    p.words = (taps - p.tail) / 2;
    p.stride = (int32_t)tigris_output_tensor(call)->channels;
    const int32_t room = TIGRIS_PIXELS_TAPS / 2 / words_of(&p), pixels = pixels_of(call), dense = is_dense_1x1(call);
    int32_t tiles;
    for (p.first = 0; p.first != pixels; p.first += tiles * p.pixels) {
        const int32_t left = pixels - p.first, threes = count_threes(left), all = threes != 0 ? threes : left / 2;
        tiles = all < room ? all : room;
        p.pixels = threes != 0 ? 3 : 2;
        p.end = patch + tiles * words_of(&p);
        if (dense) {
            fill_dense3(&p, patch);
        } else {
            gather3(&p, patch);
        }
        run_channels(&p, patch);
    }
}

#endif
#endif
