/* MUL, int8: the product of both values, requantised to the output's scale. */
#include "binary_int8.h"
#include "scale_int8.h"
#include "set.h"
#include "tigris_kernels.h"

static inline int32_t multiply_slow(const void *constants, int32_t a, int32_t b)
{
    const tigris_binary_int8_params *p = constants;
    return tigris_binary_int8_finish(p, (a - p->zero_point[0]) * (b - p->zero_point[1]));
}

/* The fast path: the output's scale is a right shift of two bits or more. */
typedef struct fast_mul {
    int32_t zero_point[2];
    tigris_scale scale;
    tigris_output_stage stage;
} fast_mul;

static inline int32_t multiply_fast(const void *constants, int32_t a, int32_t b)
{
    const fast_mul *p = constants;
    const int32_t product = (a - p->zero_point[0]) * (b - p->zero_point[1]);
    return tigris_requantise_right_shift((uint32_t)product, p->scale, p->stage);
}

static void run(const tigris_kernel_call *call)
{
    const tigris_binary_int8_params *params = tigris_params(call);
    const tigris_binary_steps steps = tigris_binary_int8_steps(params);
    if (!tigris_is_right_shift(params->output_shift)) {
        tigris_run_binary(call, steps, multiply_slow, params);
        return;
    }
    const tigris_output_stage stage = {params->output_zero_point, params->activation_min, params->activation_max};
    const fast_mul p = {{params->zero_point[0], params->zero_point[1]},
                        tigris_scale_of(params->output_multiplier, params->output_shift, stage),
                        stage};
    tigris_run_binary(call, steps, multiply_fast, &p);
}

static tigris_status check(const tigris_check_call *call)
{
    const tigris_binary_int8_params *params = call->params;
    return tigris_check_result(tigris_check_binary_int8(call) && params->left_shift == 0);
}

TIGRIS_SET_ENTRY(tigris_mul_int8, MUL, INT8, tigris_binary_int8_params, run, check);
