/* Max pooling, int8. Padded taps do not count. */
#include "pool.h"
#include "requantise.h"
#include "tigris_kernels.h"

static int8_t max_tap(const tigris_pool_int8_params *params, const tigris_band *in, const tigris_pool_pixel *pixel,
                      uint32_t channel)
{
    const uint32_t step = params->dilation_width * in->tensor->channels;
    int32_t largest = INT8_MIN;
    for (int32_t i = pixel->rows.first; i < pixel->rows.end; i++) {
        uint32_t at = channel + tigris_pool_offset(in, pixel, i, params->dilation_height, params->dilation_width);
        for (int32_t j = pixel->columns.first; j < pixel->columns.end; j++) {
            const int32_t value = (int8_t)in->data[at];
            largest = value > largest ? value : largest;
            at += step;
        }
    }
    return (int8_t)tigris_clamp(largest, params->activation_min, params->activation_max);
}

static void run(const tigris_kernel_call *call)
{
    const tigris_pool_int8_params *params = call->params;
    const tigris_band *in = &call->inputs[0];
    const tigris_tensor_record *output = call->output->tensor;
    int8_t *to = tigris_int8_output(call);
    for (int32_t y = 0; y < call->output->rows; y++) {
        tigris_pool_pixel pixel;
        pixel.row = y * params->stride_height - in->pad_top;
        pixel.rows = tigris_valid_taps(pixel.row, params->kernel_height, params->dilation_height, in->rows);
        for (uint32_t x = 0; x < output->width; x++) {
            pixel.column = (int32_t)x * params->stride_width - params->pad_left;
            pixel.columns = tigris_valid_taps(pixel.column, params->kernel_width, params->dilation_width,
                                              (int32_t)in->tensor->width);
            for (uint32_t channel = 0; channel < output->channels; channel++) {
                *to++ = max_tap(params, in, &pixel, channel);
            }
        }
    }
}

static tigris_status check(const tigris_check_call *call)
{
    const tigris_pool_int8_params *params = call->params;
    const uint32_t taps = (uint32_t)params->kernel_height * params->kernel_width;
    return tigris_check_result(tigris_check_pool(call, TIGRIS_DTYPE_INT8, taps) && params->rescale == 0U &&
                               tigris_check_range(params->activation_min, params->activation_max));
}

const tigris_kernel_entry tigris_max_pool_int8 = {TIGRIS_OP_KIND_MAX_POOL, TIGRIS_DTYPE_INT8,
                                                  sizeof(tigris_pool_int8_params), run, check};
