/* Average and max pooling, int16: at most 2^16 taps, so sums fit 32 bits. */
#include "inlining.h"
#include "int16.h"
#include "pool.h"
#include "tigris_kernels.h"

#define MOST_TAPS (UINT32_C(1) << 16)

/* The valid taps of one output pixel, from channel 0 of the first on. */
typedef struct pool {
    const tigris_kernel_call *call;
    const tigris_pool_int8_params *params;
    const int16_t *first;
    int32_t rows;
    int32_t columns;
    uint32_t row_step;
    uint32_t column_step;
} pool;

/* The largest tap of one channel, or the rounded average of its taps. */
TIGRIS_INLINE int32_t pooled(const pool *p, uint32_t channel, int is_max)
{
    const tigris_pool_int8_params *params = p->params;
    const int16_t *row = p->first + channel;
    int32_t sum = is_max ? INT16_MIN : 0;
    for (int32_t i = p->rows; i > 0; i--) {
        const int16_t *tap = row;
        for (int32_t j = p->columns; j > 0; j--) {
            sum = !is_max ? sum + *tap : *tap > sum ? *tap : sum;
            tap += p->column_step;
        }
        row += p->row_step;
    }
    const int32_t taps = params->include_pad != 0U ? params->kernel_height * params->kernel_width : p->rows * p->columns;
    if (is_max || taps == 0) {
        return sum;
    }
    if (params->rescale != 0U) {
        const int32_t multiplier = tigris_int32_data(p->call, params->multiplier)[taps - 1];
        return tigris_requantise(sum, multiplier, tigris_int8_data(p->call, params->shift)[taps - 1]);
    }
    /* A sum may fill 32 bits: its absolute value plus half of the taps is unsigned. */
    const uint32_t size = sum < 0 ? 0U - (uint32_t)sum : (uint32_t)sum;
    const int32_t rounded = (int32_t)((size + (uint32_t)taps / 2U) / (uint32_t)taps);
    return sum < 0 ? -rounded : rounded;
}

TIGRIS_INLINE void run(const tigris_kernel_call *call, int is_max)
{
    const tigris_pool_int8_params *params = tigris_params(call);
    const tigris_tensor_record *input = tigris_input_tensor(call, 0);
    int16_t *to = tigris_int16_output(call);
    pool p = {call, params, NULL, 0, 0, (uint32_t)params->dilation_height * tigris_row_elements(input),
              (uint32_t)params->dilation_width * input->channels};
    tigris_pixel_loop loop;
    for (tigris_start_pixels(&loop, call, 0); loop.left > 0; tigris_next_pixel(&loop)) {
        p.rows = tigris_tap_count(loop.pixel.rows);
        p.columns = tigris_tap_count(loop.pixel.columns);
        p.first = (const int16_t *)(const void *)tigris_input_data(call, 0) +
                  tigris_tap_offset(call, &loop.pixel, loop.pixel.rows.first, loop.pixel.columns.first);
        for (uint32_t channel = 0; channel < tigris_output_tensor(call)->channels; channel++) {
            *to++ = (int16_t)tigris_clamp(pooled(&p, channel, is_max), params->activation_min, params->activation_max);
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
    const tigris_pool_int8_params *params = call->params;
    const uint32_t taps = (uint32_t)params->kernel_height * params->kernel_width;
    const uint32_t rescaled = call->op->kind == TIGRIS_OP_KIND_AVERAGE_POOL ? 1U : 0U;
    return tigris_check_result(
        tigris_check_pool(call, TIGRIS_DTYPE_INT16, taps) && taps <= MOST_TAPS && params->include_pad <= 1U &&
        params->rescale <= rescaled && params->input_zero_point == 0 && params->output_zero_point == 0 &&
        tigris_check_range_int16(params->activation_min, params->activation_max) &&
        (params->rescale == 0U || tigris_check_requantise(call, params->multiplier, params->shift, taps)));
}

TIGRIS_KERNEL_ENTRY(tigris_average_pool_int16, AVERAGE_POOL, INT16, tigris_pool_int8_params, run_average, check);
TIGRIS_KERNEL_ENTRY(tigris_max_pool_int16, MAX_POOL, INT16, tigris_pool_int8_params, run_max, check);
