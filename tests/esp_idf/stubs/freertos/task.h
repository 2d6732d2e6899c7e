/* See FreeRTOS.h. */
#ifndef FREERTOS_TASK_H
#define FREERTOS_TASK_H

#include "FreeRTOS.h"

typedef void *TaskHandle_t;

TickType_t xTaskGetTickCount(void);
void vTaskDelay(TickType_t ticks);

#endif
