/* CONV_2D of int8 with MVE.
 *
 * The taps of a strip of output pixels are copied into a patch, with the padding filled in and in the order in which
 * packed weights hold theirs (tigris_pio/compiler/weights/packing.py). Two pixels by four channels are then computed at a
 * time: VLD4 takes four tiles of a block apart into 16 taps of each of its four channels, VMLADAVA adds 16 products. 128
 * products are 6 loads and 8 VMLADAVA; eight sums are all the registers that the instruction can add to. */
#include "mve.h"

#if TIGRIS_MVE

#include "../access.h"
#include "tiles.h"

#define BLOCK TIGRIS_MVE_BLOCK
#define PATCH_BYTES 1152
#define MOST_PIXELS 16 /* of a strip, even */

typedef struct conv {
    const tigris_kernel_call *call;
    const tigris_conv_int8_params *params;
    const int8_t *input;
    const int8_t *weights;
    const int32_t *bias;
    const int32_t *multiplier;
    const int8_t *shift;
    int32_t width;    /* of the input */
    int32_t depth;    /* channels of the input */
    int32_t channels; /* of the output */
    int32_t taps;
    int32_t pitch; /* bytes from a pixel's taps in the patch to the next's */
    int32_t pixels; /* of a strip, even */
    int is_plain;   /* 1x1, stride 1, no padding: taps are the input's bytes */
    int shifts_right;
} conv;

/* Where the next output pixel reads. */
typedef struct conv_place {
    int32_t x;
    int32_t row;
    int32_t column;
} conv_place;

/* ---- taps into the patch ---- */

/* The taps of kernel row `row` of the input, `from` its first column's, some of which are padding. */
static void border_row(const conv *c, const int8_t *row, int32_t column, int8_t *to)
{
    const tigris_conv_int8_params *params = c->params;
    const int8_t padding = (int8_t)params->input_zero_point;
    for (int32_t tap = 0; tap < params->kernel_width; tap++) {
        if (row != NULL && column >= 0 && column < c->width) {
            tigris_mve_copy(to, row + column * c->depth, c->depth);
        } else {
            tigris_mve_fill(to, padding, c->depth);
        }
        column += params->dilation_width;
        to += c->depth;
    }
}

static void take_pixel(const conv *c, const conv_place *place, int8_t *to)
{
    const tigris_conv_int8_params *params = c->params;
    const int32_t run = params->kernel_width * c->depth, row_bytes = c->width * c->depth;
    const int32_t rows = c->call->inputs[0].rows;
    const int whole_rows = params->dilation_width == 1 && place->column >= 0 &&
                           place->column + params->kernel_width <= c->width;
    int32_t row = place->row;
    for (int32_t tap = 0; tap < params->kernel_height; tap++) {
        const int8_t *from = row >= 0 && row < rows ? c->input + row * row_bytes : NULL;
        if (whole_rows && from != NULL) {
            tigris_mve_copy(to, from + place->column * c->depth, run);
        } else {
            border_row(c, from, place->column, to);
        }
        row += params->dilation_height;
        to += run;
    }
}

static void next_place(const conv *c, conv_place *place)
{
    place->column += c->params->stride_width;
    if (++place->x == (int32_t)c->call->output->tensor->width) {
        place->x = 0;
        place->column = -c->params->pad_left;
        place->row += c->params->stride_height;
    }
}

static void fill_patch(const conv *c, conv_place *place, int32_t pixels, int8_t *patch)
{
    if (c->is_plain && c->pitch == c->taps) {
        tigris_mve_copy(patch, c->input + (place->row * c->width + place->column) * c->depth, pixels * c->taps);
        for (int32_t i = 0; i < pixels; i++) {
            next_place(c, place);
        }
    } else {
        int8_t *to = patch;
        for (int32_t i = 0; i < pixels; i++) {
            take_pixel(c, place, to);
            next_place(c, place);
            to += c->pitch;
        }
    }
    tigris_mve_order_taps(patch, pixels * c->pitch);
}

/* ---- channels from the patch ---- */

/* The sums of two pixels' four channels, and the weights behind whole tiles; NULL when there are none. */
typedef struct conv_sums {
    int32_t of[2][BLOCK];
    const int8_t *rest;
} conv_sums;

/* Adds `count` times 16 products to each sum, then 16 with the rest of the weights. At least one time of either. */
TIGRIS_INLINE void add_products(const int8_t *weights, const int8_t *first, const int8_t *second, int32_t count,
                                conv_sums *sums)
{
    register const int8_t *w __asm__("r1") = weights;
    register const int8_t *a __asm__("r3") = first;
    register const int8_t *b __asm__("r5") = second;
    register int32_t left __asm__("r9") = count;
    register conv_sums *to __asm__("r11") = sums;
    __asm__ volatile("ldm r11, {r0, r2, r4, r6, r8, r10, r12, lr}\n"
                     "1: vld40.32 {q0, q1, q2, q3}, [r1]\n\t"
                     "vld41.32 {q0, q1, q2, q3}, [r1]\n\t"
                     "vld42.32 {q0, q1, q2, q3}, [r1]\n\t"
                     "vld43.32 {q0, q1, q2, q3}, [r1]!\n\t"
                     "vldrb.8 q4, [r3], #16\n\t"
                     "vmladava.s8 r0, q0, q4\n\t"
                     "vldrb.8 q5, [r5], #16\n\t"
                     "vmladava.s8 r2, q1, q4\n\t"
                     "vmladava.s8 r4, q2, q4\n\t"
                     "vmladava.s8 r6, q3, q4\n\t"
                     "vmladava.s8 r8, q0, q5\n\t"
                     "vmladava.s8 r10, q1, q5\n\t"
                     "vmladava.s8 r12, q2, q5\n\t"
                     "vmladava.s8 lr, q3, q5\n\t"
                     "subs r9, r9, #1\n\t"
                     "bgt 1b\n\t"
                     "bmi 2f\n\t" /* that was the rest */
                     "ldr r1, [r11, #32]\n\t"
                     "cmp r1, #0\n\t"
                     "bne 1b\n"
                     "2: stm r11, {r0, r2, r4, r6, r8, r10, r12, lr}"
                     : "+r"(w), "+r"(a), "+r"(b), "+r"(left)
                     : "r"(to)
                     : "r0", "r2", "r4", "r6", "r8", "r10", "r12", "lr", "q0", "q1", "q2", "q3", "q4", "q5", "cc",
                       "memory");
}

/* A block of channels from `channel` on, for all pixels of a strip. */
TIGRIS_INLINE void run_block(const conv *c, const int8_t *patch, int32_t pixels, int32_t channel, int shifts_right,
                             const tigris_mve_end *end, int8_t *output)
{
    int8_t rest[TIGRIS_MVE_TILES];
    conv_sums sums;
    const int32_t tiles = c->taps / TIGRIS_MVE_BYTES, left = c->taps % TIGRIS_MVE_BYTES;
    const int8_t *weights = c->weights + channel * c->taps;
    sums.rest = NULL;
    if (left != 0) {
        tigris_mve_rest_of_tiles(weights + tiles * TIGRIS_MVE_TILES, left, rest);
        sums.rest = tiles == 0 ? NULL : rest;
    }
    const int8_t *const begin = tiles == 0 ? rest : weights;
    const int32x4_t bias = vldrwq_s32(c->bias + channel);
    const int32x4_t multiplier = vldrwq_s32(c->multiplier + channel);
    const int32x4_t shift = vldrbq_s32(c->shift + channel);
    const uint16x8_t lane = vidupq_n_u16(0, 1);
    /* 0, channels, 1, channels + 1, … */
    const uint16x8_t places = vaddq_u16(vshrq_n_u16(lane, 1), vmulq_n_u16(vandq_u16(lane, vdupq_n_u16(1)),
                                                                          (uint16_t)c->channels));
    const uint16x8_t one_place = vshrq_n_u16(lane, 1);
    output += channel;
    for (; pixels > 0; pixels -= 2) {
        vst1q_s32(sums.of[0], bias);
        vst1q_s32(sums.of[1], bias);
        const int8_t *const next = pixels > 1 ? patch + c->pitch : patch;
        add_products(begin, patch, next, tiles, &sums);
        int32x4_t a = vld1q_s32(sums.of[0]);
        int32x4_t b = vld1q_s32(sums.of[1]);
        a = shifts_right ? tigris_mve_scale_right(a, multiplier, shift) : tigris_mve_scale(a, multiplier, shift);
        b = shifts_right ? tigris_mve_scale_right(b, multiplier, shift) : tigris_mve_scale(b, multiplier, shift);
        vstrbq_scatter_offset_s16(output, pixels > 1 ? places : one_place, tigris_mve_outputs(a, b, end));
        patch += 2 * c->pitch;
        output += 2 * c->channels;
    }
}

static void run_blocks(const conv *c, const int8_t *patch, int32_t pixels, const tigris_mve_end *end, int8_t *output)
{
    for (int32_t channel = 0; channel < c->channels; channel += BLOCK) {
        if (c->shifts_right) {
            run_block(c, patch, pixels, channel, 1, end, output);
        } else {
            run_block(c, patch, pixels, channel, 0, end, output);
        }
    }
}

/* ---- calls ---- */

static int unpack(conv *c, const tigris_kernel_call *call)
{
    const tigris_conv_int8_params *params = call->params;
    c->call = call;
    c->params = params;
    c->input = (const int8_t *)(const void *)call->inputs[0].data;
    c->weights = tigris_int8_data(call, params->weights);
    c->bias = tigris_int32_data(call, params->bias);
    c->multiplier = tigris_int32_data(call, params->multiplier);
    c->shift = tigris_int8_data(call, params->shift);
    c->width = (int32_t)call->inputs[0].tensor->width;
    c->depth = (int32_t)call->inputs[0].tensor->channels;
    c->channels = (int32_t)call->output->tensor->channels;
    c->taps = params->kernel_height * params->kernel_width * c->depth;
    c->pitch = (c->taps + TIGRIS_MVE_BYTES - 1) & -TIGRIS_MVE_BYTES;
    c->is_plain = params->kernel_height == 1 && params->kernel_width == 1 && params->stride_height == 1 &&
                  params->stride_width == 1 && params->pad_left == 0 && call->inputs[0].pad_top == 0 &&
                  call->output->tensor->width == call->inputs[0].tensor->width &&
                  call->output->rows <= call->inputs[0].rows;
    return params->groups == 1 && c->channels % BLOCK == 0 && c->channels < UINT16_MAX - BLOCK &&
           2 * c->pitch <= PATCH_BYTES && ((uintptr_t)c->weights & 3U) == 0U;
}

int tigris_mve_conv_2d(const tigris_kernel_call *call)
{
    int8_t patch[PATCH_BYTES + TIGRIS_MVE_TILES];
    conv c;
    conv_place place;
    if (!unpack(&c, call)) {
        return 0;
    }
    const tigris_mve_end end =
        tigris_mve_end_of(c.params->output_zero_point, c.params->activation_min, c.params->activation_max);
    const int32_t most = (PATCH_BYTES / c.pitch) & ~1;
    int8_t *output = tigris_int8_output(call);
    c.shifts_right = tigris_mve_shifts_right(c.shift, c.channels);
    place.x = 0;
    place.row = -call->inputs[0].pad_top;
    place.column = -c.params->pad_left;
    c.pixels = most > MOST_PIXELS ? MOST_PIXELS : most;
    for (int32_t left = call->output->rows * (int32_t)call->output->tensor->width; left > 0; left -= c.pixels) {
        const int32_t pixels = left < c.pixels ? left : c.pixels;
        fill_patch(&c, &place, pixels, patch);
        run_blocks(&c, patch, pixels, &end, output);
        output += pixels * c.channels;
    }
    return 1;
}

#endif
