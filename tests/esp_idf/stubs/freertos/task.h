/* See FreeRTOS.h. */
#ifndef FREERTOS_TASK_H
#define FREERTOS_TASK_H

#include "FreeRTOS.h"

typedef void *TaskHandle_t;
typedef void (*TaskFunction_t)(void *);

TickType_t xTaskGetTickCount(void);
void vTaskDelay(TickType_t ticks);
BaseType_t xTaskCreatePinnedToCore(TaskFunction_t run, const char *name, uint32_t stack_bytes, void *argument,
                                   UBaseType_t priority, TaskHandle_t *task, BaseType_t core);
void vTaskDelete(TaskHandle_t task);
UBaseType_t uxTaskPriorityGet(TaskHandle_t task);
BaseType_t xPortGetCoreID(void);

#endif
