/* Helpers for ESP-IDF and for Arduino-ESP32, which is built on it: arenas, a yield hook for the watchdog, a clock,
 * and the second core. Call them from tasks, never from an interrupt handler.
 *
 *     const tigris_arenas arenas = tigris_esp_arenas(TIGRIS_MODEL_KWS.fast_bytes, TIGRIS_MODEL_KWS.slow_bytes);
 *     static tigris_esp_pauses pauses = {.period_ms = 500};
 *     ...tigris_session_init(&session, &plan, &arenas, NULL);
 *     session.hooks.yield = tigris_esp_yield;
 *     session.hooks.yield_context = &pauses;
 */
#ifndef TIGRIS_ESP_IDF_H
#define TIGRIS_ESP_IDF_H

#include "tigris.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Allocates arenas aligned for every plan: the fast one in internal RAM, the slow one in PSRAM. An arena is NULL if no
 * free block is large enough, and for 0 bytes. The caller owns both and frees them with heap_caps_free. */
tigris_arenas tigris_esp_arenas(size_t fast_bytes, size_t slow_bytes);

/* The context of tigris_esp_yield; one for each task that runs sessions. */
typedef struct tigris_esp_pauses {
    uint32_t period_ms;  /* least milliseconds from pause to pause; 0: pause at every call */
    uint32_t last_pause; /* tick of FreeRTOS; the caller sets it to 0 */
} tigris_esp_pauses;

/* A yield hook; `pauses` is a tigris_esp_pauses. Once per period it blocks for one tick, so that tasks of lower
 * priority run, including the idle task that the task watchdog watches. It also resets the task watchdog for the
 * calling task if that is subscribed. Never stops the run. */
int tigris_esp_yield(void *pauses);

/* A counter hook: microseconds of esp_timer, on the linux target of the system's clock. `context` is not used. */
uint32_t tigris_esp_microseconds(void *context);

/* A task on the core that the caller does not run on, for hooks.parallel; for one session at a time. The caller owns
 * the struct and keeps it until tigris_esp_core_stop; its members are private. */
typedef struct tigris_esp_core {
    void *work_ready; /* two semaphores of FreeRTOS; NULL: there is no task */
    void *work_done;
    tigris_work work;
    void *argument;
} tigris_esp_core;

/* Starts the task, pinned to the other core, with the caller's priority and `stack_bytes` of stack; 3072 suffice for
 * every kernel. The caller's task should be pinned too, as those of app_main and Arduino's loop are. Returns 1; 0 if
 * the chip has one core or memory is short, and sessions then run on one core.
 *
 *     static tigris_esp_core other;
 *     (void)tigris_esp_core_start(&other, 3072);
 *     session.split = tigris_split_rows;      with custom_tigris_cores = 2 or CORES 2 tigris_session_init does it
 *     session.hooks.parallel = tigris_esp_parallel;
 *     session.hooks.parallel_context = &other; */
int tigris_esp_core_start(tigris_esp_core *core, uint32_t stack_bytes);

/* The parallel hook; `core` is a tigris_esp_core after tigris_esp_core_start, whatever that returned. */
void tigris_esp_parallel(void *core, tigris_work work, void *argument);

/* Ends the task; call it between runs, after which the session runs on one core. Does nothing if there is no task. */
void tigris_esp_core_stop(tigris_esp_core *core);

#ifdef __cplusplus
}
#endif

#endif
