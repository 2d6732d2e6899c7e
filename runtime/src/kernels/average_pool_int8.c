/* Average pooling, int8. Sums are exact: at most 2^22 taps of 2^8. */
#include "pool.h"
#include "requantise.h"
#include "tigris_kernels.h"

typedef struct pool {
    const tigris_pool_int8_params *params;
    const tigris_band *in;
    const int32_t *multiplier; /* NULL without rescale */
    const int8_t *shift;
    tigris_output_stage output;
} pool;

static int32_t sum_taps(const pool *p, const tigris_pool_pixel *pixel, uint32_t channel)
{
    const tigris_pool_int8_params *params = p->params;
    const uint32_t step = params->dilation_width * p->in->tensor->channels;
    int32_t sum = 0;
    for (int32_t i = pixel->rows.first; i < pixel->rows.end; i++) {
        uint32_t at = channel +
                      tigris_pool_offset(p->in, pixel, i, params->dilation_height, params->dilation_width);
        for (int32_t j = pixel->columns.first; j < pixel->columns.end; j++) {
            sum += (int8_t)p->in->data[at];
            at += step;
        }
    }
    return sum;
}

/* sum / count, halves away from zero. */
static int32_t rounded_quotient(int32_t sum, int32_t count)
{
    return (sum >= 0 ? sum + count / 2 : sum - count / 2) / count;
}

static int8_t average(const pool *p, int32_t sum, int32_t taps)
{
    const tigris_pool_int8_params *params = p->params;
    int32_t count = taps;
    if (params->include_pad != 0U) {
        count = params->kernel_height * params->kernel_width;
        sum += (count - taps) * params->input_zero_point;
    }
    if (count == 0) {
        return (int8_t)tigris_clamp(params->output_zero_point, p->output.low, p->output.high);
    }
    if (p->multiplier == NULL) {
        return (int8_t)tigris_clamp(rounded_quotient(sum, count), p->output.low, p->output.high);
    }
    return tigris_to_int8(sum - count * params->input_zero_point, p->multiplier[count - 1], p->shift[count - 1],
                          &p->output);
}

static void run(const tigris_kernel_call *call)
{
    const tigris_pool_int8_params *params = call->params;
    const tigris_tensor_record *output = call->output->tensor;
    pool p = {params, &call->inputs[0], NULL, NULL,
              {params->output_zero_point, params->activation_min, params->activation_max}};
    if (params->rescale != 0U) {
        p.multiplier = tigris_int32_data(call, params->multiplier);
        p.shift = tigris_int8_data(call, params->shift);
    }
    int8_t *to = tigris_int8_output(call);
    for (int32_t y = 0; y < call->output->rows; y++) {
        tigris_pool_pixel pixel;
        pixel.row = y * params->stride_height - p.in->pad_top;
        pixel.rows = tigris_valid_taps(pixel.row, params->kernel_height, params->dilation_height, p.in->rows);
        for (uint32_t x = 0; x < output->width; x++) {
            pixel.column = (int32_t)x * params->stride_width - params->pad_left;
            pixel.columns = tigris_valid_taps(pixel.column, params->kernel_width, params->dilation_width,
                                              (int32_t)p.in->tensor->width);
            const int32_t taps = tigris_pool_taps(&pixel);
            for (uint32_t channel = 0; channel < output->channels; channel++) {
                *to++ = average(&p, sum_taps(&p, &pixel, channel), taps);
            }
        }
    }
}

static tigris_status check(const tigris_check_call *call)
{
    const tigris_pool_int8_params *params = call->params;
    const uint32_t taps = (uint32_t)params->kernel_height * params->kernel_width;
    return tigris_check_result(
        tigris_check_pool(call, TIGRIS_DTYPE_INT8, taps) && params->rescale <= 1U &&
        params->include_pad <= 1U && tigris_check_int8(params->input_zero_point) &&
        tigris_check_int8(params->output_zero_point) &&
        tigris_check_range(params->activation_min, params->activation_max) &&
        (params->rescale == 0U ||
         tigris_check_requantise(call, params->multiplier, params->shift, taps)));
}

const tigris_kernel_entry tigris_average_pool_int8 = {TIGRIS_OP_KIND_AVERAGE_POOL, TIGRIS_DTYPE_INT8,
                                                      sizeof(tigris_pool_int8_params), run, check};
