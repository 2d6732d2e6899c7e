/* The mean of a whole map, float32, in two operators; see map_mean_int8.c. */
#include <string.h>

#include "access.h"
#include "map_mean.h"
#include "tigris_kernels.h"

static void sum_map(const tigris_kernel_call *call)
{
    const tigris_band *in = tigris_input_band(call, 0);
    const uint32_t channels = tigris_tensor_of(in)->channels;
    const uint32_t pixels = (uint32_t)tigris_row_count(in) * tigris_tensor_of(in)->width;
    const float *from = (const float *)(const void *)in->data;
    float *sums = tigris_float_output(call);
    if (tigris_output_first(call) == 0) {
        memset(sums, 0, channels * sizeof *sums);
    }
    for (uint32_t pixel = 0; pixel < pixels; pixel++) {
        for (uint32_t channel = 0; channel < channels; channel++) {
            sums[channel] += *from++;
        }
    }
}

static void mean_of_sums(const tigris_kernel_call *call)
{
    const tigris_mean_of_sums_float_params *params = tigris_params(call);
    const float *sums = (const float *)(const void *)tigris_input_data(call, 0);
    float *to = tigris_float_output(call);
    for (uint32_t channel = 0; channel < tigris_output_tensor(call)->channels; channel++) {
        to[channel] =
            tigris_clamp_float(sums[channel] / (float)params->taps, params->activation_min, params->activation_max);
    }
}

static tigris_status check_sum(const tigris_check_call *call)
{
    return tigris_check_result(tigris_check_types(call, 1U, TIGRIS_DTYPE_FLOAT32, TIGRIS_DTYPE_FLOAT32) &&
                               tigris_check_map_sum(call));
}

static tigris_status check_mean(const tigris_check_call *call)
{
    const tigris_mean_of_sums_float_params *params = call->params;
    return tigris_check_result(tigris_check_types(call, 1U, TIGRIS_DTYPE_FLOAT32, TIGRIS_DTYPE_FLOAT32) &&
                               tigris_check_map_mean(call) && params->taps != 0U);
}

TIGRIS_KERNEL_ENTRY(tigris_sum_map_float, SUM_MAP, FLOAT32, tigris_sum_map_params, sum_map, check_sum);
TIGRIS_KERNEL_ENTRY(tigris_mean_of_sums_float, MEAN_OF_SUMS, FLOAT32, tigris_mean_of_sums_float_params, mean_of_sums,
                    check_mean);
