/* INT4_CONV_2D, int8: CONV_2D of one group with weights of 4 bits (block_int4.h). Pixels are computed in tiles of two,
 * a last odd one alone. */
#include "access.h"
#include "block_int4.h"
#include "check.h"
#include "scale_int8.h"
#include "tigris_kernels.h"
#include "window.h"

/* Outputs of a pixel whose sums are kept at once, a multiple of TIGRIS_INT4_BLOCK. */
#if defined(TIGRIS_DSP)
#define BATCH 32
#else
#define BATCH 16
#endif
/* Taps of a pixel that are in a patch at once, a multiple of TIGRIS_INT4_TAPS. 96 take 128 bytes of stack more than 64.
 * ResNet then takes 6 % fewer instructions on Cortex-M4: rows of 3x3 kernels with 16 or 32 channels fill patches. */
#if defined(TIGRIS_DSP) && !defined(__OPTIMIZE_SIZE__)
#define TAPS 96
#else
#define TAPS 64
#endif

typedef struct int4_conv {
    const tigris_kernel_call *call;
    int32_t depth;    /* input channels */
    int32_t row_taps; /* of a kernel row */
    int32_t taps;     /* of an output */
    int8_t padding;   /* value of a tap in the padding */
} int4_conv;

/* One pixel or two. */
typedef struct int4_pixels {
    tigris_pixel at[2];
    int32_t count;
    int8_t *output; /* of the first; that of the second follows */
} int4_pixels;

/* The taps from `at` on that lie side by side in the input, or in the padding: their number. `from` receives the first
 * in the input, or NULL. */
static TIGRIS_NOINLINE int32_t find_run(const int4_conv *c, const tigris_pixel *pixel, int32_t at, const int8_t **from)
{
    const tigris_conv_int8_params *params = tigris_params(c->call);
    const int together = params->dilation_width == 1 && tigris_tap_count(pixel->columns) == params->kernel_width;
    const int32_t row = at / c->row_taps, in_row = at % c->row_taps, column = together ? 0 : in_row / c->depth;
    const int inside = row >= pixel->rows.first && row < pixel->rows.end &&
                       (together || (column >= pixel->columns.first && column < pixel->columns.end));
    *from = inside ? tigris_int8_input(c->call) + tigris_tap_offset(c->call, pixel, row, column) +
                         (in_row - column * c->depth)
                   : NULL;
    return (together ? c->row_taps : (column + 1) * c->depth) - in_row;
}

/* Fills a tile of a patch with up to four taps from the kernel's tap `at` on. Returns their sum. */
static TIGRIS_NOINLINE uint32_t fill_mixed(const int4_conv *c, const tigris_pixel *pixel, int32_t at, int32_t count,
                                           uint32_t *patch)
{
    int8_t tile[TIGRIS_INT4_TAPS];
    for (int32_t i = 0; i < count; i++) {
        const int8_t *from;
        find_run(c, pixel, at + i, &from);
        tile[i] = from == NULL ? c->padding : *from;
    }
    return tigris_int4_fill(patch, 0, tile, count);
}

/* Fills the tiles of a patch, `step` words from each other, with taps from the kernel's tap `at` up to `end`. Returns
 * their sum. Tiles whose taps lie side by side in the input are read in place. */
static TIGRIS_NOINLINE uint32_t gather(const int4_conv *c, const tigris_pixel *pixel, int32_t at, int32_t end,
                                       int32_t step, uint32_t *patch)
{
    uint32_t sum = 0;
    while (at < end) {
        const int8_t *from;
        const int32_t run = find_run(c, pixel, at, &from), left = end - at;
        int32_t taken = run < left ? run & ~(TIGRIS_INT4_TAPS - 1) : left;
        if (taken == 0 || (from == NULL && taken % TIGRIS_INT4_TAPS != 0)) {
            taken = left < TIGRIS_INT4_TAPS ? left : TIGRIS_INT4_TAPS;
            sum += fill_mixed(c, pixel, at, taken, patch);
        } else if (from != NULL) {
            sum += tigris_int4_fill(patch, step, from, taken);
        } else {
            sum += tigris_int4_fill_same(patch, step, c->padding, taken);
        }
        at += taken;
        patch += tigris_int4_tiles(taken) * step;
    }
    return sum;
}

/* Adds a part of the taps to the sums up to `end`; `w`: the weights of the first block of outputs. An output has as
 * many sums as there are pixels. */
static TIGRIS_NOINLINE void add_part(const uint32_t *patch, const uint32_t *w, int32_t block_words, int32_t tiles,
                                     int32_t pixels, uint32_t *sums, const uint32_t *end)
{
    for (; sums != end; sums += pixels * TIGRIS_INT4_BLOCK) {
        if (pixels == 2) {
            tigris_int4_add_2x2(patch, w, tiles, sums);
            tigris_int4_add_2x2(patch, w + 1, tiles, sums + 4);
        } else {
            tigris_int4_add_1x4(patch, w, tiles, sums);
        }
        w += block_words;
    }
}

/* Requantises the sums of `count` outputs from `channel` on, less `raised` of each pixel. */
static TIGRIS_NOINLINE void finish(const int4_conv *c, const int4_pixels *pixels, int32_t channel, int32_t count,
                                   const uint32_t *sums, const uint32_t raised[2])
{
    const tigris_conv_int8_params *params = tigris_params(c->call);
    const tigris_output_stage stage = {params->output_zero_point, params->activation_min, params->activation_max};
    const int32_t *multiplier = tigris_int32_data(c->call, params->multiplier) + channel;
    const int8_t *shift = tigris_int8_data(c->call, params->shift) + channel;
    const int32_t fast_above = tigris_fast_above(stage), step = pixels->count;
    int8_t *to = pixels->output + channel, *other = to + (step - 1) * (int32_t)tigris_output_tensor(c->call)->channels;
    const uint32_t lost = raised[0], other_lost = raised[step - 1];
    for (const int8_t *const end = to + count; to != end; sums += step, multiplier++, shift++) {
        /* NOLINTNEXTLINE(clang-analyzer-core.UndefinedBinaryOperatorResult): `start` initialises blocks of outputs */
        const uint32_t a = sums[0] - lost, b = sums[step - 1] - other_lost;
        if (tigris_is_fast_scale(*multiplier, *shift, fast_above)) {
            const tigris_scale scale = tigris_scale_of(*multiplier, *shift, stage);
            *other++ = (int8_t)tigris_requantise_fast(b, scale, stage);
            *to++ = (int8_t)tigris_requantise_fast(a, scale, stage);
        } else {
            *other++ = (int8_t)tigris_requantise_slow(b, *multiplier, *shift, stage);
            *to++ = (int8_t)tigris_requantise_slow(a, *multiplier, *shift, stage);
        }
    }
}

/* Initialises the sums of a batch of channels with their bias; `most`: channels that have one. */
static TIGRIS_NOINLINE void start(const int32_t *bias, int32_t most, int32_t pixels, uint32_t *sums,
                                  const uint32_t *end)
{
    for (; sums != end && most >= 4 && pixels == 2; most -= 4) {
        sums[0] = sums[1] = (uint32_t)bias[0], sums[2] = sums[3] = (uint32_t)bias[1];
        sums[4] = sums[5] = (uint32_t)bias[2], sums[6] = sums[7] = (uint32_t)bias[3];
        bias += 4;
        sums += 8;
    }
    for (; sums != end; most--) {
        const uint32_t initial = most > 0 ? (uint32_t)*bias++ : 0U;
        *sums++ = initial;
        if (pixels == 2) {
            *sums++ = initial;
        }
    }
}

/* The outputs of one pixel or two, from `channel` up to `end`. */
static TIGRIS_NOINLINE void run_pixels(const int4_conv *c, const int4_pixels *pixels, int32_t channel, int32_t end)
{
    const tigris_conv_int8_params *params = tigris_params(c->call);
    const int32_t block_words = 2 * tigris_int4_tiles(c->taps), count = pixels->count;
    const uint32_t *weights = (const uint32_t *)(const void *)tigris_int8_data(c->call, params->weights);
    const int32_t *bias = tigris_int32_data(c->call, params->bias);
    uint32_t patch[TAPS], sums[2 * BATCH], raised[2] = {0U, 0U};
    weights += channel / TIGRIS_INT4_BLOCK * block_words;
    for (int32_t taps = 0, outputs; channel < end; channel += outputs) {
        outputs = end - channel < BATCH ? end - channel : BATCH;
        uint32_t *const last = sums + count * ((outputs + TIGRIS_INT4_BLOCK - 1) & ~(TIGRIS_INT4_BLOCK - 1));
        start(bias + channel, outputs, count, sums, last);
        for (int32_t at = 0; at < c->taps; at += taps) {
            if (taps != c->taps) { /* else the patch holds all taps already */
                taps = c->taps - at < TAPS ? c->taps - at : TAPS;
                for (int32_t i = 0; i < count; i++) {
                    const uint32_t more = TIGRIS_INT4_RAISED *
                                          gather(c, &pixels->at[i], at, at + taps, 2 * count, patch + 2 * i);
                    raised[i] = at == 0 ? more : raised[i] + more;
                }
            }
            add_part(patch, weights + 2 * tigris_int4_tiles(at), block_words, tigris_int4_tiles(taps), count, sums,
                     last);
        }
        weights += BATCH / TIGRIS_INT4_BLOCK * block_words;
        finish(c, pixels, channel, outputs, sums, raised);
    }
}

/* The outputs from `channel` up to `end` of all pixels. */
TIGRIS_HOT
static void run_pass(const int4_conv *c, int32_t channel, int32_t end)
{
    const int32_t channels = (int32_t)tigris_output_tensor(c->call)->channels;
    tigris_pixel_loop loop;
    int4_pixels pixels;
    tigris_start_pixels(&loop, c->call, 0);
    pixels.output = tigris_int8_output(c->call);
    const int32_t width = (int32_t)tigris_output_tensor(c->call)->width;
    for (int32_t left = tigris_output_rows(c->call) * width; left > 0; left -= 2) {
        pixels.count = left > 1 ? 2 : 1;
        pixels.at[0] = loop.pixel;
        tigris_next_pixel(&loop);
        if (left > 1) {
            pixels.at[1] = loop.pixel;
            tigris_next_pixel(&loop);
        }
        run_pixels(c, &pixels, channel, end);
        pixels.output += 2 * channels;
    }
}

/* Weights beyond a flash cache are read in passes over the pixels, as conv_2d_int8.h does. */
#define PASS_BYTES 8192

TIGRIS_HOT
static void run(const tigris_kernel_call *call)
{
    const tigris_conv_int8_params *params = tigris_params(call);
    const int32_t channels = (int32_t)tigris_output_tensor(call)->channels;
    const int32_t depth = (int32_t)tigris_input_tensor(call, 0)->channels, row_taps = params->kernel_width * depth;
    const int4_conv c = {call, depth, row_taps, params->kernel_height * row_taps,
                         (int8_t)params->input_zero_point};
    int32_t step = channels;
    if (channels * c.taps > 3 * PASS_BYTES) {
        const int32_t most = 2 * PASS_BYTES / c.taps;
        step = most < BATCH ? BATCH : most - most % BATCH;
    }
    for (int32_t channel = 0; channel < channels; channel += step) {
        run_pass(&c, channel, channels - channel < step ? channels : channel + step);
    }
}

static tigris_status check(const tigris_check_call *call)
{
    const tigris_conv_int8_params *params = call->params;
    if (params->groups != 1U || call->op->operand_count != 1U) {
        return TIGRIS_ERR_PARAMS;
    }
    const uint32_t window = (uint32_t)params->kernel_height * params->kernel_width;
    const uint32_t taps = tigris_multiply(window, call->inputs[0]->channels);
    return tigris_check_result(
        tigris_check_convolution_int8(call, tigris_int4_words(taps, call->output->channels), sizeof(uint32_t)));
}

TIGRIS_KERNEL_ENTRY(tigris_int4_conv_2d_int8, INT4_CONV_2D, INT8, tigris_conv_int8_params, run, check);
