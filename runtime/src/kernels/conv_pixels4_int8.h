/* Part of conv_2d_int8.h: pixel tiles of four, whose weights are loaded once for two tiles of two. That needs the
 * registers of RISC-V. To save stack, patches and sums hold fewer taps and channels than those of tiles of two.
 * There are two forms:
 *
 * - Patches hold all taps, and sums become outputs at once: any kernel of at most PIXELS4_TAPS taps.
 * - im2col tiles hold 16 taps, for a batch of channels: 1x1 with more taps, and pixels of a row under 3x3 of stride 1.
 *
 * A word holds a tap of the first and the third pixel, or of the second and the fourth: under 3x3 the words of a
 * column then serve both. */
#ifndef TIGRIS_CONV_PIXELS4_INT8_H
#define TIGRIS_CONV_PIXELS4_INT8_H

#if defined(HAS_TILES) && HAS_TILES && defined(TIGRIS_PIXELS4)
#define PIXELS4_TAPS 40  /* of patches that are gathered, a multiple of a tile's */
#define PIXELS4_BATCH 16 /* channels, a multiple of BLOCK */
#define TAPS TIGRIS_IM2COL_TAPS
#define IM2COL_TILES 4

static TIGRIS_NOINLINE TIGRIS_FLATTEN void run_small_patch(const conv_pass *pass, const uint32_t *patch, int32_t taps,
                                                           int32_t first)
{
    run_patch(pass, patch, PIXELS4_TAPS, taps, first, 4);
}

/* `count` pixels under a kernel of at most PIXELS4_TAPS taps. Returns `count`. */
static TIGRIS_NOINLINE int32_t run_gathered_pixels4(const conv_pass *pass, int32_t count)
{
    uint32_t patch[2 * PIXELS4_TAPS];
    tigris_pixel_loop loop;
    conv c;
    tigris_pixel pixels[4];
    unpack(&c, pass);
    tigris_start_pixels(&loop, pass->call, 0);
    for (int32_t first = 0; first != count; first += 4) {
        for (int32_t i = 0; i < 4; i++) {
            pixels[i] = loop.pixel;
            tigris_next_pixel(&loop);
        }
        for (int32_t i = 0; i < 2; i++) {
            c.pixels[0] = &pixels[i];
            c.pixels[1] = &pixels[i + 2];
            gather(&c, 0, c.kernel_size, patch + i * PIXELS4_TAPS);
        }
        run_small_patch(pass, patch, c.kernel_size, first);
    }
    return count;
}

/* ---- from im2col tiles ---- */

/* Where a call reads its im2col tiles. */
typedef struct im2col_source {
    const tigris_kernel_call *call;
    const int8_t *input; /* first tap of the first pixel; meaningless if that tap is padding */
    int32_t depth;
    int32_t row;         /* of its first tap in the band, and its column */
    int32_t column;
    int8_t padding;
} im2col_source;

/* Fills the im2col tiles of kernel row `row`: in each column the 16 input channels from `at` on. */
static TIGRIS_NOINLINE void fill_columns(const im2col_source *f, int32_t row, int32_t at, uint32_t *patch)
{
    const int32_t width = (int32_t)tigris_input_tensor(f->call, 0)->width, y = f->row + row;
    const int inside = y >= 0 && y < tigris_input_rows(f->call, 0);
    const int8_t *from = f->input + row * width * f->depth + at;
    for (int32_t x = f->column; x != f->column + IM2COL_TILES; x++) {
        const int a = inside && x >= 0 && x < width, b = inside && x + 2 >= 0 && x + 2 < width;
        tigris_fill_patch(patch, 0, a ? from : &f->padding, a, b ? from + 2 * f->depth : &f->padding, b, TAPS);
        from += f->depth;
        patch += TAPS;
    }
}

/* Fills the im2col tiles of a 1x1 kernel: 32 taps of each pixel from `at` on. */
static TIGRIS_NOINLINE void fill_pixels(const im2col_source *f, int32_t at, uint32_t *patch)
{
    const int32_t depth = f->depth;
    const int8_t *from = f->input + at;
    tigris_fill_patch(patch, 0, from, 1, from + 2 * depth, 1, 2 * TAPS);
    tigris_fill_patch(patch, 2 * TAPS, from + depth, 1, from + 3 * depth, 1, 2 * TAPS);
}

/* Adds the products of the tiles that fill_pixels has filled to the sums of blocks up to `end`. */
static TIGRIS_NOINLINE void add_pixels(const uint32_t *patch, const int8_t *weights, int32_t step, uint32_t *sums,
                                       const uint32_t *end)
{
    for (; sums != end; sums += 4 * BLOCK) {
        tigris_add_4x4(patch, 2 * TAPS, weights, 2 * TAPS, 0, sums);
        weights += step;
    }
}

/* `count` pixels, a multiple of four. Returns `count`. */
static TIGRIS_NOINLINE int32_t run_im2col_pixels4(const conv_pass *pass, int32_t count)
{
    const tigris_kernel_call *call = pass->call;
    const tigris_conv_int8_params *params = tigris_params(call);
    im2col_source f = {call, NULL, (int32_t)tigris_input_tensor(call, 0)->channels,
                       -tigris_pad_top(tigris_input_band(call, 0)), -params->pad_left,
                       (int8_t)params->input_zero_point};
    const int32_t taps = params->kernel_height * params->kernel_width * f.depth;
    uint32_t patch[IM2COL_TILES * TAPS];
    uint32_t sums[4 * PIXELS4_BATCH];
    f.input = tigris_int8_input(call) + (f.row * (int32_t)tigris_output_tensor(call)->width + f.column) * f.depth;
    for (int32_t first = 0; first != count; first += 4) {
        for (int32_t channel = pass->channel, left; (left = pass->end - channel) > 0; channel += PIXELS4_BATCH) {
            uint32_t *const end = sums + 4 * (left < PIXELS4_BATCH ? left : PIXELS4_BATCH);
            const int8_t *const weights = pass->weights + (channel - pass->channel) * taps;
            init_tile(call, channel, taps, sums, end);
            if (params->kernel_height == 1) {
                for (int32_t at = 0; at < taps; at += 2 * TAPS) {
                    fill_pixels(&f, at, patch);
                    add_pixels(patch, weights + at * BLOCK, taps * BLOCK, sums, end);
                }
            } else {
                for (int32_t row = 0; row < 3; row++) {
                    for (int32_t at = 0; at < f.depth; at += TAPS) {
                        fill_columns(&f, row, at, patch);
                        tigris_add_im2col_pixels4(patch, weights + (3 * row * f.depth + at) * BLOCK, f.depth, sums,
                                                  end);
                    }
                }
            }
            requantise_tile(call, first, 4, channel, sums, end);
        }
        f.input += 4 * f.depth;
        f.column += 4;
        if (f.column + params->pad_left == (int32_t)tigris_output_tensor(call)->width) {
            f.column = -params->pad_left;
            f.row++;
        }
    }
    return count;
}

/* Computes as many leading pixels of a call as tiles of four can. Returns how many. */
static TIGRIS_NOINLINE int32_t run_first_pixels4(const conv_pass *pass)
{
    const tigris_kernel_call *call = pass->call;
    const tigris_conv_int8_params *params = tigris_params(call);
    const tigris_band *in = tigris_input_band(call, 0);
    const int32_t pixels = pixels_of(call), width = (int32_t)tigris_output_tensor(call)->width;
    const int32_t size = params->kernel_height, depth = (int32_t)tigris_tensor_of(in)->channels / params->groups;
    if (is_dense_1x1(call)) {
        run_dense_pixels(pass);
        return pixels;
    }
    if (pixels < 4 || ((pass->end - pass->channel) & (BLOCK - 1)) != 0) {
        return 0;
    }
    if (size * params->kernel_width * depth <= PIXELS4_TAPS) {
        return run_gathered_pixels4(pass, pixels & ~3);
    }
    if (params->kernel_width != size || params->stride_height * params->stride_width * params->groups != 1 ||
        (int32_t)tigris_tensor_of(in)->width != width) {
        return 0;
    }
    const int is_dense = size == 1 && params->pad_left == 0 && tigris_pad_top(in) == 0 &&
                         tigris_row_count(in) == tigris_output_rows(call) && depth % (2 * TAPS) == 0;
    const int is_3x3 = size == 3 && params->dilation_height * params->dilation_width == 1 && depth % TAPS == 0 &&
                       width % 4 == 0;
    return is_dense || is_3x3 ? run_im2col_pixels4(pass, pixels & ~3) : 0;
}

#endif
#endif
