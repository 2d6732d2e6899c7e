/* tigris_models_backend: the kernels that the firmware's models need. */
#include "tigris_backends.h"

#if defined(TIGRIS_MODELS_BACKEND)

#include <tigris_models.h>

#if defined(TIGRIS_ESP_NN)
#define PREPARE tigris_esp_nn_prepare
#elif defined(TIGRIS_CMSIS_NN)
#define PREPARE tigris_cmsis_nn_prepare
#else
#define PREPARE NULL
#endif

/* A kernel that several models need stands here several times, and is linked once. */
static const tigris_kernel_entry *const kernels[] = {TIGRIS_MODELS_KERNELS};
const tigris_backend tigris_models_backend = {"models", kernels, sizeof kernels / sizeof kernels[0], PREPARE, NULL};

#endif
