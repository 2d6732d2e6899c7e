/* DEPTHWISE_CONV_2D of int8 with MVE: 3x3 kernels of stride 1 and 2, undilated, of a multiple of four channels.
 *
 * Sixteen channels at a time, tiles of 2 x 4 outputs. A tile's inputs are stored [along][channel][across]: columns along
 * one axis, each of four neighbours across it, by VST4. A gather of four words, a column's each, then holds 4 x 4 inputs
 * of one channel. VMLADAVA with the kernel in four places gives four outputs of stride 1. With stride 2 it gives one,
 * and the second line of outputs has columns of its own. Both axes of the band can be the one along, whichever wastes
 * less. */
#include "mve.h"

#if TIGRIS_MVE

#include <stddef.h>
#include <string.h>

#include "../access.h"

#define BLOCK 4  /* channels of a block of packed weights */
#define GROUP 16 /* channels */
#define TAPS 9
#define ALONG 4 /* outputs of a tile */
#define ACROSS 2
#define COLUMN_BYTES (4 * GROUP)
#define MOST_COLUMNS 10 /* of one line of outputs of stride 2; the last is loaded with weights of 0 */

typedef struct axis {
    int32_t outputs;
    int32_t first;       /* position of the first output's first tap; negative in the padding */
    int32_t extent;      /* positions inside */
    int32_t step;        /* bytes from a position to the next */
    int32_t output_step; /* bytes from an output to the next */
    int32_t weight_step; /* taps from a weight to the next */
} axis;

/* A channel of a group. */
typedef struct channel_data {
    int8_t kernel[16]; /* [along][across] of 4 x 4, zeros behind 3 */
    int32_t bias;
    int32_t multiplier;
    int32_t shift;
} channel_data;

/* The operands of the assembler below; it depends on their offsets. */
typedef struct group {
    int32_t sums[ALONG * ACROSS]; /* 0: [across][along] */
    uint32x4_t columns;           /* 32: where the first gather's columns of the first channel lie */
    int16x8_t low;                /* 48 */
    int16x8_t high;               /* 64 */
    uint16x8_t places;            /* 80: of outputs, from the tile's first */
    int32_t zero_point;           /* 96 */
    const int8_t *end;            /* 100: behind the first output's last channel */
    int32_t wanted;               /* 104: bytes of `places` that are stored */
    channel_data channels[GROUP];
    int8_t tile[ACROSS * MOST_COLUMNS * COLUMN_BYTES];
} group;

TIGRIS_STATIC_ASSERT(offsetof(group, wanted) == 104, offsets_are_those_of_the_assembler);

typedef struct depthwise {
    const tigris_kernel_call *call;
    const tigris_conv_int8_params *params;
    axis along;
    axis across;
    int32_t channels;
    int32_t stride;
    int32_t columns; /* of a line's inputs */
    int32_t lines;   /* of inputs in a tile: 1, or 2 with stride 2 */
    int8_t padding[GROUP];
} depthwise;

/* ---- weights ---- */

static void load_channels(const depthwise *d, group *g, int32_t channel, int32_t count)
{
    const int32_t along = d->along.weight_step * BLOCK, across = d->across.weight_step * BLOCK;
    const uint32x4_t stride = vmulq_n_u32(vidupq_n_u32(0, 1), sizeof(channel_data));
    const int8_t *from = tigris_int8_data(d->call, d->params->weights) + channel * TAPS;
    const int32_t *bias = tigris_int32_data(d->call, d->params->bias) + channel;
    const int32_t *multiplier = tigris_int32_data(d->call, d->params->multiplier) + channel;
    const int8_t *shift = tigris_int8_data(d->call, d->params->shift) + channel;
    for (int32_t i = 0; i < count; i += BLOCK) {
        channel_data *to = g->channels + i;
        for (int32_t word = 0; word < 4; word++) {
            vst1q_s8(to[word].kernel, vdupq_n_s8(0));
        }
        for (int32_t x = 0; x < 3; x++) {
            int8_t *kernel = to->kernel + 4 * x;
            vstrbq_scatter_offset_s32(kernel, stride, vldrbq_s32(from + x * along));
            vstrbq_scatter_offset_s32(kernel + 1, stride, vldrbq_s32(from + x * along + across));
            vstrbq_scatter_offset_s32(kernel + 2, stride, vldrbq_s32(from + x * along + 2 * across));
        }
        vstrwq_scatter_offset_s32(&to->bias, stride, vldrwq_s32(bias + i));
        vstrwq_scatter_offset_s32(&to->multiplier, stride, vldrwq_s32(multiplier + i));
        vstrwq_scatter_offset_s32(&to->shift, stride, vldrbq_s32(shift + i));
        from += TAPS * BLOCK;
    }
}

/* ---- inputs ---- */

/* Columns of four neighbours at from[0 … 3], which move on by `step`. */
TIGRIS_MVE_PREDICATED int8_t *take_columns(int8_t *to, const int8_t *const from[4], const int32_t step[4], int32_t columns,
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
                     : "lr", "q0", "q1", "q2", "q3", TIGRIS_MVE_PREDICATE, "memory");
    return to;
}

static int32_t clamp_count(int32_t value, int32_t most)
{
    return value < 0 ? 0 : value > most ? most : value;
}

/* Loads the inputs of a line of outputs, whose first is at `x` along and `y` across, from `channel` on. */
/* Not inlined: inside its caller the assembler lacks registers at -O3. */
static TIGRIS_NOINLINE void load_line(const depthwise *d, int32_t channel, int32_t x, int32_t y, mve_pred16_t lanes, int8_t *to)
{
    const axis *along = &d->along, *across = &d->across;
    const int32_t before = clamp_count(-x, d->columns);
    const int32_t inside = clamp_count(along->extent - x - before, d->columns - before);
    const int8_t *input = (const int8_t *)(const void *)d->call->inputs[0].data + channel + (x + before) * along->step;
    const int8_t *from[4];
    int32_t step[4];
    for (int32_t j = 0; j < 4; j++) {
        const int is_inside = y + j >= 0 && y + j < across->extent;
        from[j] = is_inside ? input + (y + j) * across->step : d->padding;
        step[j] = is_inside ? along->step : 0;
    }
    if (before != 0) {
        tigris_mve_fill(to, d->padding[0], before * COLUMN_BYTES);
    }
    to = take_columns(to + before * COLUMN_BYTES, from, step, inside, lanes);
    if (before + inside != d->columns) {
        tigris_mve_fill(to, d->padding[0], (d->columns - before - inside) * COLUMN_BYTES);
    }
}

/* ---- outputs ---- */

/* Sums of 2 x 4 outputs of stride 1 with the kernel in q0, into r0, r2, r4 and so on: [across][along]. The columns lie
 * from q6 on. */
#define PRODUCTS_1                                                                                                     \
    "vldrw.u32 q4, [q6]\n\t"                                                                                           \
    "vmov q1, q0\n\t"                                                                                                  \
    "vldrw.u32 q5, [q6, #128]\n\t"                                                                                     \
    "vshlc q1, r0, #32\n\t"                                                                                            \
    "vmladav.s8 r0, q4, q0\n\t"                                                                                        \
    "vshl.i32 q2, q0, #8\n\t"                                                                                          \
    "vmladav.s8 r2, q4, q1\n\t"                                                                                        \
    "vshl.i32 q3, q1, #8\n\t"                                                                                          \
    "vmladav.s8 r4, q5, q0\n\t"                                                                                        \
    "vmladav.s8 r6, q5, q1\n\t"                                                                                        \
    "vmladav.s8 r8, q4, q2\n\t"                                                                                        \
    "vmladav.s8 r10, q4, q3\n\t"                                                                                       \
    "vmladav.s8 r12, q5, q2\n\t"                                                                                       \
    "vmladav.s8 lr, q5, q3\n\t"

/* Sums of 2 x 4 outputs of stride 2; the columns of the second line of outputs lie from q5 on. */
#define PRODUCTS_2                                                                                                     \
    "vadd.i32 q5, q6, r9\n\t"                                                                                          \
    "vldrw.u32 q1, [q6]\n\t"                                                                                           \
    "vldrw.u32 q2, [q6, #128]\n\t"                                                                                     \
    "vmladav.s8 r0, q1, q0\n\t"                                                                                        \
    "vldrw.u32 q3, [q6, #256]\n\t"                                                                                     \
    "vmladav.s8 r2, q2, q0\n\t"                                                                                        \
    "vldrw.u32 q4, [q6, #384]\n\t"                                                                                     \
    "vmladav.s8 r4, q3, q0\n\t"                                                                                        \
    "vldrw.u32 q1, [q5]\n\t"                                                                                           \
    "vmladav.s8 r6, q4, q0\n\t"                                                                                        \
    "vldrw.u32 q2, [q5, #128]\n\t"                                                                                     \
    "vmladav.s8 r8, q1, q0\n\t"                                                                                        \
    "vldrw.u32 q3, [q5, #256]\n\t"                                                                                     \
    "vmladav.s8 r10, q2, q0\n\t"                                                                                       \
    "vldrw.u32 q4, [q5, #384]\n\t"                                                                                     \
    "vmladav.s8 r12, q3, q0\n\t"                                                                                       \
    "vmladav.s8 lr, q4, q0\n\t"

/* tigris_mve_scale_right and tigris_mve_scale of q0 and q1 but for the last shift, by r4; multiplier in r2. */
#define SCALE_RIGHT                                                                                                    \
    "vqrdmulh.s32 q0, q0, r2\n\t"                                                                                      \
    "vqrdmulh.s32 q1, q1, r2\n\t"                                                                                      \
    "vshr.s32 q2, q0, #31\n\t"                                                                                         \
    "vshr.s32 q3, q1, #31\n\t"
#define SCALE_ANY                                                                                                      \
    "bic r0, r4, r4, asr #31\n\t" /* to the left */                                                                   \
    "and r4, r4, r4, asr #31\n\t" /* to the right, negative */                                                        \
    "vshl.s32 q0, r0\n\t"                                                                                              \
    "vshl.s32 q1, r0\n\t"                                                                                              \
    "vdup.32 q4, r4\n\t"                                                                                               \
    "vqrdmulh.s32 q0, q0, r2\n\t"                                                                                      \
    "vqrdmulh.s32 q1, q1, r2\n\t"                                                                                      \
    "vand q2, q0, q4\n\t"                                                                                              \
    "vand q3, q1, q4\n\t"                                                                                              \
    "vshr.s32 q2, q2, #31\n\t"                                                                                         \
    "vshr.s32 q3, q3, #31\n\t"

/* The channels of a group at the outputs of a tile. */
#define RUN_CHANNELS(products, scale)                                                                                  \
    __asm__ volatile("ldr r0, [r11, #104]\n\t"                                                                         \
                     "vldrw.32 q6, [r11, #32]\n\t"                                                                     \
                     "vmsr p0, r0\n\t"                                                                                 \
                     "vldrh.16 q7, [r11, #48]\n"                                                                       \
                     "1: vldrw.32 q0, [r3], #16\n\t"                                                                   \
                     "mov r0, #0\n\t"                                                                                  \
                     products                                                                                          \
                     "stm r11, {r0, r2, r4, r6, r8, r10, r12, lr}\n\t"                                                 \
                     "mov r6, #4\n\t"                                                                                  \
                     "ldm r3!, {r0, r2, r4}\n\t"                                                                       \
                     "vldrw.32 q0, [r11]\n\t"                                                                          \
                     "vadd.i32 q6, q6, r6\n\t"                                                                         \
                     "vldrw.32 q1, [r11, #16]\n\t"                                                                     \
                     "vadd.i32 q0, q0, r0\n\t"                                                                         \
                     "vadd.i32 q1, q1, r0\n\t"                                                                         \
                     scale                                                                                             \
                     "ldrd r0, r2, [r11, #96]\n\t"                                                                     \
                     "vadd.i32 q0, q0, q2\n\t"                                                                         \
                     "vadd.i32 q1, q1, q3\n\t"                                                                         \
                     "vrshl.s32 q0, r4\n\t"                                                                            \
                     "vldrh.16 q2, [r11, #64]\n\t"                                                                     \
                     "vrshl.s32 q1, r4\n\t"                                                                            \
                     "vldrh.16 q3, [r11, #80]\n\t"                                                                     \
                     "vqmovnb.s32 q0, q0\n\t"                                                                          \
                     "vqmovnt.s32 q0, q1\n\t"                                                                          \
                     "vqadd.s16 q0, q0, r0\n\t"                                                                        \
                     "vmax.s16 q0, q0, q7\n\t"                                                                         \
                     "vmin.s16 q0, q0, q2\n\t"                                                                         \
                     "vpst\n\t"                                                                                        \
                     "vstrbt.16 q0, [r5, q3]\n\t"                                                                      \
                     "add r5, r5, #1\n\t"                                                                              \
                     "cmp r5, r2\n\t"                                                                                  \
                     "bne 1b"                                                                                          \
                     : "+r"(data), "+r"(to)                                                                            \
                     : "r"(with), "r"(line)                                                                            \
                     : "r0", "r2", "r4", "r6", "r8", "r10", "r12", "lr", "q0", "q1", "q2", "q3", "q4", "q5", "q6",      \
                       "q7", TIGRIS_MVE_PREDICATE, "cc", "memory")

static TIGRIS_NOINLINE void run_channels(group *g, int8_t *output, int32_t stride, int shifts_right)
{
    register const channel_data *data __asm__("r3") = g->channels;
    register int8_t *to __asm__("r5") = output;
    register int32_t line __asm__("r9") = MOST_COLUMNS * COLUMN_BYTES;
    register group *with __asm__("r11") = g;
    if (stride == 1 && shifts_right) {
        RUN_CHANNELS(PRODUCTS_1, SCALE_RIGHT);
    } else if (stride == 1) {
        RUN_CHANNELS(PRODUCTS_1, SCALE_ANY);
    } else if (shifts_right) {
        RUN_CHANNELS(PRODUCTS_2, SCALE_RIGHT);
    } else {
        RUN_CHANNELS(PRODUCTS_2, SCALE_ANY);
    }
}

/* ---- calls ---- */

/* Lanes of positions below `most`. */
static mve_pred16_t less(uint16x8_t positions, int32_t most)
{
    return vcmpltq_n_s16(vreinterpretq_s16_u16(positions), (int16_t)(most > ALONG ? ALONG : most));
}

/* A group of channels at all outputs. */
static void run_group(const depthwise *d, group *g, int32_t channel, int32_t count)
{
    const axis *along = &d->along, *across = &d->across;
    const int8_t *shift = tigris_int8_data(d->call, d->params->shift) + channel;
    const int shifts_right = tigris_mve_shifts_right(shift, count);
    const uint16x8_t lane = vidupq_n_u16(0, 1);
    const uint16x8_t at_along = vshrq_n_u16(lane, 1), at_across = vandq_u16(lane, vdupq_n_u16(1));
    const mve_pred16_t lanes = vctp8q((uint32_t)count);
    load_channels(d, g, channel, count);
    for (int32_t y = 0; y < across->outputs; y += ACROSS) {
        for (int32_t x = 0; x < along->outputs; x += ALONG) {
            int8_t *output = tigris_int8_output(d->call) + x * along->output_step + y * across->output_step + channel;
            int8_t *to = g->tile;
            for (int32_t line = 0; line < d->lines && y + line < across->outputs; line++) {
                load_line(d, channel, along->first + x * d->stride, across->first + (y + line) * d->stride, lanes, to);
                to += MOST_COLUMNS * COLUMN_BYTES;
            }
            g->wanted = less(at_along, along->outputs - x) & less(at_across, across->outputs - y);
            g->end = output + count;
            run_channels(g, output, d->stride, shifts_right);
        }
    }
}

static int32_t tiles(const axis *along, const axis *across)
{
    return (along->outputs + ALONG - 1) / ALONG * ((across->outputs + ACROSS - 1) / ACROSS);
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
    const int by_rows = tiles(&rows, &columns) < tiles(&columns, &rows);
    d->call = call;
    d->params = params;
    d->along = by_rows ? rows : columns;
    d->across = by_rows ? columns : rows;
    d->channels = channels;
    d->stride = stride;
    d->columns = (ALONG - 1) * stride + 3;
    d->lines = stride;
    memset(d->padding, params->input_zero_point, sizeof d->padding);
    return (uint32_t)(ALONG - 1) * (uint32_t)d->along.output_step + (uint32_t)d->across.output_step <= UINT16_MAX;
}

int tigris_mve_depthwise_3x3(const tigris_kernel_call *call)
{
    const tigris_conv_int8_params *params = call->params;
    depthwise d;
    group g;
    if (!unpack(&d, call)) {
        return 0;
    }
    const uint16x8_t lane = vidupq_n_u16(0, 1);
    g.columns = vaddq_n_u32(vmulq_n_u32(vidupq_n_u32(0, 1), COLUMN_BYTES), (uint32_t)(uintptr_t)g.tile);
    g.low = vdupq_n_s16((int16_t)params->activation_min);
    g.high = vdupq_n_s16((int16_t)params->activation_max);
    g.zero_point = params->output_zero_point;
    g.places = vaddq_u16(vmulq_n_u16(vshrq_n_u16(lane, 1), (uint16_t)d.along.output_step),
                         vmulq_n_u16(vandq_u16(lane, vdupq_n_u16(1)), (uint16_t)d.across.output_step));
    for (int32_t channel = 0; channel < d.channels; channel += GROUP) {
        run_group(&d, &g, channel, d.channels - channel < GROUP ? d.channels - channel : GROUP);
    }
    return 1;
}

#endif
