/* ADD, SUB and MUL of int8 with MVE, eight elements at a time, if the channels of both inputs are contiguous. */
#include "mve.h"

#if TIGRIS_MVE

#include "../binary_loop.h"

#define LANES 8

typedef struct binary {
    const tigris_binary_int8_params *params;
    tigris_mve_end end;
    int32x4_t output_multiplier;
    int32x4_t output_shift;
    int32x4_t multiplier[2]; /* of ADD and SUB */
    int32x4_t right[2];
    int32_t left_shift;
    int is_subtraction;
} binary;

/* Even or odd lanes of an input in the common scale of both. */
TIGRIS_INLINE int32x4_t common(const binary *b, int32_t input, int32x4_t values)
{
    const int32x4_t high = vqrdmulhq_s32(vshlq_r_s32(values, b->left_shift), b->multiplier[input]);
    const int32x4_t right = b->right[input];
    return vrshlq_s32(vaddq_s32(high, vshrq_n_s32(vandq_s32(high, right), 31)), right);
}

TIGRIS_INLINE int32x4_t sum(const binary *b, int32x4_t x, int32x4_t y)
{
    const int32x4_t left = common(b, 0, x), right = common(b, 1, y);
    return b->is_subtraction ? vsubq_s32(left, right) : vaddq_s32(left, right);
}

/* `count` elements. */
TIGRIS_INLINE void run_elements(const binary *with, const int8_t *x, const int8_t *y, int32_t count, int is_product,
                                int8_t *to)
{
    const binary b = *with;
    const int16_t zero_x = (int16_t)b.params->zero_point[0], zero_y = (int16_t)b.params->zero_point[1];
    for (; count > 0; count -= LANES) {
        const mve_pred16_t lanes = vctp16q((uint32_t)count);
        const int16x8_t p = vsubq_n_s16(vldrbq_z_s16(x, lanes), zero_x);
        const int16x8_t q = vsubq_n_s16(vldrbq_z_s16(y, lanes), zero_y);
        int32x4_t even, odd;
        if (is_product) {
            even = vmullbq_int_s16(p, q);
            odd = vmulltq_int_s16(p, q);
        } else {
            even = sum(&b, vmovlbq_s16(p), vmovlbq_s16(q));
            odd = sum(&b, vmovltq_s16(p), vmovltq_s16(q));
        }
        even = tigris_mve_scale_right(even, b.output_multiplier, b.output_shift);
        odd = tigris_mve_scale_right(odd, b.output_multiplier, b.output_shift);
        vstrbq_p_s16(to, tigris_mve_outputs(even, odd, &b.end), lanes);
        x += LANES;
        y += LANES;
        to += LANES;
    }
}

/* Computes all rows, in runs of elements that are contiguous in all three tensors. Returns 0 if there are none. */
static int run_rows(const binary *b, const tigris_kernel_call *call, int is_product)
{
    const tigris_band *in = call->inputs;
    const tigris_binary_steps steps = TIGRIS_BINARY_STEPS(b->params);
    const int32_t channels = (int32_t)call->output->tensor->channels;
    int32_t columns = (int32_t)call->output->tensor->width, run = channels;
    int8_t *to = tigris_int8_output(call);
    if (steps.channel[0] != 1 || steps.channel[1] != 1) {
        return 0;
    }
    if (steps.column[0] == channels && steps.column[1] == channels) {
        run *= columns;
        columns = 1;
    }
    for (int32_t y = call->output->first; y < call->output->first + call->output->rows; y++) {
        const int8_t *x = (const int8_t *)(const void *)in[0].data + tigris_binary_row(&in[0], y, steps.row[0]);
        const int8_t *z = (const int8_t *)(const void *)in[1].data + tigris_binary_row(&in[1], y, steps.row[1]);
        for (int32_t column = 0; column < columns; column++) {
            if (is_product) {
                run_elements(b, x, z, run, 1, to);
            } else {
                run_elements(b, x, z, run, 0, to);
            }
            x += steps.column[0];
            z += steps.column[1];
            to += run;
        }
    }
    return 1;
}

/* Reads the parameters that ADD, SUB and MUL share. Returns 0 if the output's scale is no right shift. */
static int unpack(binary *b, const tigris_kernel_call *call)
{
    const tigris_binary_int8_params *params = call->params;
    b->params = params;
    b->end = tigris_mve_end_of(params->output_zero_point, params->activation_min, params->activation_max);
    b->output_multiplier = vdupq_n_s32(params->output_multiplier);
    b->output_shift = vdupq_n_s32(params->output_shift);
    return params->output_shift < 0;
}

static int add(const tigris_kernel_call *call, int is_subtraction)
{
    const tigris_binary_int8_params *params = call->params;
    binary b;
    if (!unpack(&b, call) || params->shift[0] > 0 || params->shift[1] > 0) {
        return 0;
    }
    for (int32_t i = 0; i < 2; i++) {
        b.multiplier[i] = vdupq_n_s32(params->multiplier[i]);
        b.right[i] = vdupq_n_s32(params->shift[i]);
    }
    b.left_shift = params->left_shift;
    b.is_subtraction = is_subtraction;
    return run_rows(&b, call, 0);
}

int tigris_add_int8_by_set(const tigris_kernel_call *call)
{
    return add(call, 0);
}

int tigris_sub_int8_by_set(const tigris_kernel_call *call)
{
    return add(call, 1);
}

int tigris_mul_int8_by_set(const tigris_kernel_call *call)
{
    binary b;
    return unpack(&b, call) && run_rows(&b, call, 1);
}

#endif
