/* Backends beside the portable one, for tigris_session_init.
 *
 * Each exists only if its macro is defined when the runtime is compiled: TIGRIS_MODELS_BACKEND (the build plugins
 * define it), TIGRIS_ESP_NN, TIGRIS_CMSIS_NN, TIGRIS_PIE. */
#ifndef TIGRIS_BACKENDS_H
#define TIGRIS_BACKENDS_H

#include "tigris_kernels.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Exactly the kernels that the models of tigris_models.h need; the default backend in firmware of the build plugins.
 * A plan with other operators is refused with TIGRIS_ERR_UNKNOWN_OP; firmware that must run any plan passes
 * &tigris_portable_backend. */
extern const tigris_backend tigris_models_backend;

/* ESP-NN's kernels, with the portable ones as fallback; then each kernel alone, for a table of your own. */
extern const tigris_backend tigris_esp_nn_backend;
extern const tigris_kernel_entry tigris_esp_nn_conv_2d_int8;
extern const tigris_kernel_entry tigris_esp_nn_depthwise_conv_2d_int8;
extern const tigris_kernel_entry tigris_esp_nn_fully_connected_int8;
/* For the prepare function of your own table: bytes of scratch that ESP-NN's kernels in `backend` need for `plan`. */
uint32_t tigris_esp_nn_scratch(const tigris_plan *plan, const tigris_backend *backend);

/* CMSIS-NN's kernels in the same form. */
extern const tigris_backend tigris_cmsis_nn_backend;
extern const tigris_kernel_entry tigris_cmsis_nn_conv_2d_int8;
extern const tigris_kernel_entry tigris_cmsis_nn_depthwise_conv_2d_int8;
extern const tigris_kernel_entry tigris_cmsis_nn_fully_connected_int8;
uint32_t tigris_cmsis_nn_scratch(const tigris_plan *plan, const tigris_backend *backend);

/* Kernels in the ESP32-S3's vector instructions (src/kernels/pie) in the same form; they need no scratch of a
 * backend. */
extern const tigris_backend tigris_pie_backend;
extern const tigris_kernel_entry tigris_pie_add_int8;
extern const tigris_kernel_entry tigris_pie_conv_2d_int8;
extern const tigris_kernel_entry tigris_pie_depthwise_conv_2d_int8;
extern const tigris_kernel_entry tigris_pie_fully_connected_int8;
extern const tigris_kernel_entry tigris_pie_sub_int8;

/* Kernels in MVE (src/kernels/mve) for weights of the packing ROWS_16: a fallback of the portable backend on cores with
 * MVE. They need no scratch. */
extern const tigris_backend tigris_mve_backend;
extern const tigris_kernel_entry tigris_mve_conv_2d_int8;
extern const tigris_kernel_entry tigris_mve_fully_connected_int8;

#ifdef __cplusplus
}
#endif

#endif
