/* Helpers for ESP-IDF and for Arduino-ESP32, which is built on it: arenas, time, and a run that leaves the watchdog content.
 *
 *     void *fast = tigris_esp_fast_arena(TIGRIS_MODEL_KWS.fast_bytes);
 *     void *slow = tigris_esp_slow_arena(TIGRIS_MODEL_KWS.slow_bytes);
 *     static tigris_esp_pauses pauses = {.period_ms = 500};
 *     ...tigris_session_init(&session, &plan, fast, TIGRIS_MODEL_KWS.fast_bytes, slow, ...);
 *     session.yield = tigris_esp_yield;
 *     session.yield_context = &pauses;
 */
#ifndef TIGRIS_ESP_IDF_H
#define TIGRIS_ESP_IDF_H

#include "tigris.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Memory for an arena, aligned for every plan: internal RAM for the fast one, PSRAM for the slow one. NULL when
 * there is no free block of that size, and for 0 bytes. heap_caps_free gives it back. */
void *tigris_esp_fast_arena(size_t bytes);
void *tigris_esp_slow_arena(size_t bytes);

/* When a long run last let other tasks in. One for each task that runs sessions. */
typedef struct tigris_esp_pauses {
    uint32_t period_ms;  /* pause this often at most; 0: at every chance */
    uint32_t last_pause; /* in ticks of FreeRTOS; start with 0 */
} tigris_esp_pauses;

/* A yield hook; `pauses` is a tigris_esp_pauses. Blocks for one tick each period, so that tasks of lower priority run,
 * the idle task among them, which the task watchdog waits for; resets the watchdog of the calling task if that
 * is subscribed. Never stops the run. */
int tigris_esp_yield(void *pauses);

/* A counter hook in microseconds, from esp_timer; on the linux target from the system's clock. */
uint32_t tigris_esp_microseconds(void *context);

#ifdef __cplusplus
}
#endif

#endif
