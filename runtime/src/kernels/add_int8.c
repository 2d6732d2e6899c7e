/* ADD and SUB, int8: both inputs are scaled to a common scale, then the sum to the output's. */
#include "binary_int8.h"
#include "scale_int8.h"
#include "tigris_kernels.h"

/* (q - zero point) << left_shift must fit 32 bits. */
#define LARGEST_LEFT_SHIFT 22

static int32_t scaled(const tigris_binary_int8_params *params, uint32_t input, int32_t value)
{
    return tigris_requantise(value * (1 << params->left_shift), params->multiplier[input], params->shift[input]);
}

static int8_t finish(const tigris_binary_int8_params *params, int32_t sum)
{
    const tigris_output_stage output = {params->output_zero_point, params->activation_min, params->activation_max};
    return tigris_to_int8(sum, params->output_multiplier, params->output_shift, &output);
}

static int8_t add(const tigris_binary_int8_params *params, int32_t a, int32_t b)
{
    return finish(params, tigris_wrapping_add(scaled(params, 0U, a), scaled(params, 1U, b)));
}

static int8_t subtract(const tigris_binary_int8_params *params, int32_t a, int32_t b)
{
    const uint32_t difference = (uint32_t)scaled(params, 0U, a) - (uint32_t)scaled(params, 1U, b);
    return finish(params, (int32_t)difference);
}

/* ---- the usual case: no scale is a left shift, the output's is a right shift of two bits or more ---- */

static int has_usual_scales(const tigris_binary_int8_params *params)
{
    return params->shift[0] <= 0 && params->shift[1] <= 0 && tigris_scales_right(params->output_shift);
}

/* `scaled` for a right shift. Exact: |value| < 2^31 and no rounding can overflow (scale_int8.h). */
static inline int32_t scaled_right(int32_t value, uint32_t doubled, uint32_t right)
{
    const int32_t high = tigris_scale_product((uint32_t)value, doubled);
    return right == 0U ? high : (((high + (high >> 31)) >> ((right - 1U) & 31U)) + 1) >> 1;
}

/* `sign` is 1 to add, -1 to subtract. Constants are copied, so that writing outputs does not have them read again. */
static inline void run_usual(const tigris_kernel_call *call, int32_t sign)
{
    const tigris_binary_int8_params p = *(const tigris_binary_int8_params *)call->params;
    const tigris_output_stage stage = {p.output_zero_point, p.activation_min, p.activation_max};
    const tigris_scale scale = tigris_scale_of(p.output_multiplier, p.output_shift, stage);
    const uint32_t doubled_a = (uint32_t)p.multiplier[0] << 1, doubled_b = (uint32_t)p.multiplier[1] << 1;
    const uint32_t right_a = (uint32_t)-p.shift[0], right_b = (uint32_t)-p.shift[1];
    const tigris_band *in = call->inputs;
    const tigris_tensor_record *output = call->output->tensor;
    int8_t *to = tigris_int8_output(call);
    for (int32_t y = call->output->first; y < call->output->first + call->output->rows; y++) {
        const int8_t *a = (const int8_t *)(const void *)in[0].data + tigris_binary_row(&in[0], y, p.row_step[0]);
        const int8_t *b = (const int8_t *)(const void *)in[1].data + tigris_binary_row(&in[1], y, p.row_step[1]);
        for (uint32_t x = 0; x < output->width; x++) {
            const int8_t *a_at = a;
            const int8_t *b_at = b;
            for (const int8_t *const end = to + output->channels; to != end; to++) {
                const int32_t left = scaled_right((*a_at - p.zero_point[0]) * (1 << p.left_shift), doubled_a, right_a);
                const int32_t right = scaled_right((*b_at - p.zero_point[1]) * (1 << p.left_shift), doubled_b, right_b);
                const uint32_t sum = (uint32_t)left + (uint32_t)(sign * right);
                *to = (int8_t)tigris_scale_by(sum, scale, stage);
                a_at += p.channel_step[0];
                b_at += p.channel_step[1];
            }
            a += p.column_step[0];
            b += p.column_step[1];
        }
    }
}

static void run_add(const tigris_kernel_call *call)
{
    if (has_usual_scales(call->params)) {
        run_usual(call, 1);
    } else {
        tigris_binary_int8_run(call, add);
    }
}

static void run_subtract(const tigris_kernel_call *call)
{
    if (has_usual_scales(call->params)) {
        run_usual(call, -1);
    } else {
        tigris_binary_int8_run(call, subtract);
    }
}

static tigris_status check(const tigris_check_call *call)
{
    const tigris_binary_int8_params *params = call->params;
    return tigris_check_result(tigris_check_binary_int8(call) && params->left_shift >= 0 &&
                               params->left_shift <= LARGEST_LEFT_SHIFT &&
                               tigris_check_multiplier(params->multiplier[0], params->shift[0]) &&
                               tigris_check_multiplier(params->multiplier[1], params->shift[1]));
}

const tigris_kernel_entry tigris_add_int8 = {TIGRIS_OP_KIND_ADD, TIGRIS_DTYPE_INT8, sizeof(tigris_binary_int8_params),
                                             run_add, check};
const tigris_kernel_entry tigris_sub_int8 = {TIGRIS_OP_KIND_SUB, TIGRIS_DTYPE_INT8, sizeof(tigris_binary_int8_params),
                                             run_subtract, check};
