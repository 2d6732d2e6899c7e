/* Max pooling, float32. Padded taps do not count. */
#include <float.h>

#include "pool_float.h"
#include "tigris_kernels.h"

static float max_tap(const tigris_pool_float_params *params, const tigris_band *in, const tigris_pool_pixel *pixel,
                     uint32_t channel)
{
    const float *input = (const float *)(const void *)in->data;
    const uint32_t step = params->dilation_width * tigris_tensor_of(in)->channels;
    int found = 0;
    float largest = -FLT_MAX;
    for (int32_t i = pixel->rows.first; i < pixel->rows.end; i++) {
        uint32_t at = channel + tigris_pool_offset(in, pixel, i, params->dilation_height, params->dilation_width);
        for (int32_t j = pixel->columns.first; j < pixel->columns.end; j++) {
            largest = !found || input[at] > largest ? input[at] : largest;
            found = 1;
            at += step;
        }
    }
    return largest;
}

static void run(const tigris_kernel_call *call)
{
    tigris_pool_float_run(call, max_tap);
}

TIGRIS_KERNEL_ENTRY(tigris_max_pool_float, MAX_POOL, FLOAT32, tigris_pool_float_params, run, tigris_pool_float_check);
