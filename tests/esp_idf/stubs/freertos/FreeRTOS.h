/* The part of FreeRTOS that the port uses, with ESP-IDF's default of 100 ticks a second. */
#ifndef FREERTOS_H
#define FREERTOS_H

#include <stdint.h>

typedef uint32_t TickType_t;
#define pdMS_TO_TICKS(ms) ((TickType_t)(ms) / 10U)

#endif
