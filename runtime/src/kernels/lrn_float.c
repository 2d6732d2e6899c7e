/* LRN across the channels of each pixel, float32. */
#include <math.h>

#include "access.h"
#include "check.h"
#include "tigris_kernels.h"

static float normalised(const float *pixel, uint32_t channels, uint32_t channel, const tigris_lrn_params *params)
{
    const uint32_t first = channel > params->before ? channel - params->before : 0U;
    const uint32_t room = channels - 1U - channel;
    const uint32_t last = channel + (params->after < room ? params->after : room);
    float sum = 0.0F;
    for (uint32_t j = first; j <= last; j++) {
        sum += pixel[j] * pixel[j];
    }
    return pixel[channel] / powf(params->bias + params->alpha * sum, params->beta);
}

static void run(const tigris_kernel_call *call)
{
    const tigris_lrn_params *params = tigris_params(call);
    const uint32_t channels = tigris_output_tensor(call)->channels;
    const uint32_t elements = tigris_band_elements(tigris_output_band(call));
    const float *input = tigris_float_row(tigris_input_band(call, 0), tigris_output_first(call));
    float *output = tigris_float_output(call);
    for (uint32_t pixel = 0; pixel < elements; pixel += channels) {
        for (uint32_t channel = 0; channel < channels; channel++) {
            *output++ = normalised(input + pixel, channels, channel, params);
        }
    }
}

static tigris_status check(const tigris_check_call *call)
{
    return tigris_check_result(tigris_check_types(call, 1U, TIGRIS_DTYPE_FLOAT32, TIGRIS_DTYPE_FLOAT32) &&
                               tigris_check_pointwise(call, 0U));
}

TIGRIS_KERNEL_ENTRY(tigris_lrn_float, LRN, FLOAT32, tigris_lrn_params, run, check);
