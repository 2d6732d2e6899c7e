/* Fully connected, int8, with plain constants; see plain_conv_2d_int8.c. */
#include "access.h"
#include "plain_int8.h"
#include "requantise.h"
#include "tigris_kernels.h"
#include "layer_vectors.h"

static void run(const tigris_kernel_call *call)
{
    const tigris_fully_connected_int8_params *params = tigris_params(call);
    const int32_t *bias = tigris_int32_data(call, params->bias);
    const int32_t *multiplier = tigris_int32_data(call, params->multiplier);
    const int32_t *shift = tigris_int32_data(call, params->shift);
    const tigris_output_stage output = {params->output_zero_point, params->activation_min, params->activation_max};
    const tigris_layer_vectors vectors = tigris_layer_vectors_of(call, params->in_features, params->out_features);
    const int8_t *input = vectors.input;
    int8_t *to = tigris_int8_output(call);
    for (uint32_t row = 0; row < vectors.count; row++, input += params->in_features) {
        const int8_t *weights = tigris_int8_data(call, params->weights);
        for (uint32_t i = 0; i < params->out_features; i++, weights += params->in_features) {
            int32_t sum = bias[i];
            for (uint32_t k = 0; k < params->in_features; k++) {
                sum = tigris_wrapping_add(sum, input[k] * weights[k]);
            }
            const uint32_t scale = i * params->requantise_step;
            *to++ = tigris_to_int8(sum, multiplier[scale], shift[scale], &output);
        }
    }
}

TIGRIS_KERNEL_ENTRY(tigris_plain_fully_connected_int8, PLAIN_FULLY_CONNECTED, INT8, tigris_fully_connected_int8_params,
                    run, tigris_check_plain_fully_connected);
