/* ADD and SUB, int16: the arithmetic of int8 with a left shift of at most 15: sums and differences fit 32 bits. */
#include "binary_int16.h"
#include "tigris_kernels.h"

static inline int32_t scaled(const tigris_binary_int8_params *p, uint32_t index, int32_t value)
{
    return tigris_requantise((int32_t)((uint32_t)value << p->left_shift), p->multiplier[index], p->shift[index]);
}

static inline int32_t finish(const tigris_binary_int8_params *p, int32_t sum)
{
    return tigris_clamp(tigris_requantise(sum, p->output_multiplier, p->output_shift), p->activation_min,
                        p->activation_max);
}

static inline int32_t sum(const void *constants, int32_t a, int32_t b)
{
    const tigris_binary_int8_params *p = constants;
    return finish(p, tigris_wrapping_add(scaled(p, 0U, a), scaled(p, 1U, b)));
}

static inline int32_t difference(const void *constants, int32_t a, int32_t b)
{
    const tigris_binary_int8_params *p = constants;
    return finish(p, (int32_t)((uint32_t)scaled(p, 0U, a) - (uint32_t)scaled(p, 1U, b)));
}

static void run_add(const tigris_kernel_call *call)
{
    const tigris_binary_int8_params params = *(const tigris_binary_int8_params *)tigris_params(call);
    const tigris_binary_steps steps = TIGRIS_BINARY_STEPS(&params);
    tigris_run_elements(call, steps, sum, &params, 2);
}

static void run_sub(const tigris_kernel_call *call)
{
    const tigris_binary_int8_params params = *(const tigris_binary_int8_params *)tigris_params(call);
    const tigris_binary_steps steps = TIGRIS_BINARY_STEPS(&params);
    tigris_run_elements(call, steps, difference, &params, 2);
}

static tigris_status check(const tigris_check_call *call)
{
    return tigris_check_result(tigris_check_binary_int16(call));
}

TIGRIS_KERNEL_ENTRY(tigris_add_int16, ADD, INT16, tigris_binary_int8_params, run_add, check);
TIGRIS_KERNEL_ENTRY(tigris_sub_int16, SUB, INT16, tigris_binary_int8_params, run_sub, check);
