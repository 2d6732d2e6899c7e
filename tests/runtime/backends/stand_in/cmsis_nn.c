/* Stands in for CMSIS-NN where its sources are not at hand. It takes scratch as processors with MVE do, fills all of
 * it, and starts fully connected layers from the sums that arm_vector_sum_s8 left there. One row wants more than two, and
 * what the library reads without looking is read so here: 1x1 kernels make as many pixels as the input has, kernels of
 * one row copy as many columns as the filter has, refuse padding that is not even, take one column that no window reads
 * for padding and take one column alone of the first window on the right for it, depthwise 3x3 kernels look for a tap on the left and one on the right. */
#include <assert.h>
#include <string.h>

#include "arm_nnsupportfunctions.h"
#include "requantise.h"

static void fill(const cmsis_nn_context *context, int32_t bytes)
{
    assert(context->buf != NULL && context->size >= bytes);
    memset(context->buf, 0x5A, (size_t)bytes);
}

int32_t arm_convolve_wrapper_s8_get_buffer_size(const cmsis_nn_conv_params *params, STAND_IN_SIZES)
{
    (void)params, (void)output;
    return (input->h == 1 ? 4 : 3) * filter->w * filter->h * input->c;
}

int32_t arm_depthwise_conv_wrapper_s8_get_buffer_size(const cmsis_nn_dw_conv_params *params, STAND_IN_SIZES)
{
    (void)params, (void)output;
    return (input->h == 1 ? 3 : 2) * filter->w * filter->h * input->c;
}

int32_t arm_fully_connected_s8_get_buffer_size(const cmsis_nn_dims *filter)
{
    return filter->c * 4;
}

/* One convolution. */
typedef struct call {
    const cmsis_nn_dims *in, *filter;
    cmsis_nn_tile stride, padding, dilation;
    int32_t offset;
    int mult;  /* outputs of a channel; 0: not depthwise */
    int blind; /* whether the middle column's tap is read without looking */
} call;

static int64_t sum_of(const call *c, const int8_t *input, const int8_t *filter, int y, int x, int channel)
{
    int64_t sum = 0;
    for (int i = 0; i < c->filter->h; i++)
        for (int j = 0; j < c->filter->w; j++) {
            const int row = y * c->stride.h + i * c->dilation.h - c->padding.h;
            const int column = x * c->stride.w + j * c->dilation.w - c->padding.w;
            const int at = i * c->filter->w + j;
            if (row < 0 || row >= c->in->h || (!(c->blind && j == 1) && (column < 0 || column >= c->in->w)))
                continue;
            const int8_t *tap = input + (row * c->in->w + column) * c->in->c;
            if (c->mult != 0)
                sum += (tap[channel / c->mult] + c->offset) * filter[at * c->filter->c + channel];
            const int8_t *weights = filter + (channel * c->filter->h * c->filter->w + at) * c->filter->c;
            for (int k = 0; c->mult == 0 && k < c->in->c; k++)
                sum += (tap[k] + c->offset) * weights[k];
        }
    return sum;
}

arm_cmsis_nn_status arm_convolve_wrapper_s8(STAND_IN_CONV)
{
    assert(filter_dims->c == input_dims->c && filter_dims->n == output_dims->c && bias_dims->c == output_dims->c);
    fill(context, arm_convolve_wrapper_s8_get_buffer_size(params, input_dims, filter_dims, output_dims));
    const int pixelwise = filter_dims->w == 1 && filter_dims->h == 1 && params->stride.w == 1 &&
                          params->stride.h == 1 && params->padding.w == 0 && params->padding.h == 0;
    int8_t *last = NULL;
    if (!pixelwise && input_dims->h == 1 && filter_dims->h == 1 && params->dilation.w == 1) {
        const int pads = (output_dims->w - 1) * params->stride.w + filter_dims->w - input_dims->w;
        if (params->padding.w * 2 + pads % 2 != pads)
            return ARM_CMSIS_NN_ARG_ERROR;
        memcpy(context->buf, input, (size_t)(filter_dims->w * input_dims->c));
        const int right = pads - params->padding.w;
        last = pads == -1 || (right > 0 && (right - 1) % params->stride.w != 0) ? output + (output_dims->w - 1) * output_dims->c : NULL;
    }
    const call own = {input_dims, filter_dims, params->stride, params->padding, params->dilation, params->input_offset,
                      0, 0};
    for (int y = 0; y < (pixelwise ? input_dims->h : output_dims->h); y++)
        for (int x = 0; x < (pixelwise ? input_dims->w : output_dims->w); x++)
            for (int c = 0; c < output_dims->c; c++)
                *output++ = stand_in_output(bias[c] + sum_of(&own, input, filter, y, x, c), scales->multiplier[c],
                                            scales->shift[c], params->output_offset, params->activation.min,
                                            params->activation.max);
    if (last != NULL)
        memset(last, 0x5A, (size_t)output_dims->c);
    return ARM_CMSIS_NN_SUCCESS;
}

arm_cmsis_nn_status arm_depthwise_conv_wrapper_s8(STAND_IN_DEPTHWISE)
{
    assert(filter_dims->c == output_dims->c && filter_dims->n == 1 && bias_dims->c == output_dims->c);
    assert(params->ch_mult * input_dims->c == output_dims->c);
    fill(context, arm_depthwise_conv_wrapper_s8_get_buffer_size(params, input_dims, filter_dims, output_dims));
    const int blind = filter_dims->w == 3 && filter_dims->h == 3 && params->dilation.w == 1 &&
                      params->dilation.h == 1 && params->padding.w <= 1 && params->padding.h <= 1 &&
                      params->ch_mult == 1;
    const call own = {input_dims, filter_dims, params->stride, params->padding, params->dilation, params->input_offset,
                      params->ch_mult, blind};
    for (int y = 0; y < output_dims->h; y++)
        for (int x = 0; x < output_dims->w; x++)
            for (int c = 0; c < output_dims->c; c++)
                *output++ = stand_in_output(bias[c] + sum_of(&own, input, filter, y, x, c), scales->multiplier[c],
                                            scales->shift[c], params->output_offset, params->activation.min,
                                            params->activation.max);
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

arm_cmsis_nn_status arm_fully_connected_wrapper_s8(STAND_IN_FULL)
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
