/* CONV_2D of int8 with MVE, for weights in one of two packings (tigris_pio/format/packing.py). The including file defines
 * ARE_ROWS, 1 for ROWS_16 and 0 for PORTABLE. It also defines PRODUCTS for RUN_PAIRS: assembler that adds the products of
 * a block of channels to the sums of two pixels.
 *
 * The taps of a strip of output pixels are copied into a patch, with the padding filled in. Two pixels by four channels
 * are then computed at a time: 6 loads, and 8 VMLADAVA for 128 products. Eight sums are all the registers that the
 * instruction can add to. */
#ifndef TIGRIS_MVE_CONV_2D_INT8_H
#define TIGRIS_MVE_CONV_2D_INT8_H

#include <stddef.h>

#include "../access.h"
#include "tiles.h"

#define PATCH_BYTES 1152

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
    int32_t stored_taps; /* with the zeros of the packing */
    int32_t pitch; /* bytes from a pixel's taps in the patch to the next's */
    int32_t pixels; /* of a strip, even */
    int is_plain;   /* 1x1, stride 1, no padding: taps are the input's bytes */
    int shifts_right;
} conv;

/* The position of the next output pixel's first tap. */
typedef struct conv_place {
    int32_t x;
    int32_t row;
    int32_t column;
} conv_place;

/* ---- taps into the patch ---- */

/* Copies the taps of a kernel row at the border: some are padding. */
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

/* Copies `rows` runs of at most 16 bytes, at least one; `step`: stride of the runs in the input. */
TIGRIS_MVE_PREDICATED void copy_short_rows(int8_t *to, const int8_t *from, int32_t run, int32_t step, int32_t rows)
{
    __asm__ volatile("vctp.8 %[run]\n\t"
                     "dls lr, %[rows]\n"
                     "1: vpstt\n\t"
                     "vldrbt.8 q0, [%[from]]\n\t"
                     "vstrbt.8 q0, [%[to]]\n\t"
                     "add %[from], %[from], %[step]\n\t"
                     "add %[to], %[to], %[run]\n\t"
                     "le lr, 1b"
                     : [to] "+r"(to), [from] "+r"(from)
                     : [run] "r"(run), [step] "r"(step), [rows] "r"(rows)
                     : "lr", "q0", TIGRIS_MVE_PREDICATE, "memory");
}

static void copy_taps(const conv *c, const conv_place *place, int8_t *to)
{
    const tigris_conv_int8_params *params = c->params;
    const int32_t run = params->kernel_width * c->depth, row_bytes = c->width * c->depth;
    const int32_t rows = c->call->inputs[0].rows;
    const int whole_rows = params->dilation_width == 1 && place->column >= 0 &&
                           place->column + params->kernel_width <= c->width;
    int32_t row = place->row;
    if (whole_rows && row >= 0 && row + (params->kernel_height - 1) * params->dilation_height < rows) {
        const int8_t *from = c->input + row * row_bytes + place->column * c->depth;
        const int32_t step = (int32_t)((uint32_t)params->dilation_height * (uint32_t)row_bytes);
        if (run <= TIGRIS_MVE_BYTES) {
            copy_short_rows(to, from, run, step, params->kernel_height);
            return;
        }
        for (const int8_t *const end = to + c->taps; to != end;) {
            tigris_mve_copy(to, from, run);
            to += run;
            from += step;
        }
        return;
    }
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
        place->x += pixels;
        place->row += place->x / c->width;
        place->column = place->x %= c->width;
    } else {
        int8_t *to = patch;
        for (int32_t i = 0; i < pixels; i++) {
            copy_taps(c, place, to);
            next_place(c, place);
            to += c->pitch;
        }
    }
    if (!ARE_ROWS) {
        tigris_mve_order_taps(patch, pixels * c->pitch);
    }
}

/* ---- channels from the patch ---- */

/* A block of channels at the pixels of a strip. The order is that of the assembler below. */
typedef struct conv_block {
    int32_t bias[2 * TIGRIS_MVE_BLOCK]; /* 0: each bias twice */
    int32_t sums[2 * TIGRIS_MVE_BLOCK]; /* 32: [pixel][channel] of two pixels */
    const int8_t *weights;              /* 64 */
    int32_t times;                      /* 68: vectors of 16 taps */
    const int8_t *tail;                 /* 72: weights behind these, or NULL */
    int32_t pair_step;                  /* 76: from the end of a pixel's vectors to the next pixel but one */
    int8_t *output;                     /* 80: of the first pixel */
    int32_t output_step;               /* 84: from the outputs of two pixels to those of the next two */
    const int8_t *end;                  /* 88: of the patch */
    int32_t zero_point;                 /* 92 */
    int32x4_t multiplier;               /* 96 */
    int32x4_t right;                    /* 112: shifts to the right, negative */
    int32x4_t left;                     /* 128: and to the left */
    int16x8_t low;                      /* 144 */
    int16x8_t high;                     /* 160 */
    uint16x8_t places;                  /* 176: of outputs, from the first pixel's first channel */
} conv_block;

TIGRIS_STATIC_ASSERT(offsetof(conv_block, places) == 176, offsets_are_those_of_the_assembler);

/* tigris_mve_scale_right and tigris_mve_scale of q0 and q1; multiplier in q6, shift in q7. */
#define SCALE_RIGHT                                                                                                    \
    "vqrdmulh.s32 q0, q0, q6\n\t"                                                                                      \
    "vqrdmulh.s32 q1, q1, q6\n\t"                                                                                      \
    "vshr.s32 q2, q0, #31\n\t"                                                                                         \
    "vshr.s32 q3, q1, #31\n\t"
#define SCALE_ANY                                                                                                      \
    "vldrw.32 q2, [r11, #128]\n\t"                                                                                     \
    "vshl.s32 q0, q0, q2\n\t"                                                                                          \
    "vshl.s32 q1, q1, q2\n\t"                                                                                          \
    "vqrdmulh.s32 q0, q0, q6\n\t"                                                                                      \
    "vqrdmulh.s32 q1, q1, q6\n\t"                                                                                      \
    "vand q2, q0, q7\n\t"                                                                                              \
    "vand q3, q1, q7\n\t"                                                                                              \
    "vshr.s32 q2, q2, #31\n\t"                                                                                         \
    "vshr.s32 q3, q3, #31\n\t"

/* Sums of two pixels, whose taps start at a and b, and of the pixels behind them up to the block's end. */
#define RUN_PAIRS(scale)                                                                                               \
    __asm__ volatile("vldrw.32 q6, [r11, #96]\n\t"                                                                     \
                     "vldrw.32 q7, [r11, #112]\n"                                                                      \
                     "1: ldrd r1, r9, [r11, #64]\n\t"                                                                  \
                     "ldm r11, {r0, r2, r4, r6, r8, r10, r12, lr}\n"                                                   \
                     PRODUCTS                                                                                          \
                     "3: add r1, r11, #32\n\t"                                                                         \
                     "stm r1, {r0, r2, r4, r6, r8, r10, r12, lr}\n\t"                                                  \
                     "ldrd r0, r2, [r11, #76]\n\t"                                                                     \
                     "vldrw.32 q0, [r1]\n\t"                                                                           \
                     "vldrw.32 q1, [r1, #16]\n\t"                                                                      \
                     "add r3, r3, r0\n\t"                                                                              \
                     scale                                                                                             \
                     "add r5, r5, r0\n\t"                                                                              \
                     "vadd.i32 q0, q0, q2\n\t"                                                                         \
                     "vadd.i32 q1, q1, q3\n\t"                                                                         \
                     "ldrd r4, r6, [r11, #84]\n\t"                                                                     \
                     "vrshl.s32 q0, q0, q7\n\t"                                                                        \
                     "vrshl.s32 q1, q1, q7\n\t"                                                                        \
                     "ldr r8, [r11, #92]\n\t"                                                                          \
                     "vqmovnb.s32 q0, q0\n\t"                                                                          \
                     "vldrh.16 q2, [r11, #144]\n\t"                                                                    \
                     "vqmovnt.s32 q0, q1\n\t"                                                                          \
                     "vldrh.16 q3, [r11, #160]\n\t"                                                                    \
                     "vqadd.s16 q0, q0, r8\n\t"                                                                        \
                     "vldrh.16 q1, [r11, #176]\n\t"                                                                    \
                     "vmax.s16 q0, q0, q2\n\t"                                                                         \
                     "add r4, r4, r2\n\t"                                                                              \
                     "vmin.s16 q0, q0, q3\n\t"                                                                         \
                     "str r4, [r11, #80]\n\t"                                                                          \
                     "vstrb.16 q0, [r2, q1]\n\t"                                                                       \
                     "cmp r3, r6\n\t"                                                                                  \
                     "bcc 1b"                                                                                          \
                     : "+r"(a), "+r"(b)                                                                                \
                     : "r"(with)                                                                                       \
                     : "r0", "r1", "r2", "r4", "r6", "r8", "r9", "r10", "r12", "lr", "q0", "q1", "q2", "q3", "q4",     \
                       "q5", "q6", "q7", "cc", "memory")

/* Computes the pixels of a strip up to `end` in the patch, two at a time. `next`: bytes from a pixel to the second. */
static TIGRIS_NOINLINE void run_pixels2(const conv_block *block, const int8_t *patch, int32_t next, int shifts_right)
{
    register const int8_t *a __asm__("r3") = patch;
    register const int8_t *b __asm__("r5") = patch + next;
    register const conv_block *with __asm__("r11") = block;
    if (shifts_right) {
        RUN_PAIRS(SCALE_RIGHT);
    } else {
        RUN_PAIRS(SCALE_ANY);
    }
}

/* A block of channels from `channel` on, for all pixels of a strip. */
static void run_block(const conv *c, conv_block *block, const int8_t *patch, int32_t pixels, int32_t channel,
                      int8_t *output)
{
    int8_t tail[TIGRIS_MVE_TILES];
    const int32_t times = c->stored_taps / TIGRIS_MVE_BYTES, left = c->stored_taps % TIGRIS_MVE_BYTES;
    const int8_t *weights = c->weights + channel * c->stored_taps;
    const int32x4_t bias = vldrwq_s32(c->bias + channel);
    const int32x4_t shift = vldrbq_s32(c->shift + channel), none = vdupq_n_s32(0);
    const int32_t even = pixels & ~1;
    vst1q_s32(block->bias, bias);
    vst1q_s32(block->bias + TIGRIS_MVE_BLOCK, bias);
    block->weights = weights;
    block->times = times;
    block->tail = NULL;
    if (left != 0) {
        tigris_mve_tail_tiles(weights + times * TIGRIS_MVE_TILES, left, tail);
        block->tail = times == 0 ? NULL : tail;
        block->weights = times == 0 ? tail : weights;
    }
    block->multiplier = vldrwq_s32(c->multiplier + channel);
    block->right = vminq_s32(shift, none);
    block->left = vmaxq_s32(shift, none);
    block->output = output + channel;
    block->end = patch + even * c->pitch;
    const uint16x8_t lane = vidupq_n_u16(0, 1);
    const uint16x8_t of_pixel = vshrq_n_u16(lane, 1);
    if (even != 0) {
        /* 0, channels, 1, channels + 1, … */
        block->places = vaddq_u16(of_pixel, vmulq_n_u16(vandq_u16(lane, vdupq_n_u16(1)), (uint16_t)c->channels));
        run_pixels2(block, patch, c->pitch, c->shifts_right);
    }
    if (even != pixels) { /* the last pixel is both */
        block->places = of_pixel;
        block->end += c->pitch;
        run_pixels2(block, patch + even * c->pitch, 0, c->shifts_right);
    }
}

static void run_blocks(const conv *c, const int8_t *patch, int32_t pixels, int8_t *output)
{
    const tigris_conv_int8_params *params = c->params;
    conv_block block;
    block.pair_step = 2 * c->pitch - ((c->taps + TIGRIS_MVE_BYTES - 1) & -TIGRIS_MVE_BYTES);
    block.output_step = 2 * c->channels;
    block.zero_point = params->output_zero_point;
    block.low = vdupq_n_s16((int16_t)params->activation_min);
    block.high = vdupq_n_s16((int16_t)params->activation_max);
    for (int32_t channel = 0; channel < c->channels; channel += TIGRIS_MVE_BLOCK) {
        run_block(c, &block, patch, pixels, channel, output);
    }
}

/* ---- calls ---- */

static void unpack(conv *c, const tigris_kernel_call *call)
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
    c->stored_taps = ARE_ROWS ? (c->taps + TIGRIS_MVE_BYTES - 1) & -TIGRIS_MVE_BYTES : c->taps;
    c->pitch = (c->taps + 3) & -4;
    c->is_plain = params->kernel_height == 1 && params->kernel_width == 1 && params->stride_height == 1 &&
                  params->stride_width == 1 && params->pad_left == 0 && call->inputs[0].pad_top == 0 &&
                  call->output->tensor->width == call->inputs[0].tensor->width &&
                  call->output->rows <= call->inputs[0].rows;
    c->shifts_right = tigris_mve_shifts_right(c->shift, c->channels);
}

/* Whether run_block computes so many channels of so many taps: the patch holds two pixels. */
static int fits(uint32_t channels, uint32_t taps)
{
    return channels % TIGRIS_MVE_BLOCK == 0U && channels < UINT16_MAX - TIGRIS_MVE_BLOCK && taps <= PATCH_BYTES / 2U;
}

static void run(const tigris_kernel_call *call)
{
    int8_t patch[PATCH_BYTES + TIGRIS_MVE_TILES];
    int8_t *output = tigris_int8_output(call);
    conv c;
    conv_place place;
    unpack(&c, call);
    int32_t left = call->output->rows * (int32_t)call->output->tensor->width;
    if (ARE_ROWS && c.is_plain && c.taps == c.stored_taps) {
        run_blocks(&c, c.input, left, output);
        return;
    }
    place.x = 0;
    place.row = -call->inputs[0].pad_top;
    place.column = -c.params->pad_left;
    c.pixels = (PATCH_BYTES / c.pitch) & ~1;
    for (; left > 0; left -= c.pixels) {
        const int32_t pixels = left < c.pixels ? left : c.pixels;
        fill_patch(&c, &place, pixels, patch);
        run_blocks(&c, patch, pixels, output);
        output += pixels * c.channels;
    }
}

#endif
