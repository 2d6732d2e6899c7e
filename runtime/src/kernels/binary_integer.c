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

/* ---- int8 sums and differences in one step ----
 *
 * With t = factor[0] * a + factor[1] * b + offset, the result is t / 2^SUM_BITS, rounded down and clamped. `offset`
 * contains the share of all zero points, a half, and `error`: the largest difference between t and the value that
 * TensorFlow Lite rounds. Factors are integers within 1 of the real ones, so each adds 255 to it. TensorFlow Lite's
 * roundings of both inputs and of the last product add 2.5 * 2^(SUM_BITS + output_shift). If the low bits of t are above
 * 2 * error, t and the exact value lie between the same two multiples of 2^SUM_BITS. Otherwise the result is computed
 * exactly. */

#define SUM_BITS 20 /* as in tigris_shift_20_to_int8 */
#define ROUNDING_OF_FACTORS 512
#define MOST_FACTORS (7U << SUM_BITS) /* so that t has 32 bits */
#define MOST_OUTPUT_SHIFT (-10)       /* above it, one result in a hundred would be too near to a multiple */

typedef struct sums {
    const tigris_binary_int8_params *params;
    int32_t sign; /* of input 1 */
    uint32_t factor[2];
    uint32_t offset;
    uint32_t near; /* low bits of t below this, at the top of a word, are too near to a multiple */
} sums;

/* The factor of an input, without sign; more than MOST_FACTORS if it is too large. */
static uint32_t factor_of(const tigris_binary_int8_params *params, uint32_t input)
{
    const int32_t right = 31 - SUM_BITS - params->left_shift - params->shift[input] - params->output_shift;
    if (right < 0) {
        return MOST_FACTORS + 1U;
    }
    return (uint32_t)tigris_requantise(params->multiplier[input], params->output_multiplier, right < 31 ? -right : -31);
}

static TIGRIS_NOINLINE int32_t exact_sum(const tigris_binary_int8_params *params, int32_t sign, int32_t a, int32_t b)
{
    const uint32_t second = (uint32_t)sign * (uint32_t)common(params, 1U, b);
    return finish(params, tigris_wrapping_add(common(params, 0U, a), (int32_t)second));
}

TIGRIS_INLINE int32_t short_sum(const sums *s, int32_t a, int32_t b, int is_whole_range)
{
    const uint32_t sum = (uint32_t)a * s->factor[0] + s->offset + (uint32_t)b * s->factor[1];
    if (!TIGRIS_LIKELY(sum << (32 - SUM_BITS) >= s->near)) {
        return exact_sum(s->params, s->sign, a, b);
    }
    return is_whole_range
        ? tigris_shift_20_to_int8((int32_t)sum)
        : tigris_clamp((int32_t)sum >> SUM_BITS, s->params->activation_min, s->params->activation_max);
}

static inline int32_t sum_to_int8(const void *constants, int32_t a, int32_t b)
{
    return short_sum(constants, a, b, 1);
}

static inline int32_t sum_to_range(const void *constants, int32_t a, int32_t b)
{
    return short_sum(constants, a, b, 0);
}

static void run_sums(const tigris_kernel_call *call, int32_t sign)
{
    const tigris_binary_int8_params *params = tigris_params(call);
    tigris_binary_steps steps = TIGRIS_BINARY_STEPS(params);
    const uint32_t factor[2] = {factor_of(params, 0U), factor_of(params, 1U)}, second = (uint32_t)sign * factor[1];
    const uint32_t zeros = (uint32_t)params->zero_point[0] * factor[0] + (uint32_t)params->zero_point[1] * second;
    const uint32_t error = ROUNDING_OF_FACTORS + ((3U << SUM_BITS) >> (-params->output_shift & 31));
    const uint32_t half = (uint32_t)params->output_zero_point * (1U << SUM_BITS) + (1U << (SUM_BITS - 1));
    const int is_bounded = params->shift[0] <= 0 && params->shift[1] <= 0 &&
        params->output_shift <= MOST_OUTPUT_SHIFT && factor[0] + factor[1] <= MOST_FACTORS;
    const sums s = {params, sign, {factor[0], second}, half + error - zeros,
                    is_bounded ? (2U * error + 1U) << (32 - SUM_BITS) : UINT32_MAX};
    if (steps.channel[0] == 1 && steps.channel[1] == 1 && params->activation_min == INT8_MIN &&
        params->activation_max == INT8_MAX) {
        steps.channel[0] = 1; /* constants for the compiler */
        steps.channel[1] = 1;
        tigris_run_elements(call, steps, sum_to_int8, &s, 1);
    } else {
        tigris_run_elements(call, steps, sum_to_range, &s, 1);
    }
}

static void add_int8(const tigris_kernel_call *call)
{
    run_sums(call, 1);
}

static void subtract_int8(const tigris_kernel_call *call)
{
    run_sums(call, -1);
}

/* ---- other int8 ---- */

/* Products on the fast path: the output's scale is a right shift of two bits or more. */
typedef struct products {
    int32_t zero_point[2];
    tigris_scale scale;
    tigris_output_stage stage;
} products;

static inline int32_t fast_multiply(const void *constants, int32_t a, int32_t b)
{
    const products *p = constants;
    const int32_t product = (a - p->zero_point[0]) * (b - p->zero_point[1]);
    return tigris_requantise_right_shift((uint32_t)product, p->scale, p->stage);
}

static void multiply_int8(const tigris_kernel_call *call)
{
    const tigris_binary_int8_params *params = tigris_params(call);
    const tigris_binary_steps steps = TIGRIS_BINARY_STEPS(params);
    if (!tigris_is_right_shift(params->output_shift)) {
        tigris_run_elements(call, steps, multiply, params, 1);
        return;
    }
    const tigris_output_stage stage = {params->output_zero_point, params->activation_min, params->activation_max};
    const products p = {{params->zero_point[0], params->zero_point[1]},
                        tigris_scale_of(params->output_multiplier, params->output_shift, stage),
                        stage};
    tigris_run_elements(call, steps, fast_multiply, &p, 1);
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
