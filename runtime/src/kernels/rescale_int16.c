/* RESCALE: requantises int8 or int16 to int8 or int16, with another slope below zero. It serves changes of scale,
 * Relu and similar functions, LeakyRelu, Abs and Neg. */
#include "int16.h"
#include "tigris_kernels.h"

#define MAGNITUDE 4U /* value of `negate` for Abs */

static int32_t rescaled(const tigris_rescale_params *params, int32_t value)
{
    const int32_t difference = value - params->input_zero_point;
    const uint32_t below = difference < 0 ? 1U : 0U;
    const int32_t factor = params->negate == MAGNITUDE && difference < 0 ? -difference : difference;
    const uint32_t scaled = (uint32_t)tigris_requantise(factor, params->multiplier[below], params->shift[below]);
    const int32_t result = (int32_t)((params->negate >> below & 1U) != 0U ? 0U - scaled : scaled);
    return tigris_clamp(tigris_wrapping_add(result, params->output_zero_point), params->activation_min,
                        params->activation_max);
}

static void run(const tigris_kernel_call *call)
{
    const tigris_rescale_params params = *(const tigris_rescale_params *)tigris_params(call);
    const uint32_t elements = tigris_band_elements(tigris_output_band(call));
    const uint8_t *from = tigris_band_row(tigris_input_band(call, 0), tigris_output_first(call));
    const int from_int8 = tigris_input_tensor(call, 0)->dtype == TIGRIS_DTYPE_INT8;
    const int to_int8 = tigris_output_tensor(call)->dtype == TIGRIS_DTYPE_INT8;
    const int8_t *from8 = (const int8_t *)(const void *)from;
    const int16_t *from16 = (const int16_t *)(const void *)from;
    int8_t *to8 = tigris_int8_output(call);
    int16_t *to16 = tigris_int16_output(call);
    for (uint32_t i = 0; i < elements; i++) {
        const int32_t result = rescaled(&params, from_int8 ? from8[i] : from16[i]);
        if (to_int8) {
            to8[i] = (int8_t)result;
        } else {
            to16[i] = (int16_t)result;
        }
    }
}

static int is_code(uint32_t dtype, int32_t value)
{
    return dtype == TIGRIS_DTYPE_INT8 ? tigris_check_int8(value)
                                      : dtype == TIGRIS_DTYPE_INT16 && tigris_is_int16(value);
}

static tigris_status check(const tigris_check_call *call)
{
    const tigris_rescale_params *params = call->params;
    const uint32_t to = call->output->dtype;
    return tigris_check_result(
        call->op->operand_count == 1U && is_code(call->inputs[0]->dtype, params->input_zero_point) &&
        is_code(to, params->output_zero_point) && is_code(to, params->activation_min) &&
        is_code(to, params->activation_max) && params->activation_min <= params->activation_max &&
        params->negate <= MAGNITUDE && tigris_check_multiplier(params->multiplier[0], params->shift[0]) &&
        tigris_check_multiplier(params->multiplier[1], params->shift[1]) && tigris_check_pointwise(call, 0U));
}

TIGRIS_KERNEL_ENTRY(tigris_rescale_int16, RESCALE, INT16, tigris_rescale_params, run, check);
