/* The mean of a whole map, int8, in two operators. SUM_MAP adds each row when it exists, so the whole map is never in
 * memory; MEAN_OF_SUMS rounds after the last row. Sums are exact: at most 2^22 pixels of 2^8. */
#include <string.h>

#include "access.h"
#include "map_mean.h"
#include "scale_int8.h"
#include "set.h"
#include "tigris_kernels.h"

#if defined(TIGRIS_PIE)
#include "pie/layer.h"
#endif

#define CHANNEL_BLOCK 4U

#if !TIGRIS_MVE
/* Adds `pixels` pixels, with a stride of `channels` elements, to the sums of CHANNEL_BLOCK channels. Sums that
 * exceed 32 bits wrap. */
static void add_block(int32_t *sums, const int8_t *in, uint32_t pixels, uint32_t channels)
{
    int32_t sum0 = sums[0];
    int32_t sum1 = sums[1];
    int32_t sum2 = sums[2];
    int32_t sum3 = sums[3];
    for (; pixels > 0U; pixels--) {
        sum0 = tigris_wrapping_add(sum0, in[0]);
        sum1 = tigris_wrapping_add(sum1, in[1]);
        sum2 = tigris_wrapping_add(sum2, in[2]);
        sum3 = tigris_wrapping_add(sum3, in[3]);
        in += channels;
    }
    sums[0] = sum0;
    sums[1] = sum1;
    sums[2] = sum2;
    sums[3] = sum3;
}
#endif

#if defined(TIGRIS_PIE)
/* Adds pixels of whole vectors with the ESP32-S3's instructions; returns 0 if they are none. */
static int add_vectors(int32_t *sums, const int8_t *from, uint32_t pixels, uint32_t channels)
{
    if ((((uintptr_t)sums | (uintptr_t)from | channels) & (TIGRIS_PIE_LANES - 1U)) != 0U) {
        return 0;
    }
    while (pixels > 0U) {
        const uint32_t some = pixels < TIGRIS_PIE_LONGEST_SUM ? pixels : TIGRIS_PIE_LONGEST_SUM;
        tigris_pie_sum_pixels(sums, sums, from, some, channels);
        from += some * channels;
        pixels -= some;
    }
    return 1;
}
#endif

static void sum_map(const tigris_kernel_call *call)
{
    const tigris_band *in = tigris_input_band(call, 0);
    const uint32_t channels = tigris_tensor_of(in)->channels;
    const uint32_t pixels = (uint32_t)tigris_row_count(in) * tigris_tensor_of(in)->width;
    const int8_t *from = (const int8_t *)(const void *)in->data;
    int32_t *sums = (int32_t *)(void *)tigris_output_data(call);
    if (tigris_output_first(call) == 0) {
        memset(sums, 0, channels * sizeof *sums);
    }
#if TIGRIS_MVE
    tigris_mve_sum_pixels(sums, from, pixels, channels);
#else
#if defined(TIGRIS_PIE)
    if (add_vectors(sums, from, pixels, channels)) {
        return;
    }
#endif
    uint32_t channel = 0U;
    for (; channel + CHANNEL_BLOCK <= channels; channel += CHANNEL_BLOCK) {
        add_block(&sums[channel], from + channel, pixels, channels);
    }
    for (; channel < channels; channel++) {
        for (uint32_t i = 0; i < pixels; i++) {
            sums[channel] = tigris_wrapping_add(sums[channel], from[i * channels + channel]);
        }
    }
#endif
}

/* sum / count, halves away from zero or up. */
static int32_t rounded_quotient(int32_t sum, int32_t count, int up)
{
    return tigris_wrapping_add(sum, sum >= 0 ? count / 2 : -((count - up) / 2)) / count;
}

static void mean_of_sums(const tigris_kernel_call *call)
{
    const tigris_mean_of_sums_int8_params *params = tigris_params(call);
    const int32_t *sums = (const int32_t *)(const void *)tigris_input_data(call, 0);
    const int32_t taps = (int32_t)params->taps;
    int8_t *to = tigris_int8_output(call);
    for (uint32_t channel = 0; channel < tigris_output_tensor(call)->channels; channel++) {
        const int32_t sum = sums[channel];
        to[channel] = params->rescale == 1U
                          ? (int8_t)tigris_requantise_any_shift(
                                tigris_wrapping_add(sum, -taps * params->input_zero_point), params->multiplier,
                                params->shift, params->output_zero_point, params->activation_min,
                                params->activation_max)
                          : (int8_t)tigris_clamp(rounded_quotient(sum, taps, params->rescale == 2U), params->activation_min,
                                                 params->activation_max);
    }
}

static tigris_status check_sum(const tigris_check_call *call)
{
    return tigris_check_result(tigris_check_types(call, 1U, TIGRIS_DTYPE_INT8, TIGRIS_DTYPE_INT32) &&
                               tigris_check_map_sum(call) &&
                               ((const tigris_sum_map_params *)call->params)->taps <= TIGRIS_LARGEST_MAP);
}

static tigris_status check_mean(const tigris_check_call *call)
{
    const tigris_mean_of_sums_int8_params *params = call->params;
    return tigris_check_result(
        tigris_check_types(call, 1U, TIGRIS_DTYPE_INT32, TIGRIS_DTYPE_INT8) && tigris_check_map_mean(call) &&
        params->taps != 0U && params->taps <= TIGRIS_LARGEST_MAP && params->rescale <= 2U &&
        tigris_check_int8(params->input_zero_point) && tigris_check_int8(params->output_zero_point) &&
        tigris_check_range(params->activation_min, params->activation_max) &&
        (params->rescale != 1U || tigris_check_multiplier(params->multiplier, params->shift)));
}

TIGRIS_KERNEL_ENTRY(tigris_sum_map_int8, SUM_MAP, INT8, tigris_sum_map_params, sum_map, check_sum);
TIGRIS_KERNEL_ENTRY(tigris_mean_of_sums_int8, MEAN_OF_SUMS, INT8, tigris_mean_of_sums_int8_params, mean_of_sums,
                    check_mean);
