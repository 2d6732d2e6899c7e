/* Runs a model with the port's arenas and hooks: argv = flash file. Prints `name value` lines. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "chip.h"
#include "esp_heap_caps.h"
#include "tigris_esp_idf.h"
#include "tigris_models.h"

static tigris_plan plan;
static tigris_session session;
static uint32_t calls;

static int counted_yield(void *pauses)
{
    calls++;
    return tigris_esp_yield(pauses);
}

static tigris_status run(void *fast, tigris_esp_pauses *pauses)
{
    tigris_status status = tigris_model_open(&TIGRIS_MODEL_DIGITS, &plan);
    if (status == TIGRIS_OK)
        status = tigris_session_init(&session, &plan, fast, TIGRIS_MODEL_DIGITS.fast_bytes, NULL, 0, NULL);
    if (status != TIGRIS_OK)
        return status;
    session.yield = counted_yield;
    session.yield_context = pauses;
    memset(tigris_input(&session, 0), 0, tigris_input_bytes(&session, 0));
    return tigris_run(&session);
}

int main(int argc, char **argv)
{
    tigris_esp_pauses pauses = {.period_ms = 100};
    if (argc != 2 || !chip_start(argv[1], FLASH_BYTES))
        return 2;
    chip.is_subscribed = 1;
    void *slow = tigris_esp_slow_arena(4096);
    printf("slow_caps %" PRIu32 "\n", chip.last_caps);
    void *fast = tigris_esp_fast_arena(TIGRIS_MODEL_DIGITS.fast_bytes);
    printf("fast_caps %" PRIu32 "\nmisaligned %u\n", chip.last_caps, (unsigned)((uintptr_t)fast % 64U));
    chip.has_no_psram = 1;
    printf("absent_psram %d\nno_bytes %d\n", tigris_esp_slow_arena(4096) == NULL, tigris_esp_fast_arena(0) == NULL);
    const uint32_t before = tigris_esp_microseconds(NULL);
    printf("step_us %" PRIu32 "\n", tigris_esp_microseconds(NULL) - before);
    printf("status %d\n", (int)run(fast, &pauses));
    const uint32_t run_calls = calls;
    for (int i = 0; i < 200; i++)
        (void)counted_yield(&pauses);
    printf("calls_of_run %" PRIu32 "\n", run_calls);
    printf("calls %" PRIu32 "\npauses %" PRIu32 "\nresets %" PRIu32 "\n", calls, chip.pauses, chip.watchdog_resets);
    chip.is_subscribed = 0;
    pauses.period_ms = 0;
    (void)tigris_esp_yield(&pauses);
    printf("paused_at_once %" PRIu32 "\nresets_unsubscribed %" PRIu32 "\n", chip.pauses, chip.watchdog_resets);
    heap_caps_free(fast);
    heap_caps_free(slow);
    return 0;
}
