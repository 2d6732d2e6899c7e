/* FULLY_CONNECTED of int8 with MVE: four outputs of a vector at a time, 16 products of each with every step.
 *
 * PORTABLE weights: the vector is copied in their order. One longer than PART_BYTES is copied in parts, again for each four
 * outputs. ROWS_16 weights: the vector is read in place, but for taps behind its last 16. */
#include "mve.h"

#if TIGRIS_MVE

#include "../access.h"
#include "../check.h"
#include "../layer_vectors.h"
#include "tigris_backends.h"
#include "tiles.h"

#define PART_BYTES 1024 /* a multiple of TIGRIS_MVE_TILES */

typedef struct layer {
    const int8_t *weights;
    const int32_t *bias;
    const int32_t *multiplier;
    const int8_t *shift;
    int32_t step; /* stride of multipliers and shifts: 0 or 1 */
    int32_t length;
    int32_t outputs;
    int shifts_right;
    tigris_mve_end end;
    int8_t *part; /* PART_BYTES, for PORTABLE weights */
} layer;

/* Copies the part from `first` on of the vector at `from`. Returns its length. */
static int32_t copy_part(layer *l, const int8_t *from, int32_t first)
{
    const int32_t left = l->length - first, count = left < PART_BYTES ? left : PART_BYTES;
    tigris_mve_copy(l->part, from + first, count);
    tigris_mve_order_taps(l->part, count);
    return count;
}

/* Adds `count` times 16 products to the sums of four outputs; at least one time. */
TIGRIS_INLINE void add_products(const int8_t *weights, const int8_t *vector, int32_t count, int32_t sums[4])
{
    register const int8_t *w __asm__("r1") = weights;
    register const int8_t *v __asm__("r3") = vector;
    register int32_t times __asm__("r9") = count;
    register int32_t *to __asm__("r5") = sums;
    __asm__ volatile("ldm r5, {r0, r2, r4, r6}\n\t"
                     "dls lr, r9\n"
                     "1: vld40.32 {q0, q1, q2, q3}, [r1]\n\t"
                     "vld41.32 {q0, q1, q2, q3}, [r1]\n\t"
                     "vldrb.8 q4, [r3], #16\n\t"
                     "vld42.32 {q0, q1, q2, q3}, [r1]\n\t"
                     "vld43.32 {q0, q1, q2, q3}, [r1]!\n\t"
                     "vmladava.s8 r0, q0, q4\n\t"
                     "vmladava.s8 r2, q1, q4\n\t"
                     "vmladava.s8 r4, q2, q4\n\t"
                     "vmladava.s8 r6, q3, q4\n\t"
                     "le lr, 1b\n\t"
                     "stm r5, {r0, r2, r4, r6}"
                     : "+r"(w), "+r"(v)
                     : "r"(times), "r"(to)
                     : "r0", "r2", "r4", "r6", "lr", "q0", "q1", "q2", "q3", "q4", "memory");
}

static void add_part(const int8_t *weights, const int8_t *part, int32_t count, int32_t sums[4])
{
    const int32_t times = count / TIGRIS_MVE_BYTES, left = count % TIGRIS_MVE_BYTES;
    if (times != 0) {
        add_products(weights, part, times, sums);
    }
    if (left != 0) {
        int8_t tail[TIGRIS_MVE_TILES];
        tigris_mve_tail_tiles(weights + times * TIGRIS_MVE_TILES, left, tail);
        add_products(tail, part + times * TIGRIS_MVE_BYTES, 1, sums);
    }
}

/* The sum of an output behind the last whole block. */
static int32_t add_row(const int8_t *weights, const int8_t *part, int32_t count, int32_t sum)
{
    const int32_t tiled = count & ~3;
    const int8_t *w = weights, *v = part;
    __asm__ volatile("wlstp.8 lr, %[tiled], 2f\n"
                     "1: vldrb.8 q0, [%[w]], #16\n\t"
                     "vldrb.8 q1, [%[v]], #16\n\t"
                     "vmladava.s8 %[sum], q0, q1\n\t"
                     "letp lr, 1b\n"
                     "2:"
                     : [w] "+r"(w), [v] "+r"(v), [sum] "+Te"(sum)
                     : [tiled] "r"(tiled)
                     : "lr", "q0", "q1", "memory");
    for (int32_t i = tiled; i < count; i++) {
        sum = tigris_wrapping_add(sum, part[tiled + tigris_mve_place_of_tap(i - tiled)] * weights[i]);
    }
    return sum;
}

/* Writes outputs from `first` on, those of `lanes`. */
TIGRIS_INLINE void write_outputs(const layer *l, int32x4_t sum, int32_t first, mve_pred16_t lanes, int8_t *output)
{
    const int32x4_t multiplier =
        l->step == 0 ? vdupq_n_s32(*l->multiplier) : vldrwq_z_s32(l->multiplier + first, lanes);
    const int32x4_t shift = l->step == 0 ? vdupq_n_s32(*l->shift) : vldrbq_z_s32(l->shift + first, lanes);
    const int32x4_t value = l->shifts_right ? tigris_mve_scale_right(sum, multiplier, shift)
                                            : tigris_mve_scale(sum, multiplier, shift);
    vstrbq_p_s32(output + first, vreinterpretq_s32_s16(tigris_mve_outputs(value, value, &l->end)), lanes);
}

/* One vector's outputs from `first` on, up to four. */
static void run_block(layer *l, const int8_t *vector, int32_t first, int8_t *output)
{
    const int32_t left = l->outputs - first, count = left < 4 ? left : 4;
    const mve_pred16_t lanes = vctp32q((uint32_t)count);
    const int8_t *weights = l->weights + first * l->length;
    int32_t sums[4];
    vst1q_s32(sums, vldrwq_z_s32(l->bias + first, lanes));
    for (int32_t at = 0, taps; at < l->length; at += taps) {
        taps = l->length <= PART_BYTES ? l->length : copy_part(l, vector, at);
        if (count == 4) {
            add_part(weights + 4 * at, l->part, taps, sums);
            continue;
        }
        for (int32_t i = 0; i < count; i++) {
            sums[i] = add_row(weights + i * l->length + at, l->part, taps, sums[i]);
        }
    }
    write_outputs(l, vld1q_s32(sums), first, lanes, output);
}

static void unpack(layer *l, const tigris_kernel_call *call)
{
    const tigris_fully_connected_int8_params *params = call->params;
    l->weights = tigris_int8_data(call, params->weights);
    l->bias = tigris_int32_data(call, params->bias);
    l->multiplier = tigris_int32_data(call, params->multiplier);
    l->shift = tigris_int8_data(call, params->shift);
    l->step = (int32_t)params->requantise_step;
    l->length = (int32_t)params->in_features;
    l->outputs = (int32_t)params->out_features;
    l->shifts_right = tigris_mve_shifts_right(l->shift, l->step == 0 ? 1 : l->outputs);
    l->end = tigris_mve_end_of(params->output_zero_point, params->activation_min, params->activation_max);
}

int tigris_fully_connected_int8_by_set(const tigris_kernel_call *call)
{
    const tigris_fully_connected_int8_params *params = call->params;
    const tigris_layer_vectors vectors = tigris_layer_vectors_of(call, params->in_features, params->out_features);
    const int8_t *input = vectors.input;
    int8_t *output = tigris_int8_output(call), part[PART_BYTES];
    layer l;
    unpack(&l, call);
    l.part = part;
    if (((uintptr_t)l.weights & 3U) != 0U) {
        return 0;
    }
    for (uint32_t left = vectors.count; left > 0U; left--) {
        if (l.length <= PART_BYTES) {
            copy_part(&l, input, 0);
        }
        for (int32_t first = 0; first < l.outputs; first += 4) {
            run_block(&l, input, first, output);
        }
        input += l.length;
        output += l.outputs;
    }
    return 1;
}

/* ---- weights in rows ---- */

/* Adds `times` times 16 products to the sums of four outputs; at least one time. */
#define ADD_ROWS                                                                                                       \
    "dls lr, %[times]\n"                                                                                               \
    "1: vldrb.8 q4, [%[vector]], #16\n\t"                                                                              \
    "vldrb.8 q0, [%[weights]], #16\n\t"                                                                               \
    "vmladava.s8 %[a], q0, q4\n\t"                                                                                    \
    "vldrb.8 q1, [%[weights]], #16\n\t"                                                                               \
    "vmladava.s8 %[b], q1, q4\n\t"                                                                                    \
    "vldrb.8 q2, [%[weights]], #16\n\t"                                                                               \
    "vmladava.s8 %[c], q2, q4\n\t"                                                                                    \
    "vldrb.8 q3, [%[weights]], #16\n\t"                                                                               \
    "vmladava.s8 %[d], q3, q4\n\t"                                                                                    \
    "le lr, 1b"
TIGRIS_INLINE const int8_t *add_rows(const int8_t *weights, const int8_t *vector, int32_t times, int32_t sums[4])
{
    __asm__ volatile(ADD_ROWS
                     : [weights] "+r"(weights), [vector] "+r"(vector), [a] "+Te"(sums[0]), [b] "+Te"(sums[1]),
                       [c] "+Te"(sums[2]), [d] "+Te"(sums[3])
                     : [times] "r"(times)
                     : "lr", "q0", "q1", "q2", "q3", "q4", "memory");
    return weights;
}

static void run_rows(const tigris_kernel_call *call)
{
    const tigris_fully_connected_int8_params *params = call->params;
    const tigris_layer_vectors vectors = tigris_layer_vectors_of(call, params->in_features, params->out_features);
    const int8_t *input = vectors.input;
    int8_t *output = tigris_int8_output(call), tail[TIGRIS_MVE_BYTES];
    layer l;
    unpack(&l, call);
    const int32_t times = l.length / TIGRIS_MVE_BYTES, left = l.length % TIGRIS_MVE_BYTES;
    for (uint32_t vector = vectors.count; vector > 0U; vector--) {
        const int8_t *weights = l.weights;
        if (left != 0) {
            vst1q_s8(tail, vldrbq_z_s8(input + l.length - left, vctp8q((uint32_t)left)));
        }
        for (int32_t first = 0; first < l.outputs; first += 4) {
            const mve_pred16_t lanes = vctp32q((uint32_t)(l.outputs - first));
            int32_t sums[4];
            vst1q_s32(sums, vldrwq_z_s32(l.bias + first, lanes));
            if (times != 0) {
                weights = add_rows(weights, input, times, sums);
            }
            if (left != 0) {
                weights = add_rows(weights, tail, 1, sums);
            }
            write_outputs(&l, vld1q_s32(sums), first, lanes, output);
        }
        input += l.length;
        output += l.outputs;
    }
}

static tigris_status check(const tigris_check_call *call)
{
    const tigris_fully_connected_int8_params *params = call->params;
    const tigris_status status = tigris_check_fully_connected_int8(call);
    return status != TIGRIS_OK ? status
                               : tigris_check_result(tigris_check_data(
                                     call, params->weights,
                                     tigris_mve_rows_bytes(params->in_features, params->out_features), 1U));
}

const tigris_kernel_entry tigris_mve_fully_connected_int8 = {
    TIGRIS_OP_KIND_FULLY_CONNECTED, TIGRIS_DTYPE_INT8, TIGRIS_PACKING_ROWS_16,
    sizeof(tigris_fully_connected_int8_params), run_rows, check};

#endif
