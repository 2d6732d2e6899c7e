/* The part of FreeRTOS that the port uses, with ESP-IDF's default of 100 ticks a second. */
#ifndef FREERTOS_H
#define FREERTOS_H

#include <stdint.h>

typedef uint32_t TickType_t;
typedef int BaseType_t;
typedef unsigned UBaseType_t;
#define pdFALSE 0
#define pdTRUE 1
#define pdFAIL 0
#define pdPASS 1
#define portMAX_DELAY UINT32_MAX
#ifndef portNUM_PROCESSORS
#define portNUM_PROCESSORS 2
#endif
#define pdMS_TO_TICKS(ms) ((TickType_t)(ms) / 10U)

#endif
