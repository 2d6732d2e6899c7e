/* DEPTHWISE_CONV_2D of int8 with MVE for kernels of any size, stride and dilation: pixel by pixel, a lane for each of
 * sixteen channels, of a multiple of four. */
#include "mve.h"

#if TIGRIS_MVE

#include <string.h>

#include "../access.h"
#include "../window.h"

#define BLOCK 4  /* channels of a block of packed weights */
#define GROUP 16 /* channels */

/* Sums, multipliers or shifts of a group in the order of the products: channels 0, 4, 8, 12; 2 …; 1 …; 3 …. */
typedef struct lanes {
    int32x4_t of[4];
} lanes;

typedef struct group {
    const tigris_kernel_call *call;
    const tigris_conv_int8_params *params;
    const int8_t *weights; /* of the group */
    uint32x4_t blocks;     /* from a block of weights to the others */
    mve_pred16_t wanted;   /* bytes of a pixel that are the group's */
    int8_t padding[GROUP];
    tigris_mve_end end;
    int shifts_right;
    lanes bias;
    lanes multiplier;
    lanes shift;
} group;

/* Adds `count` taps with a stride of `step` bytes in the input. Returns the weights behind them. */
TIGRIS_MVE_PREDICATED const int8_t *add_taps(const group *g, lanes *sums, const int8_t *from, int32_t step,
                                     const int8_t *weights, int32_t count)
{
    register int32x4_t a __asm__("q4") = sums->of[0];
    register int32x4_t b __asm__("q5") = sums->of[1];
    register int32x4_t c __asm__("q6") = sums->of[2];
    register int32x4_t d __asm__("q7") = sums->of[3];
    __asm__ volatile("vmsr p0, %[wanted]\n\t"
                     "wls lr, %[count], 2f\n"
                     "1: vldrw.32 q2, [%[blocks]]\n\t"
                     "vpstt\n\t"
                     "vldrbt.8 q0, [%[from]]\n\t"
                     "vldrwt.u32 q1, [%[weights], q2]\n\t"
                     "add %[from], %[from], %[step]\n\t"
                     "add %[weights], %[weights], #4\n\t"
                     "vmullb.s8 q2, q0, q1\n\t"
                     "vmullt.s8 q3, q0, q1\n\t"
                     "vmovlb.s16 q0, q2\n\t"
                     "vmovlt.s16 q1, q2\n\t"
                     "vadd.i32 %q[a], %q[a], q0\n\t"
                     "vmovlb.s16 q2, q3\n\t"
                     "vadd.i32 %q[b], %q[b], q1\n\t"
                     "vmovlt.s16 q3, q3\n\t"
                     "vadd.i32 %q[c], %q[c], q2\n\t"
                     "vadd.i32 %q[d], %q[d], q3\n\t"
                     "le lr, 1b\n"
                     "2:"
                     : [from] "+r"(from), [weights] "+r"(weights), [a] "+w"(a), [b] "+w"(b), [c] "+w"(c), [d] "+w"(d)
                     : [step] "r"(step), [count] "r"(count), [blocks] "r"(&g->blocks), [wanted] "r"((int32_t)g->wanted)
                     : "lr", "q0", "q1", "q2", "q3", TIGRIS_MVE_PREDICATE, "memory");
    sums->of[0] = a, sums->of[1] = b, sums->of[2] = c, sums->of[3] = d;
    return weights;
}

static int16x8_t outputs(const group *g, const lanes *sums, int32_t first)
{
    int32x4_t even = sums->of[first], odd = sums->of[first + 1];
    if (g->shifts_right) {
        even = tigris_mve_scale_right(even, g->multiplier.of[first], g->shift.of[first]);
        odd = tigris_mve_scale_right(odd, g->multiplier.of[first + 1], g->shift.of[first + 1]);
    } else {
        even = tigris_mve_scale(even, g->multiplier.of[first], g->shift.of[first]);
        odd = tigris_mve_scale(odd, g->multiplier.of[first + 1], g->shift.of[first + 1]);
    }
    return tigris_mve_outputs(even, odd, &g->end);
}

/* The kernel along one axis at one output pixel. */
typedef struct pixel_axis {
    int32_t taps;
    int32_t step; /* bytes from a tap's input to the next */
    const tigris_taps *inside;
} pixel_axis;

/* The pixel whose first tap lies `first` bytes from the input's start, modulo 2^32 as it may be padding. */
TIGRIS_INLINE void run_pixel(const group *g, const int8_t *input, uint32_t first, const pixel_axis *outer,
                             const pixel_axis *inner, int8_t *output)
{
    const int8_t *weights = g->weights;
    const int32_t begin = inner->inside->first, end = inner->inside->end;
    lanes sums = g->bias;
    for (int32_t i = 0; i < outer->taps; i++) {
        const int is_inside = i >= outer->inside->first && i < outer->inside->end && begin != end;
        const int32_t before = is_inside ? begin : inner->taps;
        if (before != 0) {
            weights = add_taps(g, &sums, g->padding, 0, weights, before);
        }
        if (is_inside) {
            weights = add_taps(g, &sums, input + (first + (uint32_t)begin * (uint32_t)inner->step), inner->step, weights,
                               end - begin);
            if (end != inner->taps) {
                weights = add_taps(g, &sums, g->padding, 0, weights, inner->taps - end);
            }
        }
        first += (uint32_t)outer->step;
    }
    int8x16_t result = vmovnbq_s16(vdupq_n_s8(0), outputs(g, &sums, 0));
    result = vmovntq_s16(result, outputs(g, &sums, 2));
    vstrbq_p_s8(output, result, g->wanted);
}

static lanes deal(const int32_t values[GROUP])
{
    const int32x4x4_t by_four = vld4q_s32(values);
    const lanes dealt = {{by_four.val[0], by_four.val[2], by_four.val[1], by_four.val[3]}};
    return dealt;
}

static lanes deal_words(const int32_t *from, int32_t count)
{
    int32_t values[GROUP] = {0};
    tigris_mve_copy((int8_t *)(void *)values, (const int8_t *)(const void *)from, 4 * count);
    return deal(values);
}

static void load_group(group *g, int32_t channel, int32_t count)
{
    const tigris_conv_int8_params *params = g->params;
    const int8_t *shift = tigris_int8_data(g->call, params->shift) + channel;
    int32_t shifts[GROUP] = {0};
    for (int32_t i = 0; i < count; i += 4) {
        vst1q_s32(shifts + i, vldrbq_s32(shift + i));
    }
    g->weights = tigris_int8_data(g->call, params->weights) + channel * params->kernel_height * params->kernel_width;
    g->wanted = vctp8q((uint32_t)count);
    g->shifts_right = tigris_mve_shifts_right(shift, count);
    g->bias = deal_words(tigris_int32_data(g->call, params->bias) + channel, count);
    g->multiplier = deal_words(tigris_int32_data(g->call, params->multiplier) + channel, count);
    g->shift = deal(shifts);
}

static void run_group(const group *g, int32_t channel)
{
    const tigris_conv_int8_params *params = g->params;
    const tigris_band *in = &g->call->inputs[0];
    const int32_t channels = (int32_t)in->tensor->channels, row_bytes = (int32_t)in->tensor->width * channels;
    const int8_t *input = (const int8_t *)(const void *)in->data + channel;
    int8_t *output = tigris_int8_output(g->call) + channel;
    tigris_pixel_loop loop;
    const pixel_axis rows = {params->kernel_height, (int32_t)((uint32_t)params->dilation_height * (uint32_t)row_bytes),
                             &loop.pixel.rows};
    const pixel_axis columns = {params->kernel_width, (int32_t)((uint32_t)params->dilation_width * (uint32_t)channels),
                                &loop.pixel.columns};
    const pixel_axis *outer = columns.taps == 1 ? &columns : &rows; /* one run of a column, not one a row */
    const pixel_axis *inner = columns.taps == 1 ? &rows : &columns;
    for (tigris_start_pixels(&loop, g->call, 0); loop.left > 0; tigris_next_pixel_inline(&loop)) { /* 2.7 % of sww */
        run_pixel(g, input, tigris_tap_offset(g->call, &loop.pixel, 0, 0), outer, inner, output);
        output += channels;
    }
}

int tigris_mve_depthwise_lanes(const tigris_kernel_call *call)
{
    const tigris_conv_int8_params *params = call->params;
    const int32_t channels = (int32_t)call->output->tensor->channels;
    const uint32_t block_bytes = (uint32_t)(params->kernel_height * params->kernel_width * BLOCK);
    group g;
    if (call->inputs[0].tensor->channels != call->output->tensor->channels || channels % BLOCK != 0 ||
        ((uintptr_t)tigris_int8_data(call, params->weights) & 3U) != 0U) {
        return 0;
    }
    g.call = call;
    g.params = params;
    g.blocks = vmulq_n_u32(vidupq_n_u32(0, 1), block_bytes);
    g.end = tigris_mve_end_of(params->output_zero_point, params->activation_min, params->activation_max);
    memset(g.padding, params->input_zero_point, sizeof g.padding);
    for (int32_t channel = 0; channel < channels; channel += GROUP) {
        load_group(&g, channel, channels - channel < GROUP ? channels - channel : GROUP);
        run_group(&g, channel);
    }
    return 1;
}

#endif
