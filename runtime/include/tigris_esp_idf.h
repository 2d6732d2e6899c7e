/* Helpers for ESP-IDF and for Arduino-ESP32, which is built on it: arenas, time, a run that leaves the watchdog content, and
 * the other core.
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

/* A task on the core that the caller does not run on, for session->parallel. One core for one session at a time. */
typedef struct tigris_esp_core {
    void *asked; /* semaphores of FreeRTOS; NULL: there is no such task */
    void *done;
    tigris_work work;
    void *argument;
} tigris_esp_core;

/* Starts the task, pinned to the other core, with the caller's priority and `stack_bytes` of stack: 3072 are enough for any
 * kernel. The caller's own task should be pinned too, as those of app_main and of Arduino's loop are. Returns 1, or 0
 * where the chip has one core or no memory for the task: then sessions run all the same, on one.
 *
 *     static tigris_esp_core other;
 *     (void)tigris_esp_core_start(&other, 3072);
 *     session.split = tigris_split;           with custom_tigris_cores = 2 or CORES 2 tigris_session_init does it
 *     session.parallel = tigris_esp_parallel;
 *     session.parallel_context = &other; */
int tigris_esp_core_start(tigris_esp_core *core, uint32_t stack_bytes);

/* The parallel hook; `core` is a tigris_esp_core that was started, whether it could be or not. */
void tigris_esp_parallel(void *core, tigris_work work, void *argument);

/* Ends the task, between runs; the session then runs on one core. Does nothing when there is none. */
void tigris_esp_core_stop(tigris_esp_core *core);

#ifdef __cplusplus
}
#endif

#endif
