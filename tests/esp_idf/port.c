/* The port in firmware with one model: argv = the function's name, a flash file, and the function's arguments. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "chip.h"
#include "esp_heap_caps.h"
#include "tigris_esp_idf.h"
#include "tigris_models.h"
#include "tigris_update.h"

static tigris_plan plan;
static tigris_session session;
static uint8_t bytes[1U << 18];
static uint32_t calls;

/* open: bytes of the partition, free MMU pages, the firmware's constants. Prints the status, the status for a partition
 * that the table lacks, and the number of mapped bytes. */
static void open_model(char **argv)
{
    const char *what = argv[2];
    tigris_model model = TIGRIS_MODEL_DIGITS;
    chip_start(argv[-1], (uint32_t)strtoul(argv[0], NULL, 0));
    chip.window_pages = (uint32_t)strtoul(argv[1], NULL, 0);
    if (strcmp(what, "exact") == 0)
        model.plan_crc32 = EXACT_CRC32;
    else if (strcmp(what, "another name") == 0)
        model.name = "digit";
    else if (strcmp(what, "less fast memory") == 0)
        model.fast_bytes -= 1U;
    else if (strcmp(what, "unchecked") == 0)
        model.unchecked = 1U;
    else if (strcmp(what, "any scale") == 0)
        model.interface_crc32 = TIGRIS_MODEL_DIGITS_SHAPE_CRC32;
    else if (strcmp(what, "another offset") == 0)
        model.offset = 0x1000U;
    tigris_model elsewhere = model;
    elsewhere.partition = "elsewhere";
    const int status = (int)tigris_model_open(&model, &plan);
    printf("%d %d %u\n", status, (int)tigris_model_open(&elsewhere, &plan), (unsigned)chip.mapped_bytes);
}

/* ---- run: with the port's arenas and hooks. Prints `name value` lines. ---- */

static int counted_yield(void *pauses)
{
    calls++;
    return tigris_esp_yield(pauses);
}

static void run(char **argv)
{
    tigris_esp_pauses pauses = {.period_ms = 100};
    chip_start(argv[-1], FLASH_BYTES);
    chip.is_subscribed = 1;
    const tigris_arenas psram = tigris_esp_arenas(0, 4096);
    printf("slow_caps %" PRIu32 "\n", chip.last_caps);
    const tigris_arenas arenas = tigris_esp_arenas(TIGRIS_MODEL_DIGITS.fast_bytes, 0);
    printf("fast_caps %" PRIu32 "\nmisaligned %u\n", chip.last_caps, (unsigned)((uintptr_t)arenas.fast % 64U));
    chip.has_no_psram = 1;
    printf("absent_psram %d\nno_bytes %d\n", tigris_esp_arenas(0, 4096).slow == NULL, psram.fast == NULL);
    const uint32_t before = tigris_esp_microseconds(NULL);
    printf("step_us %" PRIu32 "\n", tigris_esp_microseconds(NULL) - before);
    tigris_status status = tigris_model_open(&TIGRIS_MODEL_DIGITS, &plan);
    if (status == TIGRIS_OK)
        status = tigris_session_init(&session, &plan, &arenas, NULL);
    session.hooks.yield = counted_yield;
    session.hooks.yield_context = &pauses;
    status = status == TIGRIS_OK ? tigris_run(&session) : status;
    printf("status %d\ncalls_of_run %" PRIu32 "\n", (int)status, calls);
    for (int i = 0; i < 200; i++)
        (void)counted_yield(&pauses);
    printf("calls %" PRIu32 "\npauses %" PRIu32 "\nresets %" PRIu32 "\n", calls, chip.pauses, chip.watchdog_resets);
    chip.is_subscribed = 0;
    pauses.period_ms = 0;
    (void)tigris_esp_yield(&pauses);
    printf("paused_at_once %" PRIu32 "\nresets_unsubscribed %" PRIu32 "\n", chip.pauses, chip.watchdog_resets);
    heap_caps_free(arenas.fast);
    heap_caps_free(psram.slow);
}

/* ---- update: a plan, cipher of the flash. Prints the statuses of the steps, also with a chip that refuses to
 * write, and the mappings at the end. ---- */

static tigris_status written(const tigris_model *model, size_t size)
{
    static tigris_update update;
    tigris_status status = tigris_update_begin(&update, model);
    if (status == TIGRIS_OK)
        status = tigris_update_write(&update, bytes, size);
    if (status == TIGRIS_OK)
        status = tigris_update_finish(&update);
    return status == TIGRIS_OK ? tigris_update_commit(&update) : status;
}

static void update(char **argv)
{
    static tigris_slots slots = {.open = tigris_slots_open, .flash = &tigris_port_flash, .bytes = 1U << 16};
    tigris_model model = TIGRIS_MODEL_DIGITS;
    chip_start(argv[-1], 1U << 20);
    FILE *file = fopen(argv[0], "rb");
    const size_t size = file == NULL ? 0U : fread(bytes, 1, sizeof bytes, file);
    model.slots = &slots;
    model.offset = TIGRIS_SLOT_RECORDS_BYTES;
    chip.cipher = (uint32_t)strtoul(argv[1], NULL, 0);
    for (uint32_t i = 0; i < FLASH_BYTES; i++)
        chip_flash()[i] ^= (uint8_t)(i >= model.offset && i < model.offset + size ? chip.cipher : 0U);
    const uint32_t pages = chip.window_pages;
    printf("%d ", (int)tigris_model_open(&model, &plan));
    chip.refuses = 1;
    printf("%d ", (int)written(&model, size));
    chip.refuses = 0;
    printf("%d ", (int)written(&model, size));
    tigris_model_close(&plan);
    tigris_model_close(&plan);
    printf("%d ", (int)tigris_model_open(&model, &plan));
    printf("%d ", (int)tigris_update_confirm(&model, &plan));
    const int is_new = plan.header != NULL && memcmp(plan.base, bytes, size) == 0;
    tigris_model_close(&plan);
    slots.bytes = 1U << 20;
    printf("%d %d %u %u\n", (int)written(&model, size), is_new, (unsigned)chip.mappings,
           (unsigned)(pages - chip.window_pages));
}

int main(int argc, char **argv)
{
    if (argc < 3)
        return 2;
    (argv[1][0] == 'o' ? open_model : argv[1][0] == 'u' ? update : run)(argv + 3);
    return 0;
}
