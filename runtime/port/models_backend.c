/* tigris_models_backend: the kernels that the firmware's models need. */
#include "tigris_backends.h"

#if defined(TIGRIS_MODELS_BACKEND)

#include <tigris_models.h>

#if defined(TIGRIS_ESP_NN)
#define SCRATCH tigris_esp_nn_scratch
#elif defined(TIGRIS_CMSIS_NN)
#define SCRATCH tigris_cmsis_nn_scratch
#endif

#if defined(SCRATCH)
static uint32_t prepare(const tigris_plan *plan)
{
    return SCRATCH(plan, &tigris_models_backend);
}
#define PREPARE prepare
#else
#define PREPARE NULL
#endif

/* TIGRIS_MODELS_KERNELS lists a kernel once for each model that needs it; it is linked once. */
static const tigris_kernel_entry *const kernels[] = {TIGRIS_MODELS_KERNELS};
const tigris_backend tigris_models_backend = {"models", kernels, sizeof kernels / sizeof kernels[0], PREPARE, NULL};

#endif
