/* The port in firmware with one model: argv = what to do, a flash file, and more as each function below says. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "chip.h"
#include "esp_heap_caps.h"
#include "tigris_esp_idf.h"
#include "tigris_models.h"
#include "tigris_update.h"

#define HEADER_BITS (8U * (uint32_t)sizeof(tigris_header_record))
#define SECTOR 4096U
#define MOST_OUTPUT 64U

static tigris_plan plan;
static tigris_session session;
static TIGRIS_ALIGNED uint8_t arena[TIGRIS_MODEL_DIGITS_FAST_BYTES];
static uint8_t outputs[2][MOST_OUTPUT], bytes[1U << 18];
static uint32_t calls;

static tigris_status start(void *fast)
{
    tigris_status status = tigris_model_open(&TIGRIS_MODEL_DIGITS, &plan);
    if (status != TIGRIS_OK)
        return plan.header == NULL ? status : TIGRIS_OK; /* what failed is no plan */
    status = tigris_session_init(&session, &plan, fast, TIGRIS_MODEL_DIGITS_FAST_BYTES, NULL, 0, NULL);
    if (status == TIGRIS_OK)
        for (uint32_t i = 0; i < tigris_input_bytes(&session, 0); i++)
            ((uint8_t *)tigris_input(&session, 0))[i] = (uint8_t)(i * 37U + 11U);
    return status;
}

static tigris_status open_and_run(void)
{
    chip.window_pages = 64;
    const tigris_status status = start(arena);
    return status == TIGRIS_OK ? tigris_run(&session) : status;
}

/* open: partition's bytes, free pages of the window, what the firmware was built with. Prints the status, that for a
 * partition which the table lacks, and how many bytes were mapped. */
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
    else if (strcmp(what, "another offset") == 0)
        model.offset = 0x1000U;
    tigris_model elsewhere = model;
    elsewhere.partition = "elsewhere";
    const int status = (int)tigris_model_open(&model, &plan);
    printf("%d %d %u\n", status, (int)tigris_model_open(&elsewhere, &plan), (unsigned)chip.mapped_bytes);
}

/* ---- damage: an old plan and `flips`, `mixtures` or `cuts`. Runs those that open. Prints a line of numbers for each:
 * which, the status, and what the outputs are: 0 wrong or none, 1 the old plan's, 2 the new one's. ---- */

static void report(uint32_t which)
{
    const tigris_status status = open_and_run();
    int like = 0;
    for (int i = 0; i < 2 && status == TIGRIS_OK; i++)
        like = memcmp(tigris_output(&session, 0), outputs[i], tigris_output_bytes(&session, 0)) == 0 ? i + 1 : like;
    printf("%u %d %d\n", (unsigned)which, (int)status, like);
}

static void flips(uint8_t *flash, uint32_t bits)
{
    for (uint32_t bit = 0; bit < bits; bit += bit < HEADER_BITS ? 1U : 97U) {
        flash[bit / 8U] ^= (uint8_t)(1U << bit % 8U);
        report(bit);
        flash[bit / 8U] ^= (uint8_t)(1U << bit % 8U);
    }
}

/* Every choice of sectors of the new plan over the old one. */
static void mixtures(uint8_t *flash, const uint8_t *before, const uint8_t *after, uint32_t sectors)
{
    for (uint32_t choice = 0; choice < 1U << sectors; choice++) {
        for (uint32_t i = 0; i < sectors; i++)
            memcpy(flash + i * SECTOR, (choice >> i & 1U ? after : before) + i * SECTOR, SECTOR);
        report(choice);
    }
}

/* An upload that ends at any multiple of 64 bytes: the first sector last, and each erased before it is written. */
static void cuts(uint8_t *flash, const uint8_t *before, const uint8_t *after, uint32_t sectors)
{
    memcpy(flash, before, sectors * SECTOR);
    for (uint32_t i = 1; i <= sectors; i++) {
        const uint32_t sector = i % sectors * SECTOR;
        memset(flash + sector, 0xff, SECTOR);
        report(i * SECTOR);
        for (uint32_t at = 0; at < SECTOR; at += 64U) {
            memcpy(flash + sector + at, after + sector + at, 64U);
            report(i * SECTOR + at + 64U);
        }
    }
}

/* The plan of a flash file, whose outputs are kept at `index`. */
static uint8_t *known(const char *path, int index)
{
    chip_start(path, FLASH_BYTES);
    if (open_and_run() != TIGRIS_OK)
        exit(2);
    memcpy(outputs[index], tigris_output(&session, 0), tigris_output_bytes(&session, 0));
    return chip_flash();
}

static void damage(char **argv)
{
    const uint8_t *before = known(argv[0], 0), *after = known(argv[-1], 1);
    const uint32_t size = plan.header->total_bytes, sectors = (size + SECTOR - 1U) / SECTOR;
    chip_start(argv[-1], FLASH_BYTES);
    if (argv[1][0] == 'f')
        flips(chip_flash(), 8U * size);
    else if (argv[1][0] == 'm')
        mixtures(chip_flash(), before, after, sectors);
    else
        cuts(chip_flash(), before, after, sectors);
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
    void *slow = tigris_esp_slow_arena(4096);
    printf("slow_caps %" PRIu32 "\n", chip.last_caps);
    void *fast = tigris_esp_fast_arena(TIGRIS_MODEL_DIGITS.fast_bytes);
    printf("fast_caps %" PRIu32 "\nmisaligned %u\n", chip.last_caps, (unsigned)((uintptr_t)fast % 64U));
    chip.has_no_psram = 1;
    printf("absent_psram %d\nno_bytes %d\n", tigris_esp_slow_arena(4096) == NULL, tigris_esp_fast_arena(0) == NULL);
    const uint32_t before = tigris_esp_microseconds(NULL);
    printf("step_us %" PRIu32 "\n", tigris_esp_microseconds(NULL) - before);
    tigris_status status = start(fast);
    session.yield = counted_yield;
    session.yield_context = &pauses;
    status = status == TIGRIS_OK ? tigris_run(&session) : status;
    printf("status %d\ncalls_of_run %" PRIu32 "\n", (int)status, calls);
    for (int i = 0; i < 200; i++)
        (void)counted_yield(&pauses);
    printf("calls %" PRIu32 "\npauses %" PRIu32 "\nresets %" PRIu32 "\n", calls, chip.pauses, chip.watchdog_resets);
    chip.is_subscribed = 0;
    pauses.period_ms = 0;
    (void)tigris_esp_yield(&pauses);
    printf("paused_at_once %" PRIu32 "\nresets_unsubscribed %" PRIu32 "\n", chip.pauses, chip.watchdog_resets);
    heap_caps_free(fast);
    heap_caps_free(slow);
}

/* ---- update: a plan, cipher of the flash. Prints the statuses of the steps, of the same with a chip that refuses to
 * write, and the mappings that are held at the end. ---- */

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
    static const struct {
        const char *name;
        int arguments;
        void (*act)(char **argv);
    } acts[] = {{"open", 3, open_model}, {"damage", 2, damage}, {"run", 0, run}, {"update", 2, update}};
    for (size_t i = 0; i < sizeof acts / sizeof acts[0]; i++)
        if (argc == acts[i].arguments + 3 && strcmp(argv[1], acts[i].name) == 0) {
            acts[i].act(argv + 3);
            return 0;
        }
    return 2;
}
