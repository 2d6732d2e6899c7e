/* port_cores PLAN INPUT OUTPUT: runs a plan with the port's second core. Prints `name value` lines. */
#include <stdio.h>
#include <string.h>

#include "chip.h"
#include "tigris_esp_idf.h"

#define LARGEST (1U << 20)

static TIGRIS_ALIGNED uint8_t plan_bytes[LARGEST], input[LARGEST], output[LARGEST], fast[LARGEST], slow[LARGEST];
static tigris_plan plan;
static tigris_session session;
static unsigned shared;

static size_t read_file(const char *path, uint8_t *to)
{
    FILE *file = fopen(path, "rb");
    const size_t bytes = file != NULL ? fread(to, 1, LARGEST, file) : 0U;
    if (file != NULL)
        (void)fclose(file);
    return bytes;
}

static void counted(void *core, tigris_work work, void *argument)
{
    shared++;
    tigris_esp_parallel(core, work, argument);
}

static int is_right(tigris_esp_core *core, size_t bytes)
{
    session.hooks.parallel = counted;
    session.hooks.parallel_context = core;
    memset(fast, 0, sizeof fast);
    memcpy(tigris_input(&session, 0), input, tigris_input_bytes(&session, 0));
    return tigris_run(&session) == TIGRIS_OK && bytes == tigris_output_bytes(&session, 0) &&
           memcmp(tigris_output(&session, 0), output, bytes) == 0;
}

int main(int count, char **paths)
{
    const tigris_arenas arenas = {fast, sizeof fast, slow, sizeof slow};
    tigris_esp_core core;
    if (count != 4)
        return 2;
    (void)read_file(paths[2], input);
    const size_t bytes = read_file(paths[3], output);
    if (tigris_plan_open(&plan, plan_bytes, read_file(paths[1], plan_bytes)) != TIGRIS_OK ||
        tigris_session_init(&session, &plan, &arenas, NULL) != TIGRIS_OK)
        return 3;
    for (chip.core = 0; chip.core < 2; chip.core++) {
        shared = 0;
        printf("started %d\n", tigris_esp_core_start(&core, 3072U));
        printf("right %d\n", is_right(&core, bytes));
        printf("right_again %d\n", is_right(&core, bytes));
        tigris_esp_core_stop(&core);
        printf("alone %d\n", is_right(&core, bytes));
        printf("shared %u\ncore %d\n", shared, chip.task_core);
        tigris_esp_core_stop(&core);
    }
    printf("stack %u\npriority %u\n", (unsigned)chip.task_stack, (unsigned)chip.task_priority);
    chip.refuses_tasks = 1;
    printf("no_task %d\n", tigris_esp_core_start(&core, 3072U));
    chip.refuses_tasks = 0;
    for (; chip.semaphores_left > 0U; chip.semaphores_left--) {
        const unsigned left = chip.semaphores_left;
        if (left < 2U)
            printf("no_semaphore %d\n", tigris_esp_core_start(&core, 3072U));
        if (chip.semaphores_left != left)
            return 4;
    }
    printf("without %d\ntasks %u\n", is_right(&core, bytes), (unsigned)chip.tasks);
    return 0;
}
