/* Max pooling, float32. Padded taps do not count. */
#include <float.h>

#include "pool_float.h"
#include "tigris_kernels.h"

static float max_tap(const tigris_kernel_call *call, const tigris_pixel *pixel, uint32_t channel)
{
    const tigris_pool_float_params *params = tigris_params(call);
    const float *input = tigris_float_input(call);
    const uint32_t step = params->dilation_width * tigris_input_tensor(call, 0)->channels;
    int found = 0;
    float largest = -FLT_MAX;
    for (int32_t i = pixel->rows.first; i < pixel->rows.end; i++) {
        uint32_t at = channel + tigris_tap_offset(call, pixel, i, pixel->columns.first);
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
