/* Average pooling, float32. */
#include "pool_float.h"
#include "tigris_kernels.h"

static float average(const tigris_kernel_call *call, const tigris_pixel *pixel, uint32_t channel)
{
    const tigris_pool_float_params *params = tigris_params(call);
    const float *input = tigris_float_input(call);
    const uint32_t step = params->dilation_width * tigris_input_tensor(call, 0)->channels;
    float sum = 0.0F;
    for (int32_t i = pixel->rows.first; i < pixel->rows.end; i++) {
        uint32_t at = channel + tigris_tap_offset(call, pixel, i, pixel->columns.first);
        for (int32_t j = pixel->columns.first; j < pixel->columns.end; j++) {
            sum += input[at];
            at += step;
        }
    }
    const int32_t taps =
        params->include_pad != 0U ? params->kernel_height * params->kernel_width : tigris_pool_taps(pixel);
    return taps == 0 ? 0.0F : sum / (float)taps;
}

static void run(const tigris_kernel_call *call)
{
    tigris_pool_float_run(call, average);
}

TIGRIS_KERNEL_ENTRY(tigris_average_pool_float, AVERAGE_POOL, FLOAT32, tigris_pool_float_params, run,
                    tigris_pool_float_check);
