/* Tasks and binary semaphores of FreeRTOS, by POSIX threads. */
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>

#include "chip.h"
#include "freertos/FreeRTOS.h"
#include "freertos/semphr.h"
#include "freertos/task.h"

typedef struct start {
    TaskFunction_t run;
    void *argument;
} start;

SemaphoreHandle_t xSemaphoreCreateBinary(void)
{
    if (chip.semaphores_left == 0U)
        return NULL;
    chip.semaphores_left--;
    sem_t *made = malloc(sizeof *made);
    (void)sem_init(made, 0, 0);
    return made;
}

void vSemaphoreDelete(SemaphoreHandle_t handle)
{
    chip.semaphores_left++;
    free(handle);
}

BaseType_t xSemaphoreTake(SemaphoreHandle_t handle, TickType_t ticks)
{
    if (ticks != portMAX_DELAY)
        abort();
    while (sem_wait(handle) != 0) {
    }
    return pdTRUE;
}

BaseType_t xSemaphoreGive(SemaphoreHandle_t handle)
{
    return sem_post(handle) == 0 ? pdTRUE : pdFALSE;
}

static void *begin(void *context)
{
    const start task = *(start *)context;
    free(context);
    task.run(task.argument);
    abort(); /* a task of FreeRTOS must not return */
}

BaseType_t xTaskCreatePinnedToCore(TaskFunction_t run, const char *name, uint32_t stack_bytes, void *argument,
                                   UBaseType_t priority, TaskHandle_t *task, BaseType_t core)
{
    (void)name;
    if (task != NULL)
        abort();
    chip.task_core = core;
    chip.task_stack = stack_bytes;
    chip.task_priority = priority;
    start *given = malloc(sizeof *given);
    *given = (start){run, argument};
    pthread_t thread;
    if (chip.refuses_tasks || pthread_create(&thread, NULL, begin, given) != 0) {
        free(given);
        return pdFAIL;
    }
    (void)pthread_detach(thread);
    chip.tasks++;
    return pdPASS;
}

void vTaskDelete(TaskHandle_t task)
{
    if (task != NULL)
        abort();
    pthread_exit(NULL);
}

UBaseType_t uxTaskPriorityGet(TaskHandle_t task)
{
    return task == NULL ? 7U : 0U;
}

BaseType_t xPortGetCoreID(void)
{
    return chip.core;
}
