/* MUL, int16. */
#include "binary_int16.h"
#include "tigris_kernels.h"

static inline int32_t product(const void *constants, int32_t a, int32_t b)
{
    const tigris_binary_int8_params *p = constants;
    return tigris_clamp(tigris_requantise(a * b, p->output_multiplier, p->output_shift), p->activation_min,
                        p->activation_max);
}

static void run(const tigris_kernel_call *call)
{
    const tigris_binary_int8_params params = *(const tigris_binary_int8_params *)tigris_params(call);
    const tigris_binary_steps steps = TIGRIS_BINARY_STEPS(&params);
    tigris_run_elements(call, steps, product, &params, 2);
}

static tigris_status check(const tigris_check_call *call)
{
    return tigris_check_result(tigris_check_binary_int16(call));
}

TIGRIS_KERNEL_ENTRY(tigris_mul_int16, MUL, INT16, tigris_binary_int8_params, run, check);
