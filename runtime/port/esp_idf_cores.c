/* The other core of a chip with two, on ESP-IDF, and on Arduino-ESP32, which is built on it. */
#if defined(ESP_PLATFORM)

#include "freertos/FreeRTOS.h"
#include "freertos/semphr.h"
#include "freertos/task.h"

#include "tigris_esp_idf.h"

#if portNUM_PROCESSORS > 1

/* The task: blocks until there is work, so that other tasks have the core meanwhile. */
static void run_work(void *context)
{
    tigris_esp_core *core = context;
    for (;;) {
        (void)xSemaphoreTake((SemaphoreHandle_t)core->work_ready, portMAX_DELAY);
        if (core->work == NULL)
            break;
        core->work(core->argument, 1U);
        (void)xSemaphoreGive((SemaphoreHandle_t)core->work_done);
    }
    (void)xSemaphoreGive((SemaphoreHandle_t)core->work_done);
    vTaskDelete(NULL);
}

static void delete_semaphores(tigris_esp_core *core)
{
    if (core->work_ready != NULL)
        vSemaphoreDelete((SemaphoreHandle_t)core->work_ready);
    if (core->work_done != NULL)
        vSemaphoreDelete((SemaphoreHandle_t)core->work_done);
    core->work_ready = NULL;
    core->work_done = NULL;
}

int tigris_esp_core_start(tigris_esp_core *core, uint32_t stack_bytes)
{
    core->work = NULL;
    core->argument = NULL;
    core->work_ready = xSemaphoreCreateBinary();
    core->work_done = xSemaphoreCreateBinary();
    const BaseType_t other = xPortGetCoreID() == 0 ? 1 : 0;
    if (core->work_ready != NULL && core->work_done != NULL &&
        xTaskCreatePinnedToCore(run_work, "tigris", stack_bytes, core, uxTaskPriorityGet(NULL), NULL, other) == pdPASS)
        return 1;
    delete_semaphores(core);
    return 0;
}

void tigris_esp_core_stop(tigris_esp_core *core)
{
    if (core->work_ready == NULL)
        return;
    core->work = NULL;
    (void)xSemaphoreGive((SemaphoreHandle_t)core->work_ready);
    (void)xSemaphoreTake((SemaphoreHandle_t)core->work_done, portMAX_DELAY);
    delete_semaphores(core);
}

/* FreeRTOS gives and takes semaphores in critical sections, which are the memory barriers that this hook needs. */
void tigris_esp_parallel(void *context, tigris_work work, void *argument)
{
    tigris_esp_core *core = context;
    if (core->work_ready == NULL) {
        work(argument, 0U);
        work(argument, 1U);
        return;
    }
    core->work = work;
    core->argument = argument;
    (void)xSemaphoreGive((SemaphoreHandle_t)core->work_ready);
    work(argument, 0U);
    (void)xSemaphoreTake((SemaphoreHandle_t)core->work_done, portMAX_DELAY);
}

#else

int tigris_esp_core_start(tigris_esp_core *core, uint32_t stack_bytes)
{
    (void)stack_bytes;
    *core = (tigris_esp_core){NULL, NULL, NULL, NULL};
    return 0;
}

void tigris_esp_core_stop(tigris_esp_core *core)
{
    (void)core;
}

void tigris_esp_parallel(void *context, tigris_work work, void *argument)
{
    (void)context;
    work(argument, 0U);
    work(argument, 1U);
}

#endif

#else
typedef int tigris_port_esp_idf_cores_unused;
#endif
