/* ADD and SUB, int8: both inputs are scaled to a common scale, then the sum is requantised to the output's. */
#include "binary_int8.h"
#include "scale_int8.h"
#include "set.h"
#include "tigris_kernels.h"

/* (value - zero point) << left_shift must fit 32 bits. */
#define LARGEST_LEFT_SHIFT 22

static inline int32_t add(const void *constants, int32_t a, int32_t b)
{
    const int32_t left = tigris_binary_int8_common(constants, 0U, a);
    return tigris_binary_int8_finish(constants, tigris_wrapping_add(left, tigris_binary_int8_common(constants, 1U, b)));
}

static inline int32_t subtract(const void *constants, int32_t a, int32_t b)
{
    return tigris_binary_int8_finish(constants, (int32_t)tigris_binary_int8_difference(constants, a, b));
}

/* ---- the fast path: no scale is a left shift, the output's is a right shift of two bits or more ---- */

static int is_fast(const tigris_binary_int8_params *params)
{
    return params->shift[0] <= 0 && params->shift[1] <= 0 && tigris_is_right_shift(params->output_shift);
}

/* Scales a value to the common scale by a right shift. Exact: |value| < 2^31 and no rounding can overflow
 * (scale_int8.h). */
static inline int32_t scaled_right(int32_t value, uint32_t doubled, uint32_t right)
{
    const int32_t high = tigris_high_product((uint32_t)value, doubled);
    return right == 0U ? high : (((high + (high >> 31)) >> ((right - 1U) & 31U)) + 1) >> 1;
}

typedef struct fast_add {
    int32_t zero_point[2];
    uint32_t doubled[2];
    uint32_t right[2];
    int32_t left_shift;
    tigris_scale scale;
    tigris_output_stage stage;
} fast_add;

static inline int32_t fast_sum(const fast_add *p, int32_t a, int32_t b, int32_t sign)
{
    const int32_t left = scaled_right((a - p->zero_point[0]) * (1 << p->left_shift), p->doubled[0], p->right[0]);
    const int32_t right = scaled_right((b - p->zero_point[1]) * (1 << p->left_shift), p->doubled[1], p->right[1]);
    const uint32_t sum = (uint32_t)left + (uint32_t)(sign * right);
    return tigris_requantise_right_shift(sum, p->scale, p->stage);
}

static inline int32_t fast_addition(const void *constants, int32_t a, int32_t b)
{
    return fast_sum(constants, a, b, 1);
}

static inline int32_t fast_subtraction(const void *constants, int32_t a, int32_t b)
{
    return fast_sum(constants, a, b, -1);
}

static inline void run_fast(const tigris_kernel_call *call, tigris_integer_function function)
{
    const tigris_binary_int8_params *params = tigris_params(call);
    const tigris_output_stage stage = {params->output_zero_point, params->activation_min, params->activation_max};
    const fast_add p = {{params->zero_point[0], params->zero_point[1]},
                        {(uint32_t)params->multiplier[0] << 1, (uint32_t)params->multiplier[1] << 1},
                        {(uint32_t)-params->shift[0], (uint32_t)-params->shift[1]},
                        params->left_shift,
                        tigris_scale_of(params->output_multiplier, params->output_shift, stage),
                        stage};
    tigris_run_binary(call, tigris_binary_int8_steps(params), function, &p);
}

static void run_add(const tigris_kernel_call *call)
{
    if (is_fast(tigris_params(call))) {
        run_fast(call, fast_addition);
    } else {
        tigris_run_binary(call, tigris_binary_int8_steps(tigris_params(call)), add, tigris_params(call));
    }
}

static void run_subtract(const tigris_kernel_call *call)
{
    if (is_fast(tigris_params(call))) {
        run_fast(call, fast_subtraction);
    } else {
        tigris_run_binary(call, tigris_binary_int8_steps(tigris_params(call)), subtract, tigris_params(call));
    }
}

static tigris_status check(const tigris_check_call *call)
{
    return tigris_check_result(tigris_check_common_scale(call, LARGEST_LEFT_SHIFT));
}

TIGRIS_SET_ENTRY(tigris_add_int8, ADD, INT8, tigris_binary_int8_params, run_add, check);
TIGRIS_SET_ENTRY(tigris_sub_int8, SUB, INT8, tigris_binary_int8_params, run_subtract, check);
