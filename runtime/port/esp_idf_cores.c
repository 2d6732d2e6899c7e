/* The other core of a chip with two, on ESP-IDF, and on Arduino-ESP32, which is built on it. */
#if defined(ESP_PLATFORM)

#include "freertos/FreeRTOS.h"
#include "freertos/semphr.h"
#include "freertos/task.h"

#include "tigris_esp_idf.h"

#if portNUM_PROCESSORS > 1

/* Waits without taking time from other tasks, so the core is theirs while there is nothing to share. */
static void serve(void *context)
{
    tigris_esp_core *core = context;
    for (;;) {
        (void)xSemaphoreTake((SemaphoreHandle_t)core->asked, portMAX_DELAY);
        if (core->work == NULL)
            break;
        core->work(core->argument, 1U);
        (void)xSemaphoreGive((SemaphoreHandle_t)core->done);
    }
    (void)xSemaphoreGive((SemaphoreHandle_t)core->done);
    vTaskDelete(NULL);
}

static void forget(tigris_esp_core *core)
{
    if (core->asked != NULL)
        vSemaphoreDelete((SemaphoreHandle_t)core->asked);
    if (core->done != NULL)
        vSemaphoreDelete((SemaphoreHandle_t)core->done);
    core->asked = NULL;
    core->done = NULL;
}

int tigris_esp_core_start(tigris_esp_core *core, uint32_t stack_bytes)
{
    core->work = NULL;
    core->argument = NULL;
    core->asked = xSemaphoreCreateBinary();
    core->done = xSemaphoreCreateBinary();
    const BaseType_t other = xPortGetCoreID() == 0 ? 1 : 0;
    if (core->asked != NULL && core->done != NULL &&
        xTaskCreatePinnedToCore(serve, "tigris", stack_bytes, core, uxTaskPriorityGet(NULL), NULL, other) == pdPASS)
        return 1;
    forget(core);
    return 0;
}

void tigris_esp_core_stop(tigris_esp_core *core)
{
    if (core->asked == NULL)
        return;
    core->work = NULL;
    (void)xSemaphoreGive((SemaphoreHandle_t)core->asked);
    (void)xSemaphoreTake((SemaphoreHandle_t)core->done, portMAX_DELAY);
    forget(core);
}

/* Giving and taking a semaphore are critical sections of FreeRTOS: what was written before is seen behind. */
void tigris_esp_parallel(void *context, tigris_work work, void *argument)
{
    tigris_esp_core *core = context;
    if (core->asked == NULL) {
        work(argument, 0U);
        work(argument, 1U);
        return;
    }
    core->work = work;
    core->argument = argument;
    (void)xSemaphoreGive((SemaphoreHandle_t)core->asked);
    work(argument, 0U);
    (void)xSemaphoreTake((SemaphoreHandle_t)core->done, portMAX_DELAY);
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
