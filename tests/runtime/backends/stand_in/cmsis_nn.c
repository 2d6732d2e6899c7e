/* Stands in for CMSIS-NN where its sources are not at hand. It takes scratch as processors with MVE do, fills all of
 * it, and starts fully connected layers from the sums that arm_vector_sum_s8 left there. One row wants more than two, and
 * what the library reads without looking is read so here: 1x1 kernels make as many pixels as the input has, kernels of
 * one row copy as many columns as the filter has and refuse padding that is not even, depthwise 3x3 kernels look for a
 * tap on the left and one on the right. */
#include <assert.h>
#include <string.h>

#include "arm_nnsupportfunctions.h"
#include "requantise.h"

static void fill(const cmsis_nn_context *context, int32_t bytes)
{
    assert(context->buf != NULL && context->size >= bytes);
    memset(context->buf, 0x5A, (size_t)bytes);
}

int32_t arm_convolve_wrapper_s8_get_buffer_size(const cmsis_nn_conv_params *params, const cmsis_nn_dims *input,
                                                const cmsis_nn_dims *filter, const cmsis_nn_dims *output)
{
    (void)params, (void)output;
    return (input->h == 1 ? 4 : 3) * filter->w * filter->h * input->c;
}

int32_t arm_depthwise_conv_wrapper_s8_get_buffer_size(const cmsis_nn_dw_conv_params *params,
                                                      const cmsis_nn_dims *input, const cmsis_nn_dims *filter,
                                                      const cmsis_nn_dims *output)
{
    (void)params, (void)output;
    return (input->h == 1 ? 3 : 2) * filter->w * filter->h * input->c;
}

int32_t arm_fully_connected_s8_get_buffer_size(const cmsis_nn_dims *filter)
{
    return filter->c * 4;
}

/* A valid tap's input, or NULL. */
static const int8_t *tap_of(const cmsis_nn_dims *dims, const int8_t *input, int y, int x)
{
    return y < 0 || x < 0 || y >= dims->h || x >= dims->w ? NULL : input + (y * dims->w + x) * dims->c;
}

arm_cmsis_nn_status arm_convolve_wrapper_s8(const cmsis_nn_context *context, const cmsis_nn_conv_params *params,
                                            const cmsis_nn_per_channel_quant_params *scales,
                                            const cmsis_nn_dims *input_dims, const int8_t *input,
                                            const cmsis_nn_dims *filter_dims, const int8_t *filter,
                                            const cmsis_nn_dims *bias_dims, const int32_t *bias,
                                            const cmsis_nn_dims *output_dims, int8_t *output)
{
    assert(filter_dims->c == input_dims->c && filter_dims->n == output_dims->c && bias_dims->c == output_dims->c);
    fill(context, arm_convolve_wrapper_s8_get_buffer_size(params, input_dims, filter_dims, output_dims));
    const int pixelwise = filter_dims->w == 1 && filter_dims->h == 1 && params->stride.w == 1 &&
                          params->stride.h == 1 && params->padding.w == 0 && params->padding.h == 0;
    if (!pixelwise && input_dims->h == 1 && filter_dims->h == 1 && params->dilation.w == 1) {
        const int pads = (output_dims->w - 1) * params->stride.w + filter_dims->w - input_dims->w;
        if (params->padding.w * 2 + pads % 2 != pads) {
            return ARM_CMSIS_NN_ARG_ERROR;
        }
        memcpy(context->buf, input, (size_t)(filter_dims->w * input_dims->c));
    }
    for (int y = 0; y < (pixelwise ? input_dims->h : output_dims->h); y++)
        for (int x = 0; x < (pixelwise ? input_dims->w : output_dims->w); x++)
            for (int c = 0; c < output_dims->c; c++) {
                int64_t sum = bias[c];
                for (int i = 0; i < filter_dims->h; i++)
                    for (int j = 0; j < filter_dims->w; j++) {
                        const int8_t *tap =
                            tap_of(input_dims, input, y * params->stride.h + i * params->dilation.h - params->padding.h,
                                   x * params->stride.w + j * params->dilation.w - params->padding.w);
                        const int8_t *weights = filter + ((c * filter_dims->h + i) * filter_dims->w + j) * filter_dims->c;
                        for (int k = 0; tap != NULL && k < input_dims->c; k++)
                            sum += (tap[k] + params->input_offset) * weights[k];
                    }
                *output++ = stand_in_output(sum, scales->multiplier[c], scales->shift[c], params->output_offset,
                                            params->activation.min, params->activation.max);
            }
    return ARM_CMSIS_NN_SUCCESS;
}

arm_cmsis_nn_status arm_depthwise_conv_wrapper_s8(const cmsis_nn_context *context,
                                                  const cmsis_nn_dw_conv_params *params,
                                                  const cmsis_nn_per_channel_quant_params *scales,
                                                  const cmsis_nn_dims *input_dims, const int8_t *input,
                                                  const cmsis_nn_dims *filter_dims, const int8_t *filter,
                                                  const cmsis_nn_dims *bias_dims, const int32_t *bias,
                                                  const cmsis_nn_dims *output_dims, int8_t *output)
{
    assert(filter_dims->c == output_dims->c && filter_dims->n == 1 && bias_dims->c == output_dims->c);
    assert(params->ch_mult * input_dims->c == output_dims->c);
    fill(context, arm_depthwise_conv_wrapper_s8_get_buffer_size(params, input_dims, filter_dims, output_dims));
    const int blind = filter_dims->w == 3 && filter_dims->h == 3 && params->dilation.w == 1 &&
                      params->dilation.h == 1 && params->padding.w <= 1 && params->padding.h <= 1 &&
                      params->ch_mult == 1;
    for (int y = 0; y < output_dims->h; y++)
        for (int x = 0; x < output_dims->w; x++)
            for (int c = 0; c < output_dims->c; c++) {
                int64_t sum = bias[c];
                for (int i = 0; i < filter_dims->h; i++)
                    for (int j = 0; j < filter_dims->w; j++) {
                        const int8_t *tap =
                            tap_of(input_dims, input, y * params->stride.h + i * params->dilation.h - params->padding.h,
                                   x * params->stride.w + j * params->dilation.w - params->padding.w);
                        const int row = y * params->stride.h + i * params->dilation.h - params->padding.h;
                        const int first = x * params->stride.w - params->padding.w;
                        if (blind && j == 1 && row >= 0 && row < input_dims->h)
                            tap = input + (row * input_dims->w + first + 1) * input_dims->c;
                        if (tap != NULL)
                            sum += (tap[c / params->ch_mult] + params->input_offset) *
                                   filter[(i * filter_dims->w + j) * filter_dims->c + c];
                    }
                *output++ = stand_in_output(sum, scales->multiplier[c], scales->shift[c], params->output_offset,
                                            params->activation.min, params->activation.max);
            }
    return ARM_CMSIS_NN_SUCCESS;
}

arm_cmsis_nn_status arm_vector_sum_s8(int32_t *sums, const int32_t columns, const int32_t rows, const int8_t *data,
                                      const int32_t lhs_offset, const int32_t rhs_offset, const int32_t *bias)
{
    assert(lhs_offset == 0 && rhs_offset == 0);
    (void)columns, (void)data;
    memcpy(sums, bias, (size_t)rows * sizeof *sums);
    return ARM_CMSIS_NN_SUCCESS;
}

arm_cmsis_nn_status arm_fully_connected_wrapper_s8(const cmsis_nn_context *context, const cmsis_nn_fc_params *params,
                                                   const cmsis_nn_quant_params *scales,
                                                   const cmsis_nn_dims *input_dims, const int8_t *input,
                                                   const cmsis_nn_dims *filter_dims, const int8_t *filter,
                                                   const cmsis_nn_dims *bias_dims, const int32_t *bias,
                                                   const cmsis_nn_dims *output_dims, int8_t *output)
{
    const int32_t *sums = context->buf;
    assert(bias_dims->c == output_dims->c);
    (void)bias;
    for (int row = 0; row < input_dims->n; row++)
        for (int c = 0; c < output_dims->c; c++) {
            const int scale = scales->is_per_channel ? c : 0;
            int64_t sum = sums[c];
            for (int k = 0; k < filter_dims->n; k++)
                sum += input[row * filter_dims->n + k] * filter[c * filter_dims->n + k];
            *output++ = stand_in_output(sum, scales->multiplier[scale], scales->shift[scale], params->output_offset,
                                        params->activation.min, params->activation.max);
        }
    return ARM_CMSIS_NN_SUCCESS;
}
