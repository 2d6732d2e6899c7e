/* Softmax of int8 in TensorFlow Lite's fixed-point arithmetic, to int8 with scale 1/256 and zero point -128 or to int16
 * with 1/65536 and -32768.
 *
 * Bit-exact with TensorFlow Lite's reference Softmax (kernels/internal/reference/softmax.h) and the reciprocal of gemmlowp
 * (fixedpoint/fixedpoint.h). The plan holds a table of exponentials. Qm.n below is a fixed-point number with m integer and
 * n fraction bits. */
#include "access.h"
#include "check.h"
#include "fixed_point.h"
#include "inlining.h"
#include "int16.h"
#include "scale_int8.h"
#include "set.h"
#include "tigris_kernels.h"

#define SUM_INTEGER_BITS 12       /* the sum of exponentials is Q12.19 */
#define PART 2048                 /* exponentials whose sum fits 32 bits, whatever the plan's table holds */

static int32_t largest_of(const int8_t *values, uint32_t length)
{
#if TIGRIS_MVE
    return tigris_mve_largest(values, length);
#else
    int32_t largest = INT8_MIN;
    for (uint32_t i = 0; i < length; i++) {
        largest = values[i] > largest ? values[i] : largest;
    }
    return largest;
#endif
}

/* The sum of exponentials in Q12.19, saturated. */
static uint32_t sum_of_exponentials(const int32_t *exponentials, const int8_t *input, uint32_t length, int32_t largest)
{
#if TIGRIS_MVE
    if (length <= TIGRIS_MVE_SOFTMAX_LENGTH) {
        return tigris_mve_sum_of_exponentials(exponentials, input, length, largest);
    }
#endif
    uint32_t sum = 0U;
    for (const int8_t *const end = input + length; input != end;) {
        const int8_t *const part_end = end - input > PART ? input + PART : end;
        uint32_t part = 0U;
        for (; input != part_end; input++) {
            part += ((uint32_t)exponentials[largest - *input] + (1U << (SUM_INTEGER_BITS - 1))) >> SUM_INTEGER_BITS;
        }
        sum = part > UINT32_MAX - sum ? UINT32_MAX : sum + part;
    }
    return sum;
}

/* The factor from exponentials of a vector to their shares. */
typedef struct divisor {
    int32_t largest;
    uint32_t doubled; /* twice the reciprocal of the sum's fraction */
    uint32_t shift;   /* right shift to output bits and one more for rounding */
} divisor;

static divisor divisor_of(const int32_t *exponentials, const int8_t *input, uint32_t length, int32_t bits)
{
    const int32_t largest = largest_of(input, length);
    const uint32_t sum = sum_of_exponentials(exponentials, input, length, largest);
    /* sum = (1 + fraction) * 2^(integer bits - zeros - 1) with the fraction in Q0.31. */
    const int32_t zeros = tigris_leading_zeros(sum);
    const uint32_t doubled = (uint32_t)tigris_reciprocal_of_one_plus((int32_t)((sum << (zeros & 31)) - 0x80000000U)) << 1;
    const int32_t shift = SUM_INTEGER_BITS - zeros + 31 - bits - 1;
    /* A shift above 31 gives 0, as 31 does; no valid table of exponentials gives one below 0. */
    const divisor by = {largest, doubled, shift > 31 ? 31U : shift < 0 ? 0U : (uint32_t)shift};
    return by;
}

/* The share of an exponential: scaled by the reciprocal, divided by 2^shift, rounded both times. The whole is
 * 2^bits, one more than the largest output. */
static inline uint32_t share(int32_t exponential, divisor by)
{
    const uint32_t value = (uint32_t)tigris_high_product((uint32_t)exponential, by.doubled);
    return ((value >> by.shift) + 1U) >> 1;
}

static void softmax(const int32_t *exponentials, const int8_t *input, uint32_t length, int8_t *output)
{
    const divisor by = divisor_of(exponentials, input, length, 8);
#if TIGRIS_MVE
    tigris_mve_shares(exponentials, input, length, by.largest, (int32_t)(by.doubled >> 1), (int32_t)by.shift + 1, output);
#else
    for (const int8_t *const end = input + length; input != end; input++) {
        const uint32_t rounded = share(exponentials[by.largest - *input], by);
        *output++ = (int8_t)((rounded - (rounded >> 8)) ^ 0x80U);
    }
#endif
}

static void softmax_to_int16(const int32_t *exponentials, const int8_t *input, uint32_t length, int16_t *output)
{
    const divisor by = divisor_of(exponentials, input, length, 16);
    for (const int8_t *const end = input + length; input != end; input++) {
        const uint32_t rounded = share(exponentials[by.largest - *input], by);
        *output++ = (int16_t)((rounded - (rounded >> 16)) ^ 0x8000U);
    }
}

static void run(const tigris_kernel_call *call)
{
    const tigris_softmax_int8_params *params = tigris_params(call);
    const uint32_t elements = tigris_band_elements(tigris_output_band(call));
    const int8_t *input = tigris_int8_row(tigris_input_band(call, 0), tigris_output_first(call));
    const int32_t *exponentials = tigris_int32_data(call, params->exponentials);
    const int is_wide = tigris_output_tensor(call)->dtype == TIGRIS_DTYPE_INT16;
    for (uint32_t i = 0; i < elements; i += params->length) {
        if (is_wide) {
            softmax_to_int16(exponentials, input + i, params->length, tigris_int16_output(call) + i);
        } else {
            softmax(exponentials, input + i, params->length, tigris_int8_output(call) + i);
        }
    }
}

static tigris_status check(const tigris_check_call *call)
{
    const tigris_softmax_int8_params *params = call->params;
    const uint32_t to = call->output->dtype == TIGRIS_DTYPE_INT16 ? TIGRIS_DTYPE_INT16 : TIGRIS_DTYPE_INT8;
    return tigris_check_result(tigris_check_types(call, 1U, TIGRIS_DTYPE_INT8, to) &&
                               tigris_check_pointwise(call, 0U) && params->length != 0U &&
                               tigris_row_elements(call->output) % params->length == 0U &&
                               tigris_check_data(call, params->exponentials, 256U, sizeof(int32_t)));
}

TIGRIS_KERNEL_ENTRY(tigris_softmax_int8, SOFTMAX, INT8, tigris_softmax_int8_params, run, check);
