/* PRELU, int8: elements that are not negative by a table, the others times their slope, scaled. */
#include "binary_loop.h"
#include "scale_int8.h"
#include "tigris_kernels.h"

typedef struct prelu {
    const int8_t *zero; /* the table's entry for 0 */
    int32_t zero_point[2];
    int32_t multiplier;
    int32_t shift;
    tigris_scale scale;
    tigris_output_stage stage;
} prelu;

static inline int32_t scale_fast(const void *constants, int32_t a, int32_t slope)
{
    const prelu *p = constants;
    if (a >= p->zero_point[0]) {
        return p->zero[a];
    }
    return tigris_requantise_right_shift((uint32_t)((a - p->zero_point[0]) * (slope - p->zero_point[1])), p->scale,
                                         p->stage);
}

static inline int32_t scale_slow(const void *constants, int32_t a, int32_t slope)
{
    const prelu *p = constants;
    if (a >= p->zero_point[0]) {
        return p->zero[a];
    }
    return tigris_requantise_any_shift((a - p->zero_point[0]) * (slope - p->zero_point[1]), p->multiplier, p->shift,
                                       p->stage.zero_point, p->stage.low, p->stage.high);
}

static void run(const tigris_kernel_call *call)
{
    const tigris_prelu_int8_params *params = tigris_params(call);
    const tigris_binary_steps steps = TIGRIS_BINARY_STEPS(params);
    const tigris_output_stage stage = {params->output_zero_point, INT8_MIN, INT8_MAX};
    const prelu p = {tigris_int8_data(call, params->table) + 128,
                     {params->zero_point[0], params->zero_point[1]},
                     params->multiplier,
                     params->shift,
                     tigris_scale_of(params->multiplier, params->shift, stage),
                     stage};
    if (tigris_is_right_shift(params->shift)) {
        tigris_run_elements(call, steps, scale_fast, &p, 1);
    } else {
        tigris_run_elements(call, steps, scale_slow, &p, 1);
    }
}

static tigris_status check(const tigris_check_call *call)
{
    const tigris_prelu_int8_params *params = call->params;
    const tigris_binary_steps steps = TIGRIS_BINARY_STEPS(params);
    return tigris_check_result(tigris_check_binary(call, steps) &&
                               tigris_check_zero_points(params->zero_point, params->output_zero_point) &&
                               tigris_check_multiplier(params->multiplier, params->shift) &&
                               tigris_check_data(call, params->table, 256U, 1U));
}

TIGRIS_KERNEL_ENTRY(tigris_prelu_int8, PRELU, INT8, tigris_prelu_int8_params, run, check);
