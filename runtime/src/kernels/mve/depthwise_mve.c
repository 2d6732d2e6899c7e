/* DEPTHWISE_CONV_2D of int8 with MVE: 3x3 kernels of stride 1 and 2, undilated, of a multiple of four channels.
 *
 * Sixteen channels at a time. A tile of their inputs is stored [along][channel][across]: columns along one axis, each of
 * four neighbours across it, by VST4. A gather of four words, a column's each, then holds 4 x 4 inputs of one channel, and
 * VMLADAVA with the kernel in four places gives four outputs of stride 1; with stride 2 one. Both axes of the band
 * can be the one along, whichever wastes less. */
#include "mve.h"

#if TIGRIS_MVE

#include <string.h>

#include "../access.h"

#define BLOCK 4   /* channels of a block of packed weights */
#define GROUP 16  /* channels */
#define TAPS 9
#define ALONG 4   /* outputs of a tile */
#define ACROSS 2  /* outputs of a tile with stride 1; 1 with stride 2 */
#define COLUMN_BYTES (4 * GROUP)
#define MOST_COLUMNS 10

typedef struct axis {
    int32_t outputs;
    int32_t first;       /* position of the first output's first tap; negative in the padding */
    int32_t extent;      /* positions inside */
    int32_t step;        /* bytes from a position to the next */
    int32_t output_step; /* bytes from an output to the next */
    int32_t weight_step; /* taps from a weight to the next */
} axis;

typedef struct depthwise {
    const tigris_kernel_call *call;
    const tigris_conv_int8_params *params;
    axis along;
    axis across;
    int32_t channels;
    int32_t columns; /* of a tile's inputs */
    int32_t tile_across;
    int8_t padding[GROUP];
    int8_t kernels[GROUP][16];          /* a group's, [along][across] */
    int8_t tile[MOST_COLUMNS * COLUMN_BYTES];
} depthwise;

/* ---- weights ---- */

static void take_kernels(depthwise *d, int32_t channel, int32_t count)
{
    const int32_t steps[2] = {d->along.weight_step, d->across.weight_step};
    const uint32x4_t apart = vmulq_n_u32(vidupq_n_u32(0, 1), 16U);
    const int8_t *from = tigris_int8_data(d->call, d->params->weights) + channel * TAPS;
    int8_t *to = d->kernels[0];
    tigris_mve_fill(to, 0, (int32_t)sizeof d->kernels);
    for (; count > 0; count -= BLOCK) {
        for (int32_t i = 0; i < 3; i++) {
            for (int32_t j = 0; j < 3; j++) {
                vstrbq_scatter_offset_s32(to + 4 * i + j, apart, vldrbq_s32(from + (i * steps[0] + j * steps[1]) * BLOCK));
            }
        }
        from += TAPS * BLOCK;
        to += BLOCK * 16;
    }
}

/* ---- inputs ---- */

/* Columns of four neighbours at from[0 … 3], which move on by `step`. */
TIGRIS_INLINE int8_t *take_columns(int8_t *to, const int8_t *const from[4], const int32_t step[4], int32_t columns,
                                   mve_pred16_t lanes)
{
    const int8_t *a = from[0], *b = from[1], *c = from[2], *d = from[3];
    __asm__ volatile("vmsr p0, %[lanes]\n\t"
                     "wls lr, %[columns], 2f\n"
                     "1: vpstttt\n\t"
                     "vldrbt.8 q0, [%[a]]\n\t"
                     "vldrbt.8 q1, [%[b]]\n\t"
                     "vldrbt.8 q2, [%[c]]\n\t"
                     "vldrbt.8 q3, [%[d]]\n\t"
                     "vst40.8 {q0, q1, q2, q3}, [%[to]]\n\t"
                     "vst41.8 {q0, q1, q2, q3}, [%[to]]\n\t"
                     "vst42.8 {q0, q1, q2, q3}, [%[to]]\n\t"
                     "vst43.8 {q0, q1, q2, q3}, [%[to]]!\n\t"
                     "add %[a], %[a], %[sa]\n\t"
                     "add %[b], %[b], %[sb]\n\t"
                     "add %[c], %[c], %[sc]\n\t"
                     "add %[d], %[d], %[sd]\n\t"
                     "le lr, 1b\n"
                     "2:"
                     : [to] "+r"(to), [a] "+r"(a), [b] "+r"(b), [c] "+r"(c), [d] "+r"(d)
                     : [sa] "r"(step[0]), [sb] "r"(step[1]), [sc] "r"(step[2]), [sd] "r"(step[3]),
                       [columns] "r"(columns), [lanes] "r"((int32_t)lanes)
                     : "lr", "q0", "q1", "q2", "q3", "memory");
    return to;
}

static int32_t clamp_count(int32_t value, int32_t most)
{
    return value < 0 ? 0 : value > most ? most : value;
}

/* The inputs of the tile of outputs at `x` along and `y` across, from `channel` on. */
static void take_tile(depthwise *d, int32_t channel, int32_t x, int32_t y, mve_pred16_t lanes)
{
    const axis *along = &d->along, *across = &d->across;
    const int32_t before = clamp_count(-x, d->columns);
    const int32_t inside = clamp_count(along->extent - x - before, d->columns - before);
    const int32_t padded = d->params->input_zero_point;
    const int8_t *input = (const int8_t *)(const void *)d->call->inputs[0].data + channel + (x + before) * along->step;
    const int8_t *from[4];
    int32_t step[4];
    for (int32_t j = 0; j < 4; j++) {
        const int is_inside = y + j >= 0 && y + j < across->extent;
        from[j] = is_inside ? input + (y + j) * across->step : d->padding;
        step[j] = is_inside ? along->step : 0;
    }
    int8_t *to = d->tile;
    tigris_mve_fill(to, (int8_t)padded, before * COLUMN_BYTES);
    to = take_columns(to + before * COLUMN_BYTES, from, step, inside, lanes);
    tigris_mve_fill(to, (int8_t)padded, (d->columns - before - inside) * COLUMN_BYTES);
}

/* ---- outputs ---- */

/* Sums of 2 x 4 outputs of stride 1: [across][along]. */
TIGRIS_INLINE void sum_stride_1(const int8_t *tile, const int8_t *kernel, uint32x4_t columns, int32_t sums[8])
{
    register const int8_t *t __asm__("r1") = tile;
    register const int8_t *k __asm__("r3") = kernel;
    register int32_t *to __asm__("r5") = sums;
    register const int8_t *u __asm__("r9") = tile + 2 * COLUMN_BYTES;
    __asm__ volatile("vldrw.32 q0, [r3]\n\t"
                     "mov r0, #0\n\t"
                     "vldrw.u32 q4, [r1, %q[columns]]\n\t"
                     "vmov q1, q0\n\t"
                     "vldrw.u32 q5, [r9, %q[columns]]\n\t"
                     "vshlc q1, r0, #32\n\t"
                     "vmladav.s8 r0, q4, q0\n\t"
                     "vshl.i32 q2, q0, #8\n\t"
                     "vmladav.s8 r2, q4, q1\n\t"
                     "vshl.i32 q3, q1, #8\n\t"
                     "vmladav.s8 r4, q5, q0\n\t"
                     "vmladav.s8 r6, q5, q1\n\t"
                     "vmladav.s8 r8, q4, q2\n\t"
                     "vmladav.s8 r10, q4, q3\n\t"
                     "vmladav.s8 r12, q5, q2\n\t"
                     "vmladav.s8 lr, q5, q3\n\t"
                     "stm r5, {r0, r2, r4, r6, r8, r10, r12, lr}"
                     :
                     : "r"(t), "r"(k), "r"(to), "r"(u), [columns] "w"(columns)
                     : "r0", "r2", "r4", "r6", "r8", "r10", "r12", "lr", "q0", "q1", "q2", "q3", "q4", "q5", "memory");
}

/* Sums of 4 outputs of stride 2. */
TIGRIS_INLINE int32x4_t sum_stride_2(const int8_t *tile, const int8_t *kernel, uint32x4_t columns)
{
    const int8x16_t weights = vld1q_s8(kernel);
    int32_t sum[4];
    for (int32_t i = 0; i < 4; i++) {
        const uint32x4_t inputs =
            vldrwq_gather_offset_u32((const uint32_t *)(const void *)(tile + 2 * i * COLUMN_BYTES), columns);
        sum[i] = vmladavq_s8(vreinterpretq_s8_u32(inputs), weights);
    }
    int32x4_t sums = vdupq_n_s32(sum[0]);
    sums = vsetq_lane_s32(sum[1], sums, 1);
    sums = vsetq_lane_s32(sum[2], sums, 2);
    return vsetq_lane_s32(sum[3], sums, 3);
}

/* Outputs of a tile, and where they go. */
typedef struct place {
    uint16x8_t offsets;
    mve_pred16_t wanted;
    int8_t *output;
} place;

TIGRIS_INLINE int32x4_t scaled(int32x4_t sums, int32_t bias, int32_t multiplier, int32_t shift, int shifts_right)
{
    const int32x4_t with_bias = vaddq_n_s32(sums, bias);
    if (shifts_right) {
        const int32x4_t high = vqrdmulhq_n_s32(with_bias, multiplier);
        return vrshlq_n_s32(vaddq_s32(high, vshrq_n_s32(high, 31)), shift);
    }
    return tigris_mve_scale(with_bias, vdupq_n_s32(multiplier), vdupq_n_s32(shift));
}

TIGRIS_INLINE void run_channels(const depthwise *d, int32_t channel, int32_t count, const place *to, int stride,
                                int shifts_right, const tigris_mve_end *end)
{
    const uint32x4_t columns = vmulq_n_u32(vidupq_n_u32(0, 1), COLUMN_BYTES);
    const int32_t *bias = tigris_int32_data(d->call, d->params->bias) + channel;
    const int32_t *multiplier = tigris_int32_data(d->call, d->params->multiplier) + channel;
    const int8_t *shift = tigris_int8_data(d->call, d->params->shift) + channel;
    const int8_t *tile = d->tile;
    const int8_t *kernel = d->kernels[0];
    int8_t *output = to->output + channel;
    for (const int8_t *const last = shift + count; shift != last;) {
        int32x4_t even, odd = vdupq_n_s32(0);
        if (stride == 1) {
            int32_t sums[8];
            sum_stride_1(tile, kernel, columns, sums);
            even = scaled(vld1q_s32(sums), *bias, *multiplier, *shift, shifts_right);
            odd = scaled(vld1q_s32(sums + 4), *bias, *multiplier, *shift, shifts_right);
        } else {
            even = scaled(sum_stride_2(tile, kernel, columns), *bias, *multiplier, *shift, shifts_right);
        }
        vstrbq_scatter_offset_p_s16(output, to->offsets, tigris_mve_outputs(even, odd, end), to->wanted);
        bias++, multiplier++, shift++, output++;
        tile += 4;
        kernel += 16;
    }
}

/* ---- calls ---- */

/* A group of channels at all outputs. */
static void run_group(depthwise *d, int32_t channel, int32_t count, int32_t stride, int shifts_right,
                      const tigris_mve_end *end)
{
    const axis *along = &d->along, *across = &d->across;
    const uint16x8_t lane = vidupq_n_u16(0, 1);
    const uint16x8_t at_along = vshrq_n_u16(lane, 1), at_across = vandq_u16(lane, vdupq_n_u16(1));
    const mve_pred16_t lanes = vctp8q((uint32_t)count);
    place to;
    to.offsets = vaddq_u16(vmulq_n_u16(at_along, (uint16_t)along->output_step),
                           vmulq_n_u16(at_across, (uint16_t)across->output_step));
    take_kernels(d, channel, count);
    for (int32_t y = 0; y < across->outputs; y += d->tile_across) {
        const int32_t left = across->outputs - y < d->tile_across ? across->outputs - y : d->tile_across;
        for (int32_t x = 0; x < along->outputs; x += ALONG) {
            const int32_t most = along->outputs - x < ALONG ? along->outputs - x : ALONG;
            to.wanted = vcmpltq_n_s16(vreinterpretq_s16_u16(at_along), (int16_t)most) &
                        vcmpltq_n_s16(vreinterpretq_s16_u16(at_across), (int16_t)left);
            to.output = tigris_int8_output(d->call) + x * along->output_step + y * across->output_step;
            take_tile(d, channel, along->first + x * stride, across->first + y * stride, lanes);
            if (stride == 1 && shifts_right) {
                run_channels(d, channel, count, &to, 1, 1, end);
            } else if (stride == 1) {
                run_channels(d, channel, count, &to, 1, 0, end);
            } else {
                run_channels(d, channel, count, &to, 2, shifts_right, end);
            }
        }
    }
}

static int32_t tiles(const axis *along, const axis *across, int32_t tile_across)
{
    return (along->outputs + ALONG - 1) / ALONG * ((across->outputs + tile_across - 1) / tile_across);
}

static int unpack(depthwise *d, const tigris_kernel_call *call)
{
    const tigris_conv_int8_params *params = call->params;
    const tigris_band *in = &call->inputs[0], *out = call->output;
    const int32_t width = (int32_t)out->tensor->width, input_width = (int32_t)in->tensor->width;
    const int32_t channels = (int32_t)out->tensor->channels, stride = params->stride_width;
    if (params->kernel_height != 3 || params->kernel_width != 3 || params->dilation_height != 1 ||
        params->dilation_width != 1 || stride > 2 || stride != params->stride_height ||
        in->tensor->channels != out->tensor->channels || channels % BLOCK != 0) {
        return 0;
    }
    const axis rows = {out->rows, -in->pad_top, in->rows, input_width * channels, width * channels, 3};
    const axis columns = {width, -params->pad_left, input_width, channels, channels, 1};
    d->call = call;
    d->params = params;
    d->channels = channels;
    d->tile_across = stride == 1 ? ACROSS : 1;
    d->columns = stride == 1 ? ALONG + 2 : 2 * ALONG + 2;
    const int by_rows = tiles(&rows, &columns, d->tile_across) < tiles(&columns, &rows, d->tile_across);
    d->along = by_rows ? rows : columns;
    d->across = by_rows ? columns : rows;
    memset(d->padding, params->input_zero_point, sizeof d->padding);
    return (uint32_t)(ALONG - 1) * (uint32_t)d->along.output_step + (uint32_t)d->across.output_step <= UINT16_MAX;
}

int tigris_mve_depthwise(const tigris_kernel_call *call)
{
    depthwise d;
    if (!unpack(&d, call)) {
        return 0;
    }
    const tigris_mve_end end =
        tigris_mve_end_of(d.params->output_zero_point, d.params->activation_min, d.params->activation_max);
    const int8_t *shift = tigris_int8_data(call, d.params->shift);
    for (int32_t channel = 0; channel < d.channels; channel += GROUP) {
        const int32_t count = d.channels - channel < GROUP ? d.channels - channel : GROUP;
        run_group(&d, channel, count, d.params->stride_width, tigris_mve_shifts_right(shift + channel, count), &end);
    }
    return 1;
}

#endif
