/* LOG_SOFTMAX, int8, in TensorFlow Lite's fixed-point arithmetic (kernels/internal/reference/log_softmax.h); output scale
 * 1/16, zero point 127. The plan holds tables of exponentials and differences; the logarithm is that of TensorFlow Lite's
 * kernels/internal/common.h. Qm.n below is a fixed-point number with m integer and n fraction bits. */
#include "access.h"
#include "check.h"
#include "fixed_point.h"
#include "tigris_kernels.h"

#define SUM_INTEGER_BITS 12 /* the sum of exponentials is Q12.19 */
#define LOG_INTEGER_BITS 6  /* of the sums of a logarithm: one bit more than its result's Q5.26 */
#define LONGEST 4096U       /* most elements, so that the sum of exponentials fits Q12.19 */

static int32_t multiply(int32_t a, int32_t b)
{
    return tigris_high_multiply(a, b);
}

static int32_t shift_left(int32_t value, int32_t exponent)
{
    return (int32_t)((uint32_t)value << ((uint32_t)exponent & 31U));
}

/* Left shift of a value that is not negative, saturated. */
static int32_t saturated_left(int32_t value, int32_t exponent)
{
    return value > INT32_MAX >> ((uint32_t)exponent & 31U) ? INT32_MAX : shift_left(value, exponent);
}

/* (a + b) / 2, halves away from zero. */
static int32_t half_sum(int32_t a, int32_t b)
{
    const int64_t sum = (int64_t)a + b;
    return (int32_t)((sum + (sum >= 0 ? 1 : -1)) / 2);
}

/* log(r) of r in [sqrt(1/2), 1], less what is added for a power of two: num / (1 + denominator), Q0.31. */
static void fraction_of(int32_t r, int32_t *num, int32_t *denominator)
{
    const int32_t fourth_root = 1805811301; /* of 1/2; below a: its inverse */
    const int32_t p = half_sum(r, fourth_root);
    const int32_t q = shift_left(tigris_wrapping_add(r, -fourth_root), 1);
    const int32_t square = multiply(q, q);
    const int32_t inner = tigris_wrapping_add(tigris_wrapping_add(1057819769, q),  /* 2 / a - a */
                                              multiply(127690142, square));        /* a / 20 */
    *num = tigris_wrapping_add(multiply(q, r), multiply(multiply(q, square), 117049297)); /* a * 11 / 240 */
    *denominator = tigris_wrapping_add(multiply(p, inner), multiply(638450708, q)); /* a / 4 */
}

/* log of a number from 1 on in Q12.19, Q5.26. */
static int32_t logarithm(int32_t value)
{
    const int32_t root = 1518500250, log_2 = 1488522236; /* sqrt(1/2) */
    const int32_t unit = 31 - LOG_INTEGER_BITS, quarter = 1 << (unit - 2);
    const int32_t zeros = tigris_leading_zeros((uint32_t)value);
    const int32_t near = saturated_left(multiply(saturated_left(value, zeros - 1), root), 1);
    const int32_t power = shift_left(SUM_INTEGER_BITS - zeros, unit) + quarter;
    const int32_t headroom = tigris_leading_zeros((uint32_t)multiply(value, root)) - 1;
    const int32_t far = saturated_left(value, headroom);
    const int32_t other = shift_left(SUM_INTEGER_BITS - headroom, unit) - quarter;
    int32_t num, denominator;
    fraction_of(near < far ? near : far, &num, &denominator);
    const int32_t scaled = tigris_rounding_shift(num, LOG_INTEGER_BITS);
    const int32_t sum = tigris_wrapping_add(multiply(power > other ? power : other, log_2),
                                            multiply(scaled, tigris_reciprocal_of_one_plus(denominator)));
    return shift_left(sum, 1);
}

static void log_softmax(const tigris_log_softmax_int8_params *params, const int32_t *exponentials,
                        const int32_t *differences, const int8_t *input, int8_t *output)
{
    int32_t largest = INT8_MIN, sum = 0;
    for (uint32_t i = 0; i < params->length; i++) {
        largest = input[i] > largest ? input[i] : largest;
    }
    for (uint32_t i = 0; i < params->length; i++) {
        sum = tigris_wrapping_add(sum, tigris_rounding_shift(exponentials[largest - input[i]], SUM_INTEGER_BITS));
    }
    const int32_t log_sum = logarithm(sum);
    const int32_t bound =
        tigris_requantise(tigris_wrapping_add(log_sum, INT32_MIN), params->reverse_multiplier, params->reverse_shift);
    const int32_t least = bound > params->least - 1 ? bound : params->least - 1;
    for (uint32_t i = 0; i < params->length; i++) {
        const int32_t difference = input[i] - largest;
        int32_t value = INT8_MIN;
        if (difference > least) {
            value = tigris_rounding_shift(tigris_wrapping_add(differences[-difference], -log_sum), 22U) + INT8_MAX;
        }
        output[i] = (int8_t)tigris_clamp(value, INT8_MIN, INT8_MAX);
    }
}

static void run(const tigris_kernel_call *call)
{
    const tigris_log_softmax_int8_params *params = tigris_params(call);
    const uint32_t elements = tigris_band_elements(tigris_output_band(call));
    const int8_t *input = tigris_int8_row(tigris_input_band(call, 0), tigris_output_first(call));
    int8_t *output = tigris_int8_output(call);
    for (uint32_t i = 0; i < elements; i += params->length) {
        log_softmax(params, tigris_int32_data(call, params->exponentials), tigris_int32_data(call, params->differences),
                    input + i, output + i);
    }
}

static tigris_status check(const tigris_check_call *call)
{
    const tigris_log_softmax_int8_params *params = call->params;
    return tigris_check_result(tigris_check_types(call, 1U, TIGRIS_DTYPE_INT8, TIGRIS_DTYPE_INT8) &&
                               tigris_check_pointwise(call, 0U) && params->length - 1U < LONGEST &&
                               tigris_row_elements(call->output) % params->length == 0U && params->least <= 0 &&
                               params->least >= -(1 << 30) &&
                               tigris_check_multiplier(params->reverse_multiplier, params->reverse_shift) &&
                               tigris_check_data(call, params->exponentials, 256U, sizeof(int32_t)) &&
                               tigris_check_data(call, params->differences, 256U, sizeof(int32_t)));
}

TIGRIS_KERNEL_ENTRY(tigris_log_softmax_int8, LOG_SOFTMAX, INT8, tigris_log_softmax_int8_params, run, check);
