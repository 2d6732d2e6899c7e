/* Average and max pooling, int16: average of at most 2^16 taps, whose sums fit 32 bits. */
#include "int16.h"
#include "pool.h"
#include "tigris_kernels.h"

#define MOST_TAPS (UINT32_C(1) << 16)

typedef struct pool {
    const tigris_kernel_call *call;
    const tigris_pool_int8_params *params;
    const int16_t *input;
} pool;

typedef int32_t (*pool_function)(const pool *p, const tigris_pool_pixel *pixel, uint32_t channel);

static int32_t average(const pool *p, const tigris_pool_pixel *pixel, uint32_t channel)
{
    const tigris_pool_int8_params *params = p->params;
    const tigris_band *in = &p->call->inputs[0];
    const uint32_t step = params->dilation_width * in->tensor->channels;
    int32_t sum = 0;
    for (int32_t i = pixel->rows.first; i < pixel->rows.end; i++) {
        uint32_t at = channel + tigris_pool_offset(in, pixel, i, params->dilation_height, params->dilation_width);
        for (int32_t j = pixel->columns.first; j < pixel->columns.end; j++) {
            sum += p->input[at];
            at += step;
        }
    }
    const int32_t taps =
        params->include_pad != 0U ? params->kernel_height * params->kernel_width : tigris_pool_taps(pixel);
    if (taps == 0) {
        return 0;
    }
    if (params->rescale != 0U) {
        const int32_t multiplier = tigris_int32_data(p->call, params->multiplier)[taps - 1];
        return tigris_requantise(sum, multiplier, tigris_int8_data(p->call, params->shift)[taps - 1]);
    }
    const int64_t half = taps / 2; /* a sum may be as large as 32 bits hold */
    return (int32_t)((sum > 0 ? sum + half : sum - half) / taps);
}

static int32_t largest(const pool *p, const tigris_pool_pixel *pixel, uint32_t channel)
{
    const tigris_pool_int8_params *params = p->params;
    const tigris_band *in = &p->call->inputs[0];
    const uint32_t step = params->dilation_width * in->tensor->channels;
    int32_t most = INT16_MIN;
    for (int32_t i = pixel->rows.first; i < pixel->rows.end; i++) {
        uint32_t at = channel + tigris_pool_offset(in, pixel, i, params->dilation_height, params->dilation_width);
        for (int32_t j = pixel->columns.first; j < pixel->columns.end; j++) {
            most = p->input[at] > most ? p->input[at] : most;
            at += step;
        }
    }
    return most;
}

static void run(const tigris_kernel_call *call, pool_function function)
{
    const tigris_pool_int8_params *params = call->params;
    const tigris_band *in = &call->inputs[0];
    const tigris_tensor_record *output = call->output->tensor;
    const pool p = {call, params, (const int16_t *)(const void *)in->data};
    int16_t *to = tigris_int16_output(call);
    for (int32_t y = 0; y < call->output->rows; y++) {
        tigris_pool_pixel pixel;
        pixel.row = y * params->stride_height - in->pad_top;
        pixel.rows = tigris_valid_taps(pixel.row, params->kernel_height, params->dilation_height, in->rows);
        for (int32_t x = 0; x < (int32_t)output->width; x++) {
            pixel.column = x * params->stride_width - params->pad_left;
            pixel.columns = tigris_valid_taps(pixel.column, params->kernel_width, params->dilation_width,
                                              (int32_t)in->tensor->width);
            for (uint32_t channel = 0; channel < output->channels; channel++) {
                *to++ = (int16_t)tigris_clamp(function(&p, &pixel, channel), params->activation_min,
                                              params->activation_max);
            }
        }
    }
}

static void run_average(const tigris_kernel_call *call)
{
    run(call, average);
}

static void run_max(const tigris_kernel_call *call)
{
    run(call, largest);
}

static tigris_status check(const tigris_check_call *call)
{
    const tigris_pool_int8_params *params = call->params;
    const uint32_t taps = (uint32_t)params->kernel_height * params->kernel_width;
    const uint32_t rescaled = call->op->kind == TIGRIS_OP_KIND_AVERAGE_POOL ? 1U : 0U;
    return tigris_check_result(
        tigris_check_pool(call, TIGRIS_DTYPE_INT16, taps) && taps <= MOST_TAPS && params->include_pad <= 1U &&
        params->rescale <= rescaled && params->input_zero_point == 0 && params->output_zero_point == 0 &&
        tigris_check_range_int16(params->activation_min, params->activation_max) &&
        (params->rescale == 0U || tigris_check_requantise(call, params->multiplier, params->shift, taps)));
}

const tigris_kernel_entry tigris_average_pool_int16 = {TIGRIS_OP_KIND_AVERAGE_POOL, TIGRIS_DTYPE_INT16,
                                                       sizeof(tigris_pool_int8_params), run_average, check};
const tigris_kernel_entry tigris_max_pool_int16 = {TIGRIS_OP_KIND_MAX_POOL, TIGRIS_DTYPE_INT16,
                                                   sizeof(tigris_pool_int8_params), run_max, check};
