/* ADD, SUB and MUL of int8 and int16, SQUARED_DIFFERENCE of int8. Both inputs of a sum or difference are scaled to a
 * common scale, then the result is requantised to the output's. */
#include "binary_loop.h"
#include "int16.h"
#include "scale_int8.h"
#include "set.h"
#include "tigris_kernels.h"

/* Largest left shifts, so that 32 bits hold shifted values of 9 bits, of 16 bits, and squares of shifted values of 9
 * bits. */
#define MOST_SHIFT_INT8 22
#define MOST_SHIFT_INT16 15
#define MOST_SHIFT_SQUARE 7

/* A value of input `input` less its zero point, in the common scale of both inputs. */
static inline int32_t common(const tigris_binary_int8_params *params, uint32_t input, int32_t value)
{
    const int32_t shifted = (value - params->zero_point[input]) * (1 << params->left_shift);
    return tigris_requantise(shifted, params->multiplier[input], params->shift[input]);
}

/* The difference of both inputs in their common scale. */
static inline uint32_t difference_of(const tigris_binary_int8_params *params, int32_t a, int32_t b)
{
    return (uint32_t)common(params, 0U, a) - (uint32_t)common(params, 1U, b);
}

/* Requantises a result to the output's scale, by any shift. */
static inline int32_t finish(const tigris_binary_int8_params *params, int32_t result)
{
    const int32_t scaled = tigris_requantise(result, params->output_multiplier, params->output_shift);
    return tigris_clamp(tigris_wrapping_add(scaled, params->output_zero_point), params->activation_min,
                        params->activation_max);
}

static inline int32_t add(const void *constants, int32_t a, int32_t b)
{
    return finish(constants, tigris_wrapping_add(common(constants, 0U, a), common(constants, 1U, b)));
}

static inline int32_t subtract(const void *constants, int32_t a, int32_t b)
{
    return finish(constants, (int32_t)difference_of(constants, a, b));
}

static inline int32_t multiply(const void *constants, int32_t a, int32_t b)
{
    const tigris_binary_int8_params *p = constants;
    return finish(p, (a - p->zero_point[0]) * (b - p->zero_point[1]));
}

static inline int32_t square(const void *constants, int32_t a, int32_t b)
{
    const uint32_t difference = difference_of(constants, a, b);
    return finish(constants, (int32_t)(difference * difference));
}

/* ---- int8, the fast path: no scale is a left shift, the output's is a right shift of two bits or more ---- */

typedef struct fast {
    int32_t zero_point[2];
    uint32_t doubled[2];
    uint32_t right[2];
    int32_t left_shift;
    tigris_scale scale;
    tigris_output_stage stage;
} fast;

/* Scales a value to the common scale by a right shift. Exact: |value| < 2^31 and no rounding can overflow
 * (scale_int8.h). */
static inline int32_t scaled_right(int32_t value, uint32_t doubled, uint32_t right)
{
    const int32_t high = tigris_high_product((uint32_t)value, doubled);
    return right == 0U ? high : (((high + (high >> 31)) >> ((right - 1U) & 31U)) + 1) >> 1;
}

static inline int32_t fast_sum(const fast *p, int32_t a, int32_t b, int32_t sign)
{
    const int32_t left = scaled_right((a - p->zero_point[0]) * (1 << p->left_shift), p->doubled[0], p->right[0]);
    const int32_t right = scaled_right((b - p->zero_point[1]) * (1 << p->left_shift), p->doubled[1], p->right[1]);
    const uint32_t sum = (uint32_t)left + (uint32_t)(sign * right);
    return tigris_requantise_right_shift(sum, p->scale, p->stage);
}

static inline int32_t fast_add(const void *constants, int32_t a, int32_t b)
{
    return fast_sum(constants, a, b, 1);
}

static inline int32_t fast_subtract(const void *constants, int32_t a, int32_t b)
{
    return fast_sum(constants, a, b, -1);
}

static inline int32_t fast_multiply(const void *constants, int32_t a, int32_t b)
{
    const fast *p = constants;
    const int32_t product = (a - p->zero_point[0]) * (b - p->zero_point[1]);
    return tigris_requantise_right_shift((uint32_t)product, p->scale, p->stage);
}

/* `fast_function` computes calls on the fast path, `function` the others. */
TIGRIS_INLINE void run_int8(const tigris_kernel_call *call, tigris_integer_function fast_function,
                            tigris_integer_function function)
{
    const tigris_binary_int8_params *params = tigris_params(call);
    const tigris_binary_steps steps = TIGRIS_BINARY_STEPS(params);
    if (params->shift[0] > 0 || params->shift[1] > 0 || !tigris_is_right_shift(params->output_shift)) {
        tigris_run_elements(call, steps, function, params, 1);
        return;
    }
    const tigris_output_stage stage = {params->output_zero_point, params->activation_min, params->activation_max};
    const fast p = {{params->zero_point[0], params->zero_point[1]},
                    {(uint32_t)params->multiplier[0] << 1, (uint32_t)params->multiplier[1] << 1},
                    {0U - (uint32_t)params->shift[0], 0U - (uint32_t)params->shift[1]},
                    params->left_shift,
                    tigris_scale_of(params->output_multiplier, params->output_shift, stage),
                    stage};
    tigris_run_elements(call, steps, fast_function, &p, 1);
}

static void add_int8(const tigris_kernel_call *call)
{
    run_int8(call, fast_add, add);
}

static void subtract_int8(const tigris_kernel_call *call)
{
    run_int8(call, fast_subtract, subtract);
}

static void multiply_int8(const tigris_kernel_call *call)
{
    run_int8(call, fast_multiply, multiply);
}

static void square_int8(const tigris_kernel_call *call)
{
    const tigris_binary_int8_params *params = tigris_params(call);
    const tigris_binary_steps steps = TIGRIS_BINARY_STEPS(params);
    tigris_run_elements(call, steps, square, params, 1);
}

/* ---- int16: zero points are 0 ---- */

TIGRIS_INLINE void run_int16(const tigris_kernel_call *call, tigris_integer_function function)
{
    tigris_binary_int8_params params = *(const tigris_binary_int8_params *)tigris_params(call);
    const tigris_binary_steps steps = TIGRIS_BINARY_STEPS(&params);
    params.zero_point[0] = 0;
    params.zero_point[1] = 0;
    params.output_zero_point = 0;
    tigris_run_elements(call, steps, function, &params, 2);
}

static void add_int16(const tigris_kernel_call *call)
{
    run_int16(call, add);
}

static void subtract_int16(const tigris_kernel_call *call)
{
    run_int16(call, subtract);
}

static void multiply_int16(const tigris_kernel_call *call)
{
    run_int16(call, multiply);
}

/* ---- checks ---- */

static tigris_status check(const tigris_check_call *call)
{
    const tigris_binary_int8_params *params = call->params;
    const tigris_binary_steps steps = TIGRIS_BINARY_STEPS(params);
    const int is_wide = call->op->dtype == TIGRIS_DTYPE_INT16;
    int32_t most_shift = is_wide ? MOST_SHIFT_INT16 : MOST_SHIFT_INT8;
    if (call->op->kind == TIGRIS_OP_KIND_SQUARED_DIFFERENCE) {
        most_shift = MOST_SHIFT_SQUARE;
    } else if (call->op->kind == TIGRIS_OP_KIND_MUL) {
        most_shift = 0;
    }
    return tigris_check_result(
        tigris_check_types(call, 2U, call->op->dtype, call->op->dtype) && tigris_check_both_steps(call, steps) &&
        params->left_shift >= 0 && params->left_shift <= most_shift &&
        tigris_check_multiplier(params->multiplier[0], params->shift[0]) &&
        tigris_check_multiplier(params->multiplier[1], params->shift[1]) &&
        tigris_check_multiplier(params->output_multiplier, params->output_shift) &&
        tigris_check_zero_points(params->zero_point, params->output_zero_point) &&
        (is_wide ? params->zero_point[0] == 0 && params->zero_point[1] == 0 && params->output_zero_point == 0 &&
                       tigris_check_range_int16(params->activation_min, params->activation_max)
                 : tigris_check_range(params->activation_min, params->activation_max)));
}

TIGRIS_SET_ENTRY(tigris_add_int8, ADD, INT8, tigris_binary_int8_params, add_int8, check);
TIGRIS_SET_ENTRY(tigris_sub_int8, SUB, INT8, tigris_binary_int8_params, subtract_int8, check);
TIGRIS_SET_ENTRY(tigris_mul_int8, MUL, INT8, tigris_binary_int8_params, multiply_int8, check);
TIGRIS_KERNEL_ENTRY(tigris_squared_difference_int8, SQUARED_DIFFERENCE, INT8, tigris_binary_int8_params, square_int8,
                    check);
TIGRIS_KERNEL_ENTRY(tigris_add_int16, ADD, INT16, tigris_binary_int8_params, add_int16, check);
TIGRIS_KERNEL_ENTRY(tigris_sub_int16, SUB, INT16, tigris_binary_int8_params, subtract_int16, check);
TIGRIS_KERNEL_ENTRY(tigris_mul_int16, MUL, INT16, tigris_binary_int8_params, multiply_int16, check);
