/* DIVIDE, int8, in TensorFlow Lite's arithmetic (kernels/internal/reference/div.h): the dividend is normalised,
 * multiplied by the divisor's reciprocal, then requantised. The plan holds tables of reciprocals and shifts. */
#include "binary_loop.h"
#include "scale_int8.h"
#include "tigris_kernels.h"

typedef struct divide {
    const int8_t *headroom;    /* [-256 … 255]: bits by which a difference of two int8 can be shifted left */
    const int8_t *power;       /* [0 … 255]: right shift for the divisor's power of two */
    const int32_t *reciprocal; /* [0 … 255]: doubled reciprocal without its power of two */
    int32_t zero_point[2];
    uint32_t doubled; /* twice the multiplier */
    int32_t offset;   /* 2 * zero point + 1 */
    int32_t modulo;
    tigris_output_stage stage;
} divide;

/* `value`, or value + 1 if `next`, saturated beyond the range of any output. */
static int32_t saturated_next(int32_t value, int next)
{
    return tigris_clamp(value, -INT16_MAX, INT16_MAX) + (next ? 1 : 0);
}

/* value / 2^right for shifts outside the fast path, saturated. A shift beyond 31 gives 0, or with `modulo` the
 * result of TensorFlow Lite Micro on processors whose shifts count modulo 32. */
static TIGRIS_NOINLINE int32_t shifted(int32_t value, int32_t right, int32_t modulo)
{
    if (right > 31) {
        return modulo != 0 ? saturated_next(value >> (right & 31), value >= 0) : 0;
    }
    if (right >= 0) {
        return tigris_rounding_shift(value, (uint32_t)right);
    }
    const int32_t most = INT32_MAX >> (right < -30 ? 31 : -right);
    return value == 0 ? 0 : value > most ? INT16_MAX : value < -most ? -INT16_MAX : value * (1 << -right);
}

static inline int32_t quotient(const void *constants, int32_t dividend, int32_t divisor)
{
    const divide *d = constants;
    int32_t a = dividend - d->zero_point[0];
    int32_t b = divisor - d->zero_point[1];
    if (b < 0) {
        a = -a;
        b = -b;
    }
    const int32_t headroom = d->headroom[a];
    const int32_t right = d->power[b] + headroom; /* less one */
    const uint32_t left = (uint32_t)a << (headroom & 31);
    const uint32_t scaled = (uint32_t)tigris_high_product(left, (uint32_t)d->reciprocal[b]);
    const int32_t high = tigris_high_product(scaled, d->doubled);
    int32_t value;
    if (TIGRIS_LIKELY((uint32_t)right < 31U)) {
        value = (((high + (high >> 31)) >> right) + d->offset) >> 1;
    } else {
        value = shifted(high, right + 1, d->modulo) + (d->offset >> 1);
    }
    return tigris_clamp(value, d->stage.low, d->stage.high);
}

static void run(const tigris_kernel_call *call)
{
    const tigris_divide_int8_params *params = tigris_params(call);
    const tigris_binary_steps steps = TIGRIS_BINARY_STEPS(params);
    const divide d = {tigris_int8_data(call, params->headroom) + 256,
                      tigris_int8_data(call, params->power),
                      tigris_int32_data(call, params->reciprocal),
                      {params->zero_point[0], params->zero_point[1]},
                      (uint32_t)params->multiplier << 1,
                      2 * params->output_zero_point + 1,
                      (int32_t)params->modulo,
                      {params->output_zero_point, params->activation_min, params->activation_max}};
    tigris_run_elements(call, steps, quotient, &d, 1);
}

static tigris_status check(const tigris_check_call *call)
{
    const tigris_divide_int8_params *params = call->params;
    const tigris_binary_steps steps = TIGRIS_BINARY_STEPS(params);
    return tigris_check_result(tigris_check_binary(call, steps) &&
                               tigris_check_zero_points(params->zero_point, params->output_zero_point) &&
                               params->multiplier >= 0 && tigris_check_range(params->activation_min, params->activation_max) && params->modulo <= 1U &&
                               tigris_check_data(call, params->headroom, 512U, 1U) &&
                               tigris_check_data(call, params->power, 256U, 1U) &&
                               tigris_check_data(call, params->reciprocal, 256U, sizeof(int32_t)));
}

TIGRIS_KERNEL_ENTRY(tigris_divide_int8, DIVIDE, INT8, tigris_divide_int8_params, run, check);
