/* DEPTHWISE_CONV_2D of int8 with RVV: a lane for each channel, as many at a time as a vector has.
 *
 * Packed weights hold four channels at each tap, and a block's taps behind each other. A strided load of words takes one
 * tap of as many blocks as there are lanes; channels behind the last whole block are loaded separately. Weights are copied
 * so that all channels of a tap are contiguous. 3x3 kernels are computed along lines of outputs, with all weights in
 * registers, other kernels pixel by pixel. */
#include "rvv.h"

#if TIGRIS_RVV

#include <string.h>

#include "../access.h"
#include "../window.h"

#define BLOCK 4       /* channels of a block of packed weights */
#define MOST_LANES 64     /* most channels at a time */
#define MOST_WEIGHTS 1024 /* most weights of these channels */
#define NINE 9

/* One call, and its current channels. */
typedef struct depthwise {
    int8_t weights[MOST_WEIGHTS]; /* [tap][channel] */
    int32_t right[MOST_LANES];    /* shifts, if all go there */
    int8_t padding[MOST_LANES];
    const tigris_conv_int8_params *params;
    tigris_rvv_end end;
    const int8_t *input; /* at the first of these channels */
    const int32_t *bias; /* likewise */
    int32_t rows;          /* of the input */
    int32_t width;         /* of the input */
    int32_t inputs;        /* channels of the input */
    int32_t outputs;       /* channels of the output */
    int32_t first;
    size_t count;
    int shifts_right;
} depthwise;

/* The taps of an output pixel: the position of the first, which may be padding, and the taps inside. */
typedef struct pixel {
    int32_t row;
    int32_t column;
    tigris_taps rows;
    tigris_taps columns;
} pixel;

/* ---- 3x3 ---- */

/* A line of outputs that have the same taps in the padding. All fields are as wide as a register, since the
 * assembler loads them. */
typedef struct line {
    const int8_t *taps[NINE]; /* of the first output */
    intptr_t steps[3];        /* from an output's taps of each row to the next output's */
    const int8_t *weights;    /* [tap][channel] */
    const int32_t *bias;
    const int32_t *multiplier;
    const int32_t *right; /* shifts */
    intptr_t zero_point;
    intptr_t low;
    intptr_t high;
    intptr_t count; /* of channels */
    intptr_t pixels;
    intptr_t output_step; /* bytes from an output to the next */
} line;

#if __riscv_xlen == 64
#define LOAD "ld "
#else
#define LOAD "lw "
#endif
#define WORD(name, field) LOAD name ", %[" #field "](%[line])\n\t"
/* The weights of a tap, widened. */
#define WEIGHTS(to)                                                                                                    \
    "vle8.v v0, (t0)\n\t"                                                                                              \
    "vsext.vf2 " to ", v0\n\t"                                                                                         \
    "add t0, t0, t1\n\t"
/* Adds a tap at `from`, then advances to the next output's, which need not exist behind the last. */
#define TAP(from, step, x, wide, weights)                                                                              \
    "vle8.v " x ", (" from ")\n\t"                                                                                     \
    "add " from ", " from ", " step "\n\t"                                                                             \
    "vsext.vf2 " wide ", " x "\n\t"                                                                                    \
    "vwmacc.vv v4, " weights ", " wide "\n\t"
#define FIELD(name) [name] "i"(offsetof(line, name))
#define TAP_FIELD(number) [taps##number] "i"(offsetof(line, taps) + number * sizeof(const int8_t *))
#define STEP_FIELD(number) [steps##number] "i"(offsetof(line, steps) + number * sizeof(intptr_t))

/* Sums are v4 to v7, weights v14 to v31. The arithmetic of outputs is tigris_rvv_scale's, for right shifts only. */
static void run_line(const line *l, int8_t *output)
{
    __asm__ volatile(
        "csrwi vxrm, 0\n\t"
        WORD("t0", weights) WORD("t1", count)
        "vsetvli zero, t1, e16, m2, ta, ma\n\t"
        WEIGHTS("v14") WEIGHTS("v16") WEIGHTS("v18") WEIGHTS("v20") WEIGHTS("v22") WEIGHTS("v24") WEIGHTS("v26")
        WEIGHTS("v28") WEIGHTS("v30")
        WORD("a1", taps0) WORD("a2", taps1) WORD("a3", taps2) WORD("a4", taps3) WORD("a5", taps4) WORD("a6", taps5)
        WORD("a7", taps6) WORD("t2", taps7) WORD("t3", taps8)
        WORD("s2", steps0) WORD("s3", steps1) WORD("s4", steps2)
        WORD("s5", bias) WORD("s6", multiplier) WORD("s7", right)
        WORD("s8", zero_point) WORD("s9", low) WORD("s10", high) WORD("s11", pixels) WORD("t4", output_step)
        "1: vsetvli zero, t1, e16, m2, ta, ma\n\t"
        "vle32.v v4, (s5)\n\t"
        TAP("a1", "s2", "v0", "v2", "v14")
        TAP("a2", "s2", "v1", "v8", "v16")
        TAP("a3", "s2", "v0", "v10", "v18")
        TAP("a4", "s3", "v1", "v2", "v20")
        TAP("a5", "s3", "v0", "v8", "v22")
        TAP("a6", "s3", "v1", "v10", "v24")
        TAP("a7", "s4", "v0", "v2", "v26")
        TAP("t2", "s4", "v1", "v8", "v28")
        TAP("t3", "s4", "v0", "v10", "v30")
        "vsetvli zero, t1, e32, m4, ta, ma\n\t"
        "vle32.v v0, (s6)\n\t"
        "vsmul.vv v4, v4, v0\n\t"
        "vle32.v v8, (s7)\n\t"
        "vsra.vi v0, v4, 31\n\t"
        "vadd.vv v4, v4, v0\n\t"
        "vssra.vv v4, v4, v8\n\t"
        "vadd.vx v4, v4, s8\n\t"
        "vmax.vx v4, v4, s9\n\t"
        "vmin.vx v4, v4, s10\n\t"
        "vsetvli zero, t1, e16, m2, ta, ma\n\t"
        "vnsrl.wi v0, v4, 0\n\t"
        "vsetvli zero, t1, e8, m1, ta, ma\n\t"
        "vnsrl.wi v2, v0, 0\n\t"
        "vse8.v v2, (%[output])\n\t"
        "add %[output], %[output], t4\n\t"
        "addi s11, s11, -1\n\t"
        "bnez s11, 1b"
        : [output] "+&r"(output)
        : [line] "r"(l), TAP_FIELD(0), TAP_FIELD(1), TAP_FIELD(2), TAP_FIELD(3), TAP_FIELD(4), TAP_FIELD(5), TAP_FIELD(6),
          TAP_FIELD(7), TAP_FIELD(8), STEP_FIELD(0), STEP_FIELD(1), STEP_FIELD(2), FIELD(weights), FIELD(bias),
          FIELD(multiplier), FIELD(right), FIELD(zero_point), FIELD(low), FIELD(high), FIELD(count), FIELD(pixels),
          FIELD(output_step)
        : "a1", "a2", "a3", "a4", "a5", "a6", "a7", "t0", "t1", "t2", "t3", "t4", "s2", "s3", "s4", "s5", "s6", "s7",
          "s8", "s9", "s10", "s11", "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7", "v8", "v9", "v10", "v11", "v14",
          "v15", "v16", "v17", "v18", "v19", "v20", "v21", "v22", "v23", "v24", "v25", "v26", "v27", "v28", "v29", "v30",
          "v31", TIGRIS_RVV_LENGTH "memory");
}

/* `pixels` outputs like the one at p. */
static void find_line(const depthwise *d, const pixel *p, int32_t pixels, line *l)
{
    /* Modulo 2^32: positions may be padding, and unused steps may be any number. */
    const uint32_t step = d->params->stride_width * (uint32_t)d->inputs;
    const uint32_t column_step = d->params->dilation_width * (uint32_t)d->inputs;
    const uint32_t row_step = d->params->dilation_height * (uint32_t)(d->width * d->inputs);
    uint32_t first = ((uint32_t)p->row * (uint32_t)d->width + (uint32_t)p->column) * (uint32_t)d->inputs;
    const int8_t **tap = l->taps;
    l->pixels = pixels;
    for (int32_t row = 0; row < 3; row++) {
        const int valid = row >= p->rows.first && row < p->rows.end;
        uint32_t at = first;
        for (int32_t column = 0; column < 3; column++) {
            *tap++ = valid && column >= p->columns.first && column < p->columns.end ? d->input + at : d->padding;
            at += column_step;
        }
        l->steps[row] = valid ? (intptr_t)step : 0;
        first += row_step;
    }
}

/* The number of outputs from p on, at most `most`, whose columns are all inside. */
static int32_t inner_pixels(const depthwise *d, const pixel *p, int32_t most)
{
    const int32_t last = d->width - 1 - (d->params->kernel_width - 1) * d->params->dilation_width;
    const int32_t count = p->column >= 0 && p->column <= last ? (last - p->column) / d->params->stride_width + 1 : 0;
    return count < most ? count : most;
}

static void run_row(const depthwise *d, pixel *p, int32_t pixels, int8_t *output)
{
    line l = {{NULL}, {0}, d->weights, d->bias, d->end.multiplier + d->first, d->right, d->end.stage.zero_point,
              d->end.stage.low, d->end.stage.high, (intptr_t)d->count, 0, d->outputs};
    while (pixels > 0) {
        const int32_t inner = inner_pixels(d, p, pixels), now = inner > 1 ? inner : 1;
        p->columns = tigris_valid_taps(p->column, 3, d->params->dilation_width, d->width);
        find_line(d, p, now, &l);
        run_line(&l, output);
        output += now * d->outputs;
        p->column += now * d->params->stride_width;
        pixels -= now;
    }
}

/* ---- other kernels ---- */

/* The kernel along one axis at one output pixel. */
typedef struct axis {
    int32_t taps;
    uint32_t step; /* from a tap's input to the next; of a single one, any */
    tigris_taps inside;
} axis;

/* Adds `taps` taps with a stride of `step` in the input, and advances `weights`. */
TIGRIS_INLINE vint32m4_t add_taps(const depthwise *d, vint32m4_t sum, const int8_t *from, uint32_t step, int32_t taps,
                                  const int8_t **weights)
{
    const size_t count = d->count;
    for (; taps > 0; taps--) {
        const vint8m1_t weight = RVV(vle8_v_i8m1)(*weights, count);
        const vint16m2_t products = d->inputs == 1
                                        ? RVV(vwmul_vx_i16m2)(weight, *from, count)
                                        : RVV(vwmul_vv_i16m2)(weight, RVV(vle8_v_i8m1)(from, count), count);
        sum = RVV(vwadd_wv_i32m4)(sum, products, count);
        *weights += count;
        from += taps > 1 ? step : 0U;
    }
    return sum;
}

/* The pixel whose first tap lies `first` from the input's start, modulo 2^32 as it may be padding. */
static void run_pixel(const depthwise *d, uint32_t first, const axis *outer, const axis *inner, int8_t *output)
{
    const int32_t begin = inner->inside.first, end = inner->inside.end;
    const int8_t *weights = d->weights;
    vint32m4_t sum = RVV(vle32_v_i32m4)(d->bias, d->count);
    for (int32_t i = 0; i < outer->taps; i++) {
        const int is_inside = i >= outer->inside.first && i < outer->inside.end && begin < end;
        sum = add_taps(d, sum, d->padding, 0U, is_inside ? begin : inner->taps, &weights);
        if (is_inside) {
            const int8_t *from = d->input + (first + (uint32_t)begin * inner->step);
            sum = add_taps(d, sum, from, inner->step, end - begin, &weights);
            sum = add_taps(d, sum, d->padding, 0U, inner->taps - end, &weights);
        }
        first += outer->step;
    }
    tigris_rvv_outputs(&d->end, d->first, sum, d->count, output);
}

static void run_pixels(const depthwise *d, pixel *p, int32_t pixels, int8_t *output)
{
    const tigris_conv_int8_params *params = d->params;
    const uint32_t row_step = (uint32_t)(d->width * d->inputs), column_step = (uint32_t)d->inputs;
    const axis rows = {params->kernel_height, params->dilation_height * row_step, p->rows};
    axis columns = {params->kernel_width, params->dilation_width * column_step, {0, 0}};
    const int by_rows = columns.taps == 1; /* one run, not one a row */
    for (; pixels > 0; pixels--) {
        const uint32_t first = (uint32_t)p->row * row_step + (uint32_t)p->column * column_step;
        columns.inside = tigris_valid_taps(p->column, params->kernel_width, params->dilation_width, d->width);
        run_pixel(d, first, by_rows ? &columns : &rows, by_rows ? &rows : &columns, output);
        output += d->outputs;
        p->column += params->stride_width;
    }
}

/* ---- calls ---- */

/* Copies the weights of `count` channels: of whole blocks, or of the last incomplete one. */
static void copy_weights(depthwise *d, const int8_t *from, int32_t taps, int is_blocked)
{
    int8_t *to = d->weights;
    for (int32_t tap = 0; tap < taps; tap++) {
        vint8m1_t weights;
        if (is_blocked) {
            const int32_t *words = (const int32_t *)(const void *)(from + tap * BLOCK);
            weights = RVV(vreinterpret_v_i32m1_i8m1)(RVV(vlse32_v_i32m1)(words, taps * BLOCK, d->count / BLOCK));
        } else {
            weights = RVV(vle8_v_i8m1)(from + tap * (int32_t)d->count, d->count);
        }
        RVV(vse8_v_i8m1)(to, weights, d->count);
        to += d->count;
    }
}

static void copy_shifts(depthwise *d)
{
    const size_t count = d->count;
    const vint32m4_t shift = RVV(vsext_vf4_i32m4)(RVV(vle8_v_i8m1)(d->end.shift + d->first, count), count);
    d->shifts_right = RVV(vfirst_m_b8)(RVV(vmsgt_vx_i32m4_b8)(shift, -1, count), count) < 0;
    RVV(vse32_v_i32m4)(d->right, RVV(vrsub_vx_i32m4)(shift, 0, count), count);
}

/* Advances to the next channels; there is at least one. */
static void next_channels(depthwise *d, const tigris_kernel_call *call)
{
    const int32_t taps = d->params->kernel_height * d->params->kernel_width;
    const int32_t left = d->outputs - d->first, blocked = left & ~(BLOCK - 1);
    const int32_t fitting = (MOST_WEIGHTS / taps) & ~(BLOCK - 1), room = fitting < MOST_LANES ? fitting : MOST_LANES;
    const int32_t wanted = blocked == 0 ? left : blocked;
    d->count = RVV(vsetvl_e8m1)((size_t)(wanted < room ? wanted : room));
    if (blocked != 0) {
        d->count &= ~(size_t)(BLOCK - 1);
    }
    d->input = (const int8_t *)(const void *)call->inputs[0].data + (d->inputs == 1 ? 0 : d->first);
    d->bias = tigris_int32_data(call, d->params->bias) + d->first;
    copy_weights(d, tigris_int8_data(call, d->params->weights) + d->first * taps, taps, blocked != 0);
    copy_shifts(d);
}

static void run_channels(const depthwise *d, const tigris_kernel_call *call)
{
    const tigris_conv_int8_params *params = d->params;
    const tigris_band *out = call->output;
    const int32_t width = (int32_t)out->tensor->width;
    const int by_lines = params->kernel_height == 3 && params->kernel_width == 3 &&
                         d->inputs == d->outputs && d->shifts_right;
    int8_t *output = tigris_int8_output(call) + d->first;
    pixel p;
    for (int32_t y = 0; y < out->rows; y++) {
        p.row = y * params->stride_height - call->inputs[0].pad_top;
        p.rows = tigris_valid_taps(p.row, params->kernel_height, params->dilation_height, d->rows);
        p.column = -params->pad_left;
        if (by_lines) {
            run_row(d, &p, width, output);
        } else {
            run_pixels(d, &p, width, output);
        }
        output += width * d->outputs;
    }
}

int tigris_rvv_depthwise(const tigris_kernel_call *call)
{
    const tigris_conv_int8_params *params = call->params;
    const tigris_band *in = &call->inputs[0];
    depthwise d;
    d.params = params;
    d.inputs = (int32_t)in->tensor->channels;
    d.outputs = (int32_t)call->output->tensor->channels;
    if ((d.inputs != d.outputs && d.inputs != 1) || params->kernel_height * params->kernel_width > MOST_WEIGHTS / BLOCK ||
        ((uintptr_t)tigris_int8_data(call, params->weights) & 3U) != 0U) {
        return 0;
    }
    d.rows = in->rows;
    d.width = (int32_t)in->tensor->width;
    d.end.multiplier = tigris_int32_data(call, params->multiplier);
    d.end.shift = tigris_int8_data(call, params->shift);
    d.end.stage = (tigris_output_stage){params->output_zero_point, params->activation_min, params->activation_max};
    memset(d.padding, params->input_zero_point, sizeof d.padding);
    TIGRIS_RVV_ROUND_UP();
    for (d.first = 0; d.first < d.outputs; d.first += (int32_t)d.count) {
        next_channels(&d, call);
        run_channels(&d, call);
    }
    return 1;
}

#endif
