/* Part of conv_2d_int8.h, for DSP instructions: pixel tiles of three in a row, for convolutions that
 * conv_patch3_int8.h does not take and whose input channels are a multiple of 16. Taps are copied into im2col tiles
 * (dsp/im2col_int8.h), a kernel row and 16 input channels at a time; their products go to the sums of a batch of output
 * channels.
 *
 * If stride and dilation are 1, the three pixels share columns: a pixel's im2col tiles are those of the columns from
 * its own on. Else each pixel has its own im2col tiles, and those of the three pixels follow each other. */
#ifndef TIGRIS_CONV_PIXELS3_INT8_H
#define TIGRIS_CONV_PIXELS3_INT8_H

#if defined(HAS_TILES) && HAS_TILES && defined(TIGRIS_DSP)
#include "dsp/im2col_int8.h"

#define TAPS TIGRIS_IM2COL_TAPS
#define IM2COL_TILES 6   /* of a patch */
#define OWN_TILES 2      /* of each pixel, if pixels share no columns */
#define PIXELS3_BATCH 32 /* channels, a multiple of BLOCK */
#define SHARED_COLUMNS 4 /* largest kernel width whose pixels share columns */

/* One call, and the pixels that are being computed. */
typedef struct pixels3 {
    const conv_pass *pass;
    const tigris_kernel_call *call;
    int32_t row;     /* of the first pixel's first tap in the band, and its column */
    int32_t column;
    int32_t pixels;  /* three, or two */
    int32_t columns; /* kernel columns in a patch: all if they are shared, else OWN_TILES */
    tigris_steps steps;
} pixels3;

/* Whether the pixels share columns. */
static inline int has_shared_columns(const pixels3 *t)
{
    return t->steps.next_tile == 0;
}

static inline int32_t depth_of(const pixels3 *t)
{
    return (int32_t)tigris_input_tensor(t->call, 0)->channels;
}

/* Fills im2col tiles for `count` columns of kernel row `row`, from column `k` and input channel `at` on. A 1x1
 * kernel has one column, of which `count` im2col tiles are filled. */
static TIGRIS_NOINLINE void fill_im2col(const pixels3 *t, uint32_t at, int32_t k, int32_t row, int32_t count,
                                        uint32_t *patch)
{
    const tigris_conv_int8_params *params = tigris_params(t->call);
    const int32_t width = (int32_t)tigris_input_tensor(t->call, 0)->width, y = t->row + row * params->dilation_height;
    const int32_t columns = params->kernel_width == 1 ? 0 : params->dilation_width;
    const int32_t step = has_shared_columns(t) ? 1 : params->stride_width;
    const int32_t columns_per_pass = has_shared_columns(t) ? t->pixels + count - 1 : t->pixels;
    const uint32_t depth = (uint32_t)depth_of(t);
    const int inside = y >= 0 && y < tigris_input_rows(t->call, 0);
    const int8_t *const input = tigris_int8_input(t->call);
    int32_t left = t->column + k * columns;
    at += (uint32_t)(y * width + left) * depth; /* modulo 2^32, as it may lie outside */
    for (int32_t passes = has_shared_columns(t) ? 1 : count; passes > 0; passes--) {
        uint32_t from = at;
        for (int32_t x = left; x != left + columns_per_pass * step; x += step) {
            patch = inside && x >= 0 && x < width ? tigris_fill_im2col(patch, input + from)
                                                  : tigris_fill_im2col_padding(patch, (int8_t)params->input_zero_point);
            from += (uint32_t)step * depth;
        }
        left += columns;
        at += columns == 0 ? TAPS : (uint32_t)columns * depth;
    }
}

/* Adds the products of all taps to the sums of the channels from `channel` on. */
static TIGRIS_NOINLINE void add_taps(pixels3 *t, int32_t channel, uint32_t *patch, uint32_t *sums, const uint32_t *end)
{
    const tigris_conv_int8_params *params = tigris_params(t->call);
    const int32_t pointwise = params->kernel_width == 1;
    const int32_t columns = pointwise ? depth_of(t) / TAPS : params->kernel_width;
    const int8_t *weights = t->pass->weights + (channel - t->pass->channel) * (t->steps.block / BLOCK);
    for (int32_t row = 0; row < params->kernel_height; row++) {
        for (int32_t at = 0; at < depth_of(t); at += pointwise ? depth_of(t) : TAPS) {
            for (int32_t k = 0; k < columns; k += t->columns) {
                const int32_t count = columns - k < t->columns ? columns - k : t->columns;
                const int32_t tap = pointwise ? row * depth_of(t) + k * TAPS : depth_of(t) * (row * columns + k) + at;
                fill_im2col(t, (uint32_t)(pointwise ? k * TAPS : at), k, row, count, patch);
                t->steps.end = count * (has_shared_columns(t) ? 1 : t->pixels) * TIGRIS_IM2COL_WORDS;
                const int8_t *w = weights + tap * BLOCK;
                if (t->pixels != 3) {
                    tigris_add_im2col_pixels2(patch, w, &t->steps, sums, end);
                } else if (has_shared_columns(t)) {
                    tigris_add_im2col_shared3(patch, w, &t->steps, sums, end);
                } else {
                    tigris_add_im2col_pixels3(patch, w, &t->steps, sums, end);
                }
            }
        }
    }
}

/* The channels of a pass for the pixels from output pixel `first` on. */
TIGRIS_INLINE void run_pixels3(pixels3 *t, int32_t first)
{
    uint32_t patch[IM2COL_TILES * TIGRIS_IM2COL_WORDS];
    uint32_t sums[3 * PIXELS3_BATCH];
    for (int32_t channel = t->pass->channel; channel < t->pass->end; channel += PIXELS3_BATCH) {
        const int32_t left = t->pass->end - channel;
        uint32_t *const end = sums + 3 * (left < PIXELS3_BATCH ? left : PIXELS3_BATCH);
        init_tile(t->call, channel, t->steps.block / BLOCK, sums, end);
        add_taps(t, channel, patch, sums, end);
        requantise_tile(t->call, first, t->pixels, channel, sums, end);
    }
}

/* Whether run_pixels3_rows can compute a call: in tiles of three pixels and of two. */
static TIGRIS_NOINLINE int has_pixels3(const tigris_kernel_call *call)
{
    const tigris_conv_int8_params *params = tigris_params(call);
    const uint32_t depth = tigris_input_tensor(call, 0)->channels;
    return params->groups == 1 && depth % TAPS == 0U && (tigris_output_tensor(call)->channels & (BLOCK - 1)) == 0U &&
           tigris_output_tensor(call)->width > 1U;
}

/* All pixels of a call for which has_pixels3 is true. */
static TIGRIS_NOINLINE void run_pixels3_rows(const conv_pass *pass)
{
    const tigris_kernel_call *call = pass->call;
    const tigris_conv_int8_params *params = tigris_params(call);
    const int32_t width = (int32_t)tigris_output_tensor(call)->width, tail = width - 3 * count_threes(width);
    const int32_t depth = (int32_t)tigris_input_tensor(call, 0)->channels;
    pixels3 t;
    t.pass = pass;
    t.call = call;
    const int shared = params->stride_width == 1 && params->dilation_width == 1 && params->kernel_width > 1 &&
                       params->kernel_width <= SHARED_COLUMNS;
    t.columns = shared ? params->kernel_width : OWN_TILES;
    t.steps.weights_gap = params->kernel_width == 1 ? 0 : (depth - TAPS) * BLOCK;
    t.steps.block = params->kernel_height * params->kernel_width * depth * BLOCK;
    t.row = -tigris_pad_top(tigris_input_band(call, 0));
    for (int32_t first = 0, pixels = tigris_output_rows(call) * width; first != pixels;
         t.row += params->stride_height) {
        t.column = -params->pad_left;
        for (int32_t left = width; left > 0; left -= t.pixels) {
            t.pixels = left > tail ? 3 : 2; /* tiles of two make the tail */
            t.steps.next_tile = shared ? 0 : (t.pixels - 1) * TIGRIS_IM2COL_WORDS;
            run_pixels3(&t, first);
            first += t.pixels;
            t.column += t.pixels * params->stride_width;
        }
    }
}

#endif
#endif
