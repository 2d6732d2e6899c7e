/* ADD, SUB and MUL of int8 with RVV, if the channels of both inputs are contiguous and no scale is a left shift. */
#include "rvv.h"

#if TIGRIS_RVV

#include "../binary_int8.h"

typedef enum binary { ADDITION, SUBTRACTION, PRODUCT } binary;

/* The values of an input less its zero point. */
TIGRIS_INLINE vint32m4_t centred(const int8_t *from, int32_t zero_point, size_t count)
{
    const vint32m4_t values = RVV(vsext_vf4_i32m4)(RVV(vle8_v_i8m1)(from, count), count);
    return RVV(vsub_vx_i32m4)(values, zero_point, count);
}

/* tigris_requantise by one scale for all, a right shift of `right`, 0 or more. */
TIGRIS_INLINE vint32m4_t scaled_right(vint32m4_t values, int32_t multiplier, uint32_t right, size_t count)
{
    const vint32m4_t high = TIGRIS_RVV_HIGH_MULTIPLY_BY(values, multiplier, count);
    if (right == 0U) {
        return high;
    }
    return TIGRIS_RVV_ROUNDING_SHIFT_BY(RVV(vadd_vv_i32m4)(high, RVV(vsra_vx_i32m4)(high, 31, count), count), right, count);
}

/* The values of an input in the common scale of both. */
TIGRIS_INLINE vint32m4_t common(const tigris_binary_int8_params *params, uint32_t input, const int8_t *from, size_t count)
{
    const vint32m4_t values = centred(from, params->zero_point[input], count);
    return scaled_right(RVV(vsll_vx_i32m4)(values, (size_t)params->left_shift, count), params->multiplier[input],
                        (uint32_t)-params->shift[input], count);
}

TIGRIS_INLINE void run_elements(const tigris_binary_int8_params *params, binary what, const int8_t *x, const int8_t *y,
                                int32_t elements, int8_t *to)
{
    const uint32_t right = (uint32_t)-params->output_shift;
    for (size_t left = (size_t)elements, count; left != 0U; left -= count) {
        count = RVV(vsetvl_e32m4)(left);
        vint32m4_t value;
        if (what == PRODUCT) {
            value = RVV(vmul_vv_i32m4)(centred(x, params->zero_point[0], count), centred(y, params->zero_point[1], count),
                                       count);
        } else if (what == ADDITION) {
            value = RVV(vadd_vv_i32m4)(common(params, 0U, x, count), common(params, 1U, y, count), count);
        } else {
            value = RVV(vsub_vv_i32m4)(common(params, 0U, x, count), common(params, 1U, y, count), count);
        }
        value = RVV(vadd_vx_i32m4)(scaled_right(value, params->output_multiplier, right, count),
                                   params->output_zero_point, count);
        tigris_rvv_store(to, value, params->activation_min, params->activation_max, count);
        x += count;
        y += count;
        to += count;
    }
}

/* Computes all rows, in runs of elements that are contiguous in all three tensors. Returns 0 if there are none. */
TIGRIS_INLINE int run_all(const tigris_kernel_call *call, binary what)
{
    const tigris_binary_int8_params *params = call->params;
    const tigris_band *in = call->inputs, *out = call->output;
    const tigris_binary_steps steps = tigris_binary_int8_steps(params);
    const int32_t channels = (int32_t)out->tensor->channels;
    int32_t columns = (int32_t)out->tensor->width, run = channels;
    int8_t *to = tigris_int8_output(call);
    if (steps.channel[0] != 1 || steps.channel[1] != 1 || params->output_shift > 0 ||
        (what != PRODUCT && (params->shift[0] > 0 || params->shift[1] > 0))) {
        return 0;
    }
    if (steps.column[0] == channels && steps.column[1] == channels) {
        run *= columns;
        columns = 1;
    }
    TIGRIS_RVV_ROUND_UP();
    for (int32_t y = out->first; y < out->first + out->rows; y++) {
        const int8_t *a = (const int8_t *)(const void *)in[0].data + tigris_binary_row(&in[0], y, steps.row[0]);
        const int8_t *b = (const int8_t *)(const void *)in[1].data + tigris_binary_row(&in[1], y, steps.row[1]);
        for (int32_t column = 0; column < columns; column++) {
            run_elements(params, what, a, b, run, to);
            a += steps.column[0];
            b += steps.column[1];
            to += run;
        }
    }
    return 1;
}

int tigris_rvv_add(const tigris_kernel_call *call)
{
    return run_all(call, ADDITION);
}

int tigris_rvv_subtract(const tigris_kernel_call *call)
{
    return run_all(call, SUBTRACTION);
}

int tigris_rvv_mul(const tigris_kernel_call *call)
{
    return run_all(call, PRODUCT);
}

#endif
