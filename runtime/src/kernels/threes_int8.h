/* Three pixels of a row at a time, a part of conv_2d_int8.h for DSP instructions: convolutions of more than 1x1, and
 * 1x1 of many taps, whose input channels are whole slots. Taps go into slots (dsp/slots_int8.h), a kernel row and 16
 * input channels at a time, and are added to the sums of a batch of output channels.
 *
 * Under kernels of stride 1 the three pixels share columns: a pixel's slots are the columns' from its own on.
 * Otherwise each pixel has slots of its own, those of the three one after the other. */
#ifndef TIGRIS_THREES_INT8_H
#define TIGRIS_THREES_INT8_H

#if defined(TAKES_THREES) && TAKES_THREES
#include "dsp/slots_int8.h"

#define SLOT TIGRIS_SLOT_TAPS
#define SLOTS 6          /* of a patch */
#define OWN_SLOTS 2      /* of each of three pixels that share none */
#define THREES_BATCH 32  /* channels, a multiple of BLOCK */
#define SHARED_COLUMNS 4 /* of kernels whose pixels share them, at most */

/* One call, and the pixels that are made. */
typedef struct threes {
    const tigris_kernel_call *call;
    int32_t row;     /* of the first pixel's first tap in the band, and its column */
    int32_t column;
    int32_t pixels;  /* three, or two */
    int32_t columns; /* of the kernel that a patch holds: all that are shared, else as many as there is room for */
    tigris_walk walk;
} threes;

/* Whether the pixels share columns. */
static inline int shares(const threes *t)
{
    return t->walk.across == 0;
}

static inline int32_t depth_of(const threes *t)
{
    return (int32_t)t->call->inputs[0].tensor->channels;
}

/* Slots of a kernel's row, from the bytes `at` of its taps and from its column `k` on, for `count` of its columns;
 * of a 1x1 kernel, `count` slots of the one it has. */
static TIGRIS_NOINLINE void fill_slots(const threes *t, uint32_t at, int32_t k, int32_t row, int32_t count, uint32_t *patch)
{
    const tigris_conv_int8_params *params = t->call->params;
    const int32_t width = (int32_t)t->call->inputs[0].tensor->width, y = t->row + row * params->dilation_height;
    const int32_t columns = params->kernel_width == 1 ? 0 : params->dilation_width;
    const int32_t step = shares(t) ? 1 : params->stride_width, in_turn = shares(t) ? t->pixels + count - 1 : t->pixels;
    const uint32_t depth = (uint32_t)depth_of(t);
    const int inside = y >= 0 && y < t->call->inputs[0].rows;
    const int8_t *const input = (const int8_t *)(const void *)t->call->inputs[0].data;
    int32_t left = t->column + k * columns;
    at += (uint32_t)(y * width + left) * depth; /* modulo 2^32, as it may lie outside */
    for (int32_t turns = shares(t) ? 1 : count; turns > 0; turns--) {
        uint32_t from = at;
        for (int32_t x = left; x != left + in_turn * step; x += step) {
            patch = inside && x >= 0 && x < width ? tigris_fill_slot(patch, input + from)
                                                  : tigris_fill_slot_with(patch, (int8_t)params->input_zero_point);
            from += (uint32_t)step * depth;
        }
        left += columns;
        at += columns == 0 ? SLOT : (uint32_t)columns * depth;
    }
}

/* Sums of the channels from `channel` on begin with biases. */
static TIGRIS_NOINLINE void begin_threes(const tigris_kernel_call *call, int32_t channel, uint32_t *sums, const uint32_t *end)
{
    const int32_t *bias = tigris_int32_data(call, ((const tigris_conv_int8_params *)call->params)->bias) + channel;
    for (; sums != end; sums += 3) {
        sums[0] = sums[1] = sums[2] = (uint32_t)*bias++;
    }
}

/* The sums of channels from `channel` on become outputs of the pixels from `first` on. */
static TIGRIS_NOINLINE TIGRIS_FLATTEN void finish_threes(const threes *t, int32_t first, int32_t channel,
                                                         const uint32_t *sums, const uint32_t *end)
{
    const tigris_conv_int8_params *params = t->call->params;
    const tigris_output_stage stage = {params->output_zero_point, params->activation_min, params->activation_max};
    const int32_t fast_above = tigris_fast_above(stage);
    const int32_t *multipliers = tigris_int32_data(t->call, params->multiplier) + channel;
    const int8_t *shifts = tigris_int8_data(t->call, params->shift) + channel;
    const int32_t channels = (int32_t)t->call->output->tensor->channels, last = t->pixels == 3 ? 2 * channels : channels;
    int8_t *output = tigris_int8_output(t->call) + first * channels + channel;
    for (; sums != end; sums += 3, output++) {
        const int32_t multiplier = *multipliers++, shift = *shifts++;
        uint32_t a = sums[0], b = sums[1], c = sums[2];
        if (tigris_is_fast_scale(multiplier, shift, fast_above)) {
            const tigris_scale scale = tigris_scale_of(multiplier, shift, stage);
            c = (uint32_t)tigris_requantise_fast(c, scale, stage);
            b = (uint32_t)tigris_requantise_fast(b, scale, stage);
            a = (uint32_t)tigris_requantise_fast(a, scale, stage);
        } else {
            c = (uint32_t)tigris_requantise_slow(c, multiplier, shift, stage);
            b = (uint32_t)tigris_requantise_slow(b, multiplier, shift, stage);
            a = (uint32_t)tigris_requantise_slow(a, multiplier, shift, stage);
        }
        output[last] = (int8_t)c; /* of two pixels the second's, which the next overwrites */
        output[channels] = (int8_t)b;
        *output = (int8_t)a;
    }
}

/* Adds the products of all taps to the sums of the channels from `channel` on. */
static TIGRIS_NOINLINE void add_taps(threes *t, int32_t channel, uint32_t *patch, uint32_t *sums, const uint32_t *end)
{
    const tigris_conv_int8_params *params = t->call->params;
    const int32_t pointwise = params->kernel_width == 1, columns = pointwise ? depth_of(t) / SLOT : params->kernel_width;
    const int8_t *weights = tigris_int8_data(t->call, params->weights) + channel * (t->walk.block / BLOCK);
    for (int32_t row = 0; row < params->kernel_height; row++) {
        for (int32_t at = 0; at < depth_of(t); at += pointwise ? depth_of(t) : SLOT) {
            for (int32_t k = 0; k < columns; k += t->columns) {
                const int32_t count = columns - k < t->columns ? columns - k : t->columns;
                const int32_t tap = pointwise ? row * depth_of(t) + k * SLOT : depth_of(t) * (row * columns + k) + at;
                fill_slots(t, (uint32_t)(pointwise ? k * SLOT : at), k, row, count, patch);
                t->walk.end = count * (shares(t) ? 1 : t->pixels) * TIGRIS_SLOT_WORDS;
                const int8_t *w = weights + tap * BLOCK;
                if (t->pixels != 3) {
                    tigris_add_pairs_in_slots(patch, w, &t->walk, sums, end);
                } else if (shares(t)) {
                    tigris_add_sharing_threes(patch, w, &t->walk, sums, end);
                } else {
                    tigris_add_threes_in_slots(patch, w, &t->walk, sums, end);
                }
            }
        }
    }
}

/* All channels of the pixels from output pixel `first` on. */
TIGRIS_INLINE void run_threes(threes *t, int32_t first)
{
    uint32_t patch[SLOTS * TIGRIS_SLOT_WORDS];
    uint32_t sums[3 * THREES_BATCH];
    const int32_t channels = (int32_t)t->call->output->tensor->channels;
    for (int32_t channel = 0; channel < channels; channel += THREES_BATCH) {
        const int32_t left = channels - channel;
        uint32_t *const end = sums + 3 * (left < THREES_BATCH ? left : THREES_BATCH);
        begin_threes(t->call, channel, sums, end);
        add_taps(t, channel, patch, sums, end);
        finish_threes(t, first, channel, sums, end);
    }
}

/* Whether rows go three pixels at a time, or two. */
static TIGRIS_NOINLINE int takes_threes(const tigris_kernel_call *call)
{
    const tigris_conv_int8_params *params = call->params;
    const uint32_t depth = call->inputs[0].tensor->channels;
    return params->groups == 1 && depth % SLOT == 0U && (call->output->tensor->channels & (BLOCK - 1)) == 0U &&
           call->output->tensor->width > 1U;
}

/* All pixels of a call that takes threes. */
static TIGRIS_NOINLINE void run_rows(const tigris_kernel_call *call)
{
    const tigris_conv_int8_params *params = call->params;
    const int32_t width = (int32_t)call->output->tensor->width, last_pairs = width - 3 * tigris_threes_of(width);
    const int32_t depth = (int32_t)call->inputs[0].tensor->channels;
    threes t;
    t.call = call;
    const int shared = params->stride_width == 1 && params->dilation_width == 1 && params->kernel_width > 1 &&
                       params->kernel_width <= SHARED_COLUMNS;
    t.columns = shared ? params->kernel_width : OWN_SLOTS;
    t.walk.apart = params->kernel_width == 1 ? 0 : (depth - SLOT) * BLOCK;
    t.walk.block = params->kernel_height * params->kernel_width * depth * BLOCK;
    t.row = -call->inputs[0].pad_top;
    for (int32_t first = 0, pixels = call->output->rows * width; first != pixels; t.row += params->stride_height) {
        t.column = -params->pad_left;
        for (int32_t left = width; left > 0; left -= t.pixels) {
            t.pixels = left > last_pairs ? 3 : 2;
            t.walk.across = shared ? 0 : (t.pixels - 1) * TIGRIS_SLOT_WORDS;
            run_threes(&t, first);
            first += t.pixels;
            t.column += t.pixels * params->stride_width;
        }
    }
}

#endif
#endif
