/* The backends of kernel libraries, with all portable kernels as fallback: linking this file links every kernel. */
#include "tigris_backends.h"

#if defined(TIGRIS_ESP_NN)

static uint32_t prepare_esp_nn(const tigris_plan *plan)
{
    return tigris_esp_nn_scratch(plan, &tigris_esp_nn_backend);
}

static const tigris_kernel_entry *const esp_nn[] = {
    &tigris_esp_nn_conv_2d_int8,
    &tigris_esp_nn_depthwise_conv_2d_int8,
    &tigris_esp_nn_fully_connected_int8,
};
const tigris_backend tigris_esp_nn_backend = {"esp-nn", esp_nn, sizeof esp_nn / sizeof esp_nn[0], prepare_esp_nn,
                                              &tigris_portable_backend};

#endif

#if defined(TIGRIS_CMSIS_NN)

static uint32_t prepare_cmsis_nn(const tigris_plan *plan)
{
    return tigris_cmsis_nn_scratch(plan, &tigris_cmsis_nn_backend);
}

static const tigris_kernel_entry *const cmsis_nn[] = {
    &tigris_cmsis_nn_conv_2d_int8,
    &tigris_cmsis_nn_depthwise_conv_2d_int8,
    &tigris_cmsis_nn_fully_connected_int8,
};
const tigris_backend tigris_cmsis_nn_backend = {"cmsis-nn", cmsis_nn, sizeof cmsis_nn / sizeof cmsis_nn[0],
                                                prepare_cmsis_nn, &tigris_portable_backend};

#endif
