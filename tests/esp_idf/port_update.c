/* An update on the declared interface: argv = flash file, plan, cipher of the flash. Prints the statuses of the steps, of the
 * same with a chip that refuses to write, and the mappings that are held at the end. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "chip.h"
#include "tigris_models.h"
#include "tigris_update.h"

static uint8_t bytes[1U << 18];

static tigris_status written(tigris_update *update, const tigris_model *model, size_t size)
{
    tigris_status status = tigris_update_begin(update, model);
    if (status == TIGRIS_OK)
        status = tigris_update_write(update, bytes, size);
    if (status == TIGRIS_OK)
        status = tigris_update_finish(update);
    return status == TIGRIS_OK ? tigris_update_commit(update) : status;
}

int main(int argc, char **argv)
{
    static tigris_update update;
    static tigris_slots slots;
    tigris_model model = TIGRIS_MODEL_DIGITS;
    tigris_plan plan;
    if (argc != 4 || !chip_start(argv[1], 1U << 20))
        return 2;
    FILE *file = fopen(argv[2], "rb");
    const size_t size = file == NULL ? 0U : fread(bytes, 1, sizeof bytes, file);
    slots.open = tigris_slots_open;
    slots.flash = &tigris_port_flash;
    slots.bytes = 1U << 16;
    model.slots = &slots;
    model.offset = TIGRIS_SLOT_RECORDS_BYTES;
    chip.cipher = (uint32_t)strtoul(argv[3], NULL, 0);
    for (uint32_t i = 0; i < FLASH_BYTES; i++)
        chip_flash()[i] ^= (uint8_t)(i >= model.offset && i < model.offset + size ? chip.cipher : 0U);
    const uint32_t pages = chip.window_pages;
    printf("%d ", (int)tigris_model_open(&model, &plan));
    chip.refuses = 1;
    printf("%d ", (int)written(&update, &model, size));
    chip.refuses = 0;
    printf("%d ", (int)written(&update, &model, size));
    tigris_model_close(&plan);
    tigris_model_close(&plan);
    printf("%d ", (int)tigris_model_open(&model, &plan));
    printf("%d ", (int)tigris_update_confirm(&model, &plan));
    const int is_new = plan.header != NULL && memcmp(plan.base, bytes, size) == 0;
    tigris_model_close(&plan);
    slots.bytes = 1U << 20;
    printf("%d %d %u %u\n", (int)written(&update, &model, size), is_new, (unsigned)chip.mappings,
           (unsigned)(pages - chip.window_pages));
    return 0;
}
