/* Part of conv_2d_int8.h: dense 1x1 convolutions, whose pixels are adjacent in input and output: stride 1, no padding,
 * one group. RISC-V has tiles of four, whose patch holds all taps; the sums of a block become outputs at once.
 * conv_patch3_int8.h computes them with DSP instructions. Elsewhere and for the remainder the tiles of
 * conv_pixels2_int8.h are as fast. */
#ifndef TIGRIS_CONV_1X1_INT8_H
#define TIGRIS_CONV_1X1_INT8_H

#if defined(HAS_TILES) && HAS_TILES
/* Whether a call is a dense 1x1 with at least two pixels, at most TIGRIS_PIXELS_TAPS input channels in whole weight
 * tiles, and output channels in whole blocks. */
static TIGRIS_NOINLINE int is_dense_1x1(const tigris_kernel_call *call)
{
    const tigris_conv_int8_params *params = tigris_params(call);
    const uint32_t depth = tigris_input_tensor(call, 0)->channels;
    return pixels_of(call) > 1 && params->groups == 1U && tigris_is_dense_1x1(call) &&
           depth <= TIGRIS_PIXELS_TAPS && (depth & (TIGRIS_TILE_TAPS - 1)) == 0U &&
           (tigris_output_tensor(call)->channels & (BLOCK - 1)) == 0U;
}

#if defined(TIGRIS_PIXELS4)
/* Outputs of a tile of `pixels` pixels from a patch of all its taps, with room for `most`. Both are constants. */
TIGRIS_INLINE void run_patch(const conv_pass *pass, const uint32_t *patch, int32_t most, int32_t taps, int32_t first,
                             int32_t pixels)
{
    const tigris_kernel_call *call = pass->call;
    const tigris_conv_int8_params *params = tigris_params(call);
    const tigris_output_stage stage = {params->output_zero_point, params->activation_min, params->activation_max};
    const int32_t stride = (int32_t)tigris_output_tensor(call)->channels, fast_above = tigris_fast_above(stage);
    const int8_t *weights = pass->weights;
    const int32_t *bias = tigris_int32_data(call, params->bias) + pass->channel;
    const int32_t *multipliers = tigris_int32_data(call, params->multiplier) + pass->channel;
    const int8_t *shifts = tigris_int8_data(call, params->shift) + pass->channel;
    const uint32_t block_bias = tigris_block_bias(taps);
    int8_t *output = tigris_int8_output(call) + first * stride + pass->channel;
    for (const int8_t *const end = output + (pass->end - pass->channel); output != end;) {
        uint32_t sums[TIGRIS_PIXELS * BLOCK];
        for (int32_t i = 0; i < pixels * BLOCK; i += pixels) {
            tigris_init_pixels(&sums[i], pixels, *bias++, block_bias);
        }
        tigris_add_pixels(patch, most, weights, taps, sums, pixels);
        weights += taps * BLOCK;
        for (const uint32_t *sum = sums; sum != sums + pixels * BLOCK; sum += pixels) {
            requantise_pixels(sum, pixels, *multipliers++, *shifts++, stage, fast_above, output++,
                              stride, (pixels - 1) * stride);
        }
    }
}

/* Fills a patch with the taps of `pixels` pixels of a dense 1x1. Returns the taps of one. */
TIGRIS_INLINE int32_t fill_dense(const conv_pass *pass, int32_t first, int32_t pixels, uint32_t *patch)
{
    const int32_t depth = (int32_t)tigris_input_tensor(pass->call, 0)->channels;
    tigris_fill_pixels(patch, tigris_int8_input(pass->call) + first * depth, depth, pixels);
    return depth;
}

/* The pixels of a dense 1x1 from `first` up to `end`, whole tiles. */
static TIGRIS_NOINLINE TIGRIS_FLATTEN void run_dense(const conv_pass *pass, int32_t first, int32_t end)
{
    uint32_t patch[TIGRIS_PIXELS_WORDS];
    for (; first != end; first += TIGRIS_PIXELS) {
        const int32_t depth = fill_dense(pass, first, TIGRIS_PIXELS, patch);
        run_patch(pass, patch, TIGRIS_PATCH_TAPS, depth, first, TIGRIS_PIXELS);
    }
}

/* Likewise in tiles of two. */
static TIGRIS_NOINLINE TIGRIS_FLATTEN void run_dense_pixels2(const conv_pass *pass, int32_t first, int32_t end)
{
    uint32_t patch[TIGRIS_PATCH_TAPS];
    for (; first != end; first += 2) {
        const int32_t depth = fill_dense(pass, first, 2, patch);
        run_patch(pass, patch, TIGRIS_PATCH_TAPS, depth, first, 2);
    }
}

/* All pixels of a dense 1x1. With three left, a last tile of four computes a pixel again: the loops for one and two
 * pixels would be as slow, and more code to fetch. */
static TIGRIS_NOINLINE void run_dense_pixels(const conv_pass *pass)
{
    const int32_t pixels = pixels_of(pass->call), fours = pixels & ~3, last = pixels - 1;
    run_dense(pass, 0, fours);
    if (pixels - fours == 3 && fours != 0) {
        run_dense(pass, pixels - 4, pixels);
        return;
    }
    if ((pixels & 2) != 0) {
        run_dense_pixels2(pass, fours, fours + 2);
    }
    if ((pixels & 1) != 0) {
        const int32_t depth = (int32_t)tigris_input_tensor(pass->call, 0)->channels;
        const int32_t channels = (int32_t)tigris_output_tensor(pass->call)->channels;
        conv c;
        unpack(&c, pass);
        run_taps(&c, pass, tigris_int8_input(pass->call) + last * depth,
                 tigris_int8_output(pass->call) + last * channels + pass->channel);
    }
}
#endif

#endif
#endif
