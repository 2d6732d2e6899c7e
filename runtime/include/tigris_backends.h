/* Backends beside the portable one.
 *
 * Each is there only in firmware compiled for it: tigris_models_backend with TIGRIS_MODELS_BACKEND, which the build
 * plugins define, the libraries' with TIGRIS_ESP_NN and TIGRIS_CMSIS_NN, those of an instruction set with TIGRIS_PIE. */
#ifndef TIGRIS_BACKENDS_H
#define TIGRIS_BACKENDS_H

#include "tigris_kernels.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The kernels that the models of tigris_models.h need, and no others: what NULL stands for in firmware of the build
 * plugins. A plan with other operators is refused with TIGRIS_ERR_UNKNOWN_OP; firmware that is to open any plan passes
 * &tigris_portable_backend. */
extern const tigris_backend tigris_models_backend;

/* ESP-NN's kernels before the portable ones; its kernels one by one; the scratch that those of them in the table of
 * `backend` want, for a backend's prepare. */
extern const tigris_backend tigris_esp_nn_backend;
extern const tigris_kernel_entry tigris_esp_nn_conv_2d_int8;
extern const tigris_kernel_entry tigris_esp_nn_depthwise_conv_2d_int8;
extern const tigris_kernel_entry tigris_esp_nn_fully_connected_int8;
uint32_t tigris_esp_nn_scratch(const tigris_plan *plan, const tigris_backend *backend);

/* CMSIS-NN's, likewise. */
extern const tigris_backend tigris_cmsis_nn_backend;
extern const tigris_kernel_entry tigris_cmsis_nn_conv_2d_int8;
extern const tigris_kernel_entry tigris_cmsis_nn_depthwise_conv_2d_int8;
extern const tigris_kernel_entry tigris_cmsis_nn_fully_connected_int8;
uint32_t tigris_cmsis_nn_scratch(const tigris_plan *plan, const tigris_backend *backend);

/* Those in the vector instructions of the ESP32-S3 (src/kernels/pie), likewise; they take no scratch of the backend's. */
extern const tigris_backend tigris_pie_backend;
extern const tigris_kernel_entry tigris_pie_conv_2d_int8;
extern const tigris_kernel_entry tigris_pie_depthwise_conv_2d_int8;
extern const tigris_kernel_entry tigris_pie_fully_connected_int8;

#ifdef __cplusplus
}
#endif

#endif
