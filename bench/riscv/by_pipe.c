/* ESP-NN's kernels for the ESP32-P4 as the adapter calls them, each call of which is asked of the other end of the
 * pipe. */
#include "../assembly/pipe.h"

#include "esp_nn_defs.h"

#include "esp_nn.h"

#define RECORD(of) bytes(READ, of, sizeof *(of))

static uint32_t content(const data_dims_t *dims)
{
    return (uint32_t)(dims->width * dims->height * dims->channels);
}

#define SCRATCH_BYTES(name, params_of)                                                                                 \
    int name(const data_dims_t *input, const data_dims_t *filter, const data_dims_t *output, const params_of *params)  \
    {                                                                                                                  \
        const argument arguments[] = {RECORD(input), RECORD(filter), RECORD(output), RECORD(params)};                  \
        return ASK(#name, arguments);                                                                                  \
    }
SCRATCH_BYTES(esp_nn_get_conv_scratch_size_esp32p4, conv_params_t)
SCRATCH_BYTES(esp_nn_get_depthwise_conv_scratch_size_esp32p4, dw_conv_params_t)

/* The other end has scratch of its own: as much as the library asks for. */
void esp_nn_set_conv_scratch_buf_esp32p4(const void *buffer)
{
    (void)buffer;
}

void esp_nn_set_depthwise_conv_scratch_buf_esp32p4(const void *buffer)
{
    (void)buffer;
}

#define CONVOLUTION(name, params_of, filter_bytes)                                                                     \
    void name(const data_dims_t *input_dims, const int8_t *input, const data_dims_t *filter_dims, const int8_t *filter, \
              const int32_t *bias, const data_dims_t *output_dims, int8_t *output, const params_of *params,            \
              const quant_data_t *scales)                                                                              \
    {                                                                                                                  \
        const uint32_t words = 4U * (uint32_t)output_dims->channels;                                                   \
        const argument arguments[] = {                                                                                 \
            RECORD(input_dims), bytes(READ, input, content(input_dims)), RECORD(filter_dims),                          \
            bytes(READ, filter, filter_bytes), bytes(READ, bias, words), RECORD(output_dims),                          \
            bytes(WRITTEN, output, content(output_dims)), RECORD(params), pointers(2U, "", 0U),                      \
            bytes(READ, scales->shift, words), bytes(READ, scales->mult, words)};                                      \
        ASK(#name, arguments);                                                                                         \
    }
CONVOLUTION(esp_nn_conv_s8_esp32p4, conv_params_t, content(filter_dims) * (uint32_t)output_dims->channels)
CONVOLUTION(esp_nn_depthwise_conv_s8_esp32p4, dw_conv_params_t,
            (uint32_t)(filter_dims->width * filter_dims->height * output_dims->channels))

#define FULLY_CONNECTED(name, scale_of, scale)                                                                         \
    void name(const int8_t *input, const int32_t input_offset, const uint16_t length, const int8_t *filter,            \
              const int32_t filter_offset, const int32_t *bias, int8_t *output, const uint16_t channels,               \
              const int32_t offset, const int32_t scale_of shift, const int32_t scale_of multiplier, const int32_t low, \
              const int32_t high)                                                                                      \
    {                                                                                                                  \
        const argument arguments[] = {                                                                                 \
            bytes(READ, input, length), number(input_offset), number(length),                                          \
            bytes(READ, filter, (uint32_t)length * channels), number(filter_offset), bytes(READ, bias, 4U * channels), \
            bytes(WRITTEN, output, channels), number(channels), number(offset), scale(shift), scale(multiplier),       \
            number(low), number(high)};                                                                                \
        ASK(#name, arguments);                                                                                         \
    }
#define BY_CHANNEL(of) bytes(READ, of, 4U * channels)
FULLY_CONNECTED(esp_nn_fully_connected_s8_esp32p4, , number)
FULLY_CONNECTED(esp_nn_fully_connected_per_ch_s8_esp32p4, *, BY_CHANNEL)

int main(void)
{
    return run_with(&tigris_esp_nn_backend);
}
