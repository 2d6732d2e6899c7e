/* The smallest program with a model, to measure a network's flash without its plan. model.h is generated. */
#include "model.h"

#include "tigris_backends.h"

static const tigris_kernel_entry *const kernels[] = {TIGRIS_MODEL_MODEL_KERNELS};
static const tigris_backend backend = {"model", kernels, sizeof kernels / sizeof kernels[0], NULL, NULL};
static TIGRIS_ALIGNED uint8_t fast[TIGRIS_MODEL_MODEL_FAST_BYTES];
extern const uint8_t plan_start[];
extern const uint8_t plan_end[];

int main(void)
{
    tigris_plan plan;
    tigris_session session;
    if (tigris_plan_open(&plan, plan_start, (size_t)(plan_end - plan_start)) != TIGRIS_OK) {
        return 1;
    }
    const tigris_arenas arenas = {.fast = fast, .fast_bytes = sizeof fast};
    if (tigris_session_init(&session, &plan, &arenas, &backend) != TIGRIS_OK) {
        return 2;
    }
    return (int)tigris_run(&session);
}
