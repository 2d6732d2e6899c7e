/* MUL, int8: the product of both values, scaled to the output's scale. */
#include "binary_int8.h"
#include "scale_int8.h"
#include "tigris_kernels.h"

static int8_t multiply(const tigris_binary_int8_params *params, int32_t a, int32_t b)
{
    const tigris_output_stage output = {params->output_zero_point, params->activation_min, params->activation_max};
    return tigris_to_int8(a * b, params->output_multiplier, params->output_shift, &output);
}

/* The usual case: the output's scale is a right shift of two bits or more. Constants are copied, so that writing outputs
 * does not have them read again. */
static void run_usual(const tigris_kernel_call *call)
{
    const tigris_binary_int8_params p = *(const tigris_binary_int8_params *)call->params;
    const tigris_output_stage stage = {p.output_zero_point, p.activation_min, p.activation_max};
    const tigris_scale scale = tigris_scale_of(p.output_multiplier, p.output_shift, stage);
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
                const int32_t product = (*a_at - p.zero_point[0]) * (*b_at - p.zero_point[1]);
                *to = (int8_t)tigris_scale_by((uint32_t)product, scale, stage);
                a_at += p.channel_step[0];
                b_at += p.channel_step[1];
            }
            a += p.column_step[0];
            b += p.column_step[1];
        }
    }
}

static void run(const tigris_kernel_call *call)
{
    if (tigris_scales_right(((const tigris_binary_int8_params *)call->params)->output_shift)) {
        run_usual(call);
    } else {
        tigris_binary_int8_run(call, multiply);
    }
}

static tigris_status check(const tigris_check_call *call)
{
    const tigris_binary_int8_params *params = call->params;
    return tigris_check_result(tigris_check_binary_int8(call) && params->left_shift == 0);
}

const tigris_kernel_entry tigris_mul_int8 = {TIGRIS_OP_KIND_MUL, TIGRIS_DTYPE_INT8, sizeof(tigris_binary_int8_params),
                                             run, check};
