/* Softmax, int8, in TensorFlow Lite's fixed-point arithmetic; output scale 1/256, zero point -128.
 *
 * The algorithm is that of TensorFlow Lite's reference Softmax (kernels/internal/reference/softmax.h),
 * its exponential and reciprocal those of gemmlowp (fixedpoint/fixedpoint.h), bit for bit. Qm.n below
 * is a fixed-point number with m integer and n fraction bits. */
#include "access.h"
#include "check.h"
#include "inlining.h"
#include "requantise.h"
#include "tigris_kernels.h"

#define DIFFERENCE_INTEGER_BITS 5 /* scaled differences are Q5.26 */
#define SUM_INTEGER_BITS 12       /* the sum of exponentials is Q12.19 */
#define ONE INT32_MAX             /* 1 in Q0.31 */

/* tigris_high_multiply, of which no product here is the saturated one. */
static TIGRIS_NOINLINE int32_t multiply(int32_t a, int32_t b)
{
    return (int32_t)(((int64_t)a * b + (INT64_C(1) << 30)) >> 31);
}

static int32_t left_shift(int32_t value, uint32_t exponent)
{
    return (int32_t)((uint32_t)value << exponent);
}

/* exp(a) for a in [-1/4, 0), Q0.31 both: a Taylor polynomial of degree 4 around -1/8. */
static int32_t exp_near_zero(int32_t a)
{
    const int32_t exp_of_minus_eighth = 1895147668;
    const int32_t third = 715827883;
    const int32_t x = tigris_wrapping_add(a, 1 << 28);
    const int32_t x2 = multiply(x, x);
    const int32_t x3 = multiply(x2, x);
    const int32_t x4 = multiply(x2, x2);
    const int32_t x4_over_4 = tigris_rounding_shift(x4, 2U);
    const int32_t x3_and_x4_terms = multiply(tigris_wrapping_add(x4_over_4, x3), third);
    const int32_t terms = tigris_rounding_shift(tigris_wrapping_add(x3_and_x4_terms, x2), 1U);
    return tigris_wrapping_add(exp_of_minus_eighth,
                               multiply(exp_of_minus_eighth, tigris_wrapping_add(x, terms)));
}

/* exp(a) for a <= 0 in Q5.26, result in Q0.31: exp of a's part in [-1/4, 0), times exp(-2^k) for each
 * further bit of a. */
static int32_t exp_of_negative(int32_t a)
{
    static const int32_t exp_of_power[] = {/* exp(-2^k), k = -2 … 4 */
                                           1672461947, 1302514674, 790015084, 290630308, 39332535, 720401, 242};
    const int32_t fraction_bits = 31 - DIFFERENCE_INTEGER_BITS;
    const int32_t quarter = 1 << (fraction_bits - 2);
    if (a == 0) {
        return ONE;
    }
    const int32_t low = (a & (quarter - 1)) - quarter;
    uint32_t rest = ((uint32_t)low - (uint32_t)a) >> (fraction_bits - 2);
    int32_t result = exp_near_zero(left_shift(low, DIFFERENCE_INTEGER_BITS));
    for (uint32_t k = 0; k < sizeof exp_of_power / sizeof exp_of_power[0]; k++) {
        if ((rest & 1U) != 0U) {
            result = multiply(result, exp_of_power[k]);
        }
        rest >>= 1;
    }
    return result;
}

/* 1 / (1 + a) for a in [0, 1), Q0.31 both: three steps of Newton's method on d = (1 + a) / 2. */
static int32_t reciprocal_of_one_plus(int32_t a)
{
    const int32_t seed_constant = 1515870810; /* 48/17 in Q2.29 */
    const int32_t seed_slope = -1010580540;   /* -32/17 in Q2.29 */
    const int32_t one = 1 << 29;              /* in Q2.29 */
    const int32_t half = (int32_t)(((uint32_t)a + 0x80000000U) >> 1);
    int32_t x = tigris_wrapping_add(seed_constant, multiply(half, seed_slope));
    for (int32_t i = 0; i < 3; i++) {
        const int32_t error = one - multiply(half, x);
        x = tigris_wrapping_add(x, left_shift(multiply(x, error), 2U));
    }
    return x >= 1 << 30 ? INT32_MAX : left_shift(x, 1U);
}

static int32_t leading_zeros(uint32_t value)
{
    int32_t zeros = 0;
    for (; zeros < 32 && (value & 0x80000000U) == 0U; zeros++) {
        value <<= 1;
    }
    return zeros;
}

static int32_t largest_of(const int8_t *values, uint32_t length)
{
    int32_t largest = INT8_MIN;
    for (uint32_t i = 0; i < length; i++) {
        largest = values[i] > largest ? values[i] : largest;
    }
    return largest;
}

/* exp of a scaled difference from the largest value, Q0.31; 0 where the difference is out of range. */
static TIGRIS_NOINLINE int32_t exponential(const tigris_softmax_int8_params *params, int32_t difference)
{
    return difference < params->diff_min
               ? 0
               : exp_of_negative(multiply(left_shift(difference, (uint32_t)params->left_shift), params->multiplier));
}

/* The sum of exponentials in Q12.19. It saturates beyond what TensorFlow Lite can represent. */
static uint32_t sum_of_exponentials(const tigris_softmax_int8_params *params, const int8_t *input, int32_t largest)
{
    uint32_t sum = 0U;
    for (uint32_t i = 0; i < params->length; i++) {
        const int32_t term = exponential(params, input[i] - largest);
        const uint32_t rounded = (uint32_t)tigris_rounding_shift(term, SUM_INTEGER_BITS);
        sum = rounded > UINT32_MAX - sum ? UINT32_MAX : sum + rounded;
    }
    return sum;
}

/* value / 2^shift as output value; shifts beyond 31 leave nothing. */
static int8_t probability(int32_t value, int32_t shift)
{
    const int32_t rounded = shift > 31 ? 0 : tigris_rounding_shift(value, (uint32_t)shift);
    return (int8_t)tigris_clamp(tigris_wrapping_add(rounded, INT8_MIN), INT8_MIN, INT8_MAX);
}

static void softmax(const tigris_softmax_int8_params *params, const int8_t *input, int8_t *output)
{
    const int32_t largest = largest_of(input, params->length);
    const uint32_t sum = sum_of_exponentials(params, input, largest);
    /* sum = (1 + fraction) * 2^(integer bits - zeros - 1) with the fraction in Q0.31. */
    const int32_t zeros = leading_zeros(sum);
    const int32_t reciprocal = reciprocal_of_one_plus((int32_t)((sum << (zeros & 31)) - 0x80000000U));
    const int32_t shift = SUM_INTEGER_BITS - zeros + 31 - 8;
    for (uint32_t i = 0; i < params->length; i++) {
        output[i] = probability(multiply(reciprocal, exponential(params, input[i] - largest)), shift);
    }
}

static void run(const tigris_kernel_call *call)
{
    const tigris_softmax_int8_params *params = call->params;
    const uint32_t elements = tigris_band_elements(call->output);
    const int8_t *input = tigris_int8_row(&call->inputs[0], call->output->first);
    int8_t *output = tigris_int8_output(call);
    for (uint32_t i = 0; i < elements; i += params->length) {
        softmax(params, input + i, output + i);
    }
}

static tigris_status check(const tigris_check_call *call)
{
    const tigris_softmax_int8_params *params = call->params;
    return tigris_check_result(tigris_check_types(call, 1U, TIGRIS_DTYPE_INT8, TIGRIS_DTYPE_INT8) &&
                               tigris_check_pointwise(call, 0U) && params->length != 0U &&
                               tigris_row_elements(call->output) % params->length == 0U && params->diff_min <= 0 &&
                               params->left_shift >= 0 && params->left_shift <= 31 && params->multiplier >= 0);
}

const tigris_kernel_entry tigris_softmax_int8 = {TIGRIS_OP_KIND_SOFTMAX, TIGRIS_DTYPE_INT8,
                                                 sizeof(tigris_softmax_int8_params), run, check};
