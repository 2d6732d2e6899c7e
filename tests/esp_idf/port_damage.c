/* Opens damaged plans as firmware does, and runs those that open. Prints a line of numbers for each: which, the status, and
 * what the outputs are: 0 wrong or none, 1 the old plan's, 2 the new one's.
 *
 * argv = flash file with the new plan, file with the old one, then `flips`, `mixtures` or `cuts`. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "chip.h"
#include "tigris_models.h"

#define HEADER_BITS (8U * (uint32_t)sizeof(tigris_header_record))
#define SECTOR 4096U
#define MOST_OUTPUT 64U

static tigris_plan plan;
static tigris_session session;
static TIGRIS_ALIGNED uint8_t fast[TIGRIS_MODEL_DIGITS_FAST_BYTES];
static uint8_t outputs[2][MOST_OUTPUT];

static tigris_status open_and_run(void)
{
    chip.window_pages = 64;
    tigris_status status = tigris_model_open(&TIGRIS_MODEL_DIGITS, &plan);
    if (status != TIGRIS_OK)
        return plan.header == NULL ? status : TIGRIS_OK; /* what failed is no plan */
    status = tigris_session_init(&session, &plan, fast, sizeof fast, NULL, 0, NULL);
    if (status != TIGRIS_OK)
        return status;
    uint8_t *input = tigris_input(&session, 0);
    for (uint32_t i = 0; i < tigris_input_bytes(&session, 0); i++)
        input[i] = (uint8_t)(i * 37U + 11U);
    return tigris_run(&session);
}

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
static void mixtures(uint8_t *flash, const uint8_t *before, const uint8_t *after, uint32_t bytes)
{
    const uint32_t sectors = (bytes + SECTOR - 1U) / SECTOR;
    for (uint32_t choice = 0; choice < 1U << sectors; choice++) {
        for (uint32_t i = 0; i < sectors; i++)
            memcpy(flash + i * SECTOR, (choice >> i & 1U ? after : before) + i * SECTOR, SECTOR);
        report(choice);
    }
}

/* An upload that ends at any multiple of 64 bytes: the first sector last, and each erased before it is written. */
static void cuts(uint8_t *flash, const uint8_t *before, const uint8_t *after, uint32_t bytes)
{
    const uint32_t sectors = (bytes + SECTOR - 1U) / SECTOR;
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

/* The plan of a flash file; its outputs are kept at `index`. */
static uint8_t *take(const char *path, int index)
{
    if (!chip_start(path, FLASH_BYTES) || open_and_run() != TIGRIS_OK)
        exit(2);
    memcpy(outputs[index], tigris_output(&session, 0), tigris_output_bytes(&session, 0));
    return chip_flash();
}

int main(int argc, char **argv)
{
    if (argc != 4)
        return 2;
    const uint8_t *before = take(argv[2], 0), *after = take(argv[1], 1);
    const uint32_t bytes = plan.header->total_bytes;
    if (!chip_start(argv[1], FLASH_BYTES))
        return 2;
    if (strcmp(argv[3], "flips") == 0)
        flips(chip_flash(), 8U * bytes);
    else if (strcmp(argv[3], "mixtures") == 0)
        mixtures(chip_flash(), before, after, bytes);
    else
        cuts(chip_flash(), before, after, bytes);
    return 0;
}
