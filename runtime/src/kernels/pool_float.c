/* Average and max pooling, float32. Padded taps do not count in a maximum. */
#include <float.h>

#include "inlining.h"
#include "pool.h"
#include "tigris_kernels.h"

/* The largest tap of one channel, or the average of its taps. */
TIGRIS_INLINE float pooled(const tigris_kernel_call *call, const tigris_pixel *pixel, uint32_t channel, int is_max)
{
    const tigris_pool_float_params *params = tigris_params(call);
    const float *input = tigris_float_input(call);
    const uint32_t step = params->dilation_width * tigris_input_tensor(call, 0)->channels;
    int found = 0;
    float result = is_max ? -FLT_MAX : 0.0F;
    for (int32_t i = pixel->rows.first; i < pixel->rows.end; i++) {
        uint32_t at = channel + tigris_tap_offset(call, pixel, i, pixel->columns.first);
        for (int32_t j = pixel->columns.first; j < pixel->columns.end; j++) {
            result = !is_max ? result + input[at] : !found || input[at] > result ? input[at] : result;
            found = 1;
            at += step;
        }
    }
    const int32_t taps =
        params->include_pad != 0U ? params->kernel_height * params->kernel_width : tigris_pool_taps(pixel);
    return is_max ? result : taps == 0 ? 0.0F : result / (float)taps;
}

TIGRIS_INLINE void run(const tigris_kernel_call *call, int is_max)
{
    const tigris_pool_float_params *params = tigris_params(call);
    float *to = tigris_float_output(call);
    tigris_pixel_loop loop;
    for (tigris_start_pixels(&loop, call, 0); loop.left > 0; tigris_next_pixel(&loop)) {
        for (uint32_t channel = 0; channel < tigris_output_tensor(call)->channels; channel++) {
            *to++ = tigris_clamp_float(pooled(call, &loop.pixel, channel, is_max), params->activation_min,
                                       params->activation_max);
        }
    }
}

static void run_average(const tigris_kernel_call *call)
{
    run(call, 0);
}

static void run_max(const tigris_kernel_call *call)
{
    run(call, 1);
}

static tigris_status check(const tigris_check_call *call)
{
    const tigris_pool_float_params *params = call->params;
    const uint32_t taps = (uint32_t)params->kernel_height * params->kernel_width;
    return tigris_check_result(tigris_check_pool(call, TIGRIS_DTYPE_FLOAT32, taps) && params->include_pad <= 1U);
}

TIGRIS_KERNEL_ENTRY(tigris_average_pool_float, AVERAGE_POOL, FLOAT32, tigris_pool_float_params, run_average, check);
TIGRIS_KERNEL_ENTRY(tigris_max_pool_float, MAX_POOL, FLOAT32, tigris_pool_float_params, run_max, check);
