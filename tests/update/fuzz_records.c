/* libFuzzer target: any content of the records, of the slots and of a plan that comes. The input is a list of strokes on a chip
 * that holds a plan in each slot, then the bytes of an update:
 *
 *     stroke: place, kind, value   kind 0 to 2: a record of that stage; 3: a byte of the records; 4: one of a slot; else end
 *
 * Whatever lies there, the model opens a plan whose checksum fits or says why not, and unless the chip refuses, an update
 * afterwards is opened. Reads outside the partition the sanitisers see: the chip is a block of its size. */
#include <stdlib.h>
#include <string.h>

#include "../../runtime/src/crc32.h"
#include "slots.h"
#include "tigris_models.h"
#include "tigris_update.h"

#define CHIP_BYTES (8U * TIGRIS_FLASH_SECTOR)
#define STROKE_BYTES 6U

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

extern const uint8_t fuzz_plan[];
extern const uint32_t fuzz_plan_bytes;
static uint8_t *chip;

static void demand(int holds)
{
    if (!holds)
        abort();
}

tigris_status tigris_port_map(const char *label, uint32_t offset, size_t bytes, const void **data)
{
    demand(strcmp(label, "model") == 0);
    *data = offset <= CHIP_BYTES ? chip + offset : NULL;
    return offset > CHIP_BYTES || bytes > CHIP_BYTES - offset ? TIGRIS_ERR_PARTITION_TOO_SMALL : TIGRIS_OK;
}

tigris_status tigris_port_read(const char *label, uint32_t offset, void *to, size_t bytes)
{
    const void *data = NULL;
    const tigris_status status = tigris_port_map(label, offset, bytes, &data);
    if (status == TIGRIS_OK)
        memcpy(to, data, bytes);
    return status;
}

static tigris_status erase(const char *label, uint32_t offset)
{
    demand(strcmp(label, "model") == 0 && offset % TIGRIS_FLASH_SECTOR == 0U && offset < CHIP_BYTES);
    memset(chip + offset, 0xFF, TIGRIS_FLASH_SECTOR);
    return TIGRIS_OK;
}

static tigris_status program(const char *label, uint32_t offset, const void *from, size_t bytes)
{
    demand(strcmp(label, "model") == 0 && offset <= CHIP_BYTES && bytes <= CHIP_BYTES - offset && offset % 32U == 0U);
    for (size_t i = 0; i < bytes; i++) {
        demand(chip[offset + i] == 0xFFU);
        chip[offset + i] = ((const uint8_t *)from)[i];
    }
    return TIGRIS_OK;
}

static tigris_status is_erased(const char *label, uint32_t offset, size_t bytes, int *erased)
{
    const void *data = NULL;
    const tigris_status status = tigris_port_map(label, offset, bytes, &data);
    *erased = status == TIGRIS_OK;
    for (size_t i = 0; status == TIGRIS_OK && i < bytes; i++)
        *erased = *erased && ((const uint8_t *)data)[i] == 0xFFU;
    return status;
}

const tigris_flash tigris_port_flash = {erase, program, is_erased};

/* One stroke; 0: it was the last. */
static int strike(const tigris_model *model, const uint8_t *stroke)
{
    const uint32_t place = (uint32_t)(stroke[0] | stroke[1] << 8);
    uint8_t *records = chip + model->offset - TIGRIS_SLOT_RECORDS_BYTES;
    if (stroke[2] < 3U) {
        tigris_slot_record record = {{'T', 'G', 'S', 'L'}, 0U, (uint8_t)(stroke[2] + 1U), stroke[3] & 1U, 0U, 0U, {0U}};
        uint32_t words[4];
        memcpy(&record.number, stroke + 2, sizeof record.number);
        record.crc32 = tigris_crc32((const uint8_t *)&record, 12U);
        memcpy(words, &record, sizeof words);
        for (uint32_t i = 0; i < 4U; i++)
            record.complement[i] = ~words[i];
        memcpy(records + place % 256U * sizeof record, &record, sizeof record);
    } else if (stroke[2] == 3U) {
        records[place % TIGRIS_SLOT_RECORDS_BYTES] = stroke[3];
    } else if (stroke[2] == 4U) {
        chip[model->offset + place % (2U * model->slots->bytes)] = stroke[3];
    } else {
        return 0;
    }
    return 1;
}

static int opens(const tigris_model *model)
{
    tigris_plan plan;
    const tigris_status status = tigris_model_open(model, &plan);
    demand((status == TIGRIS_OK) == (plan.header != NULL));
    if (status == TIGRIS_OK && !model->unchecked)
        demand(tigris_plan_check_crc(&plan) == TIGRIS_OK && plan.header->total_bytes <= model->slots->bytes);
    if (status == TIGRIS_OK)
        demand(tigris_update_confirm(model, &plan) == TIGRIS_OK);
    tigris_model_close(&plan);
    return status == TIGRIS_OK;
}

static tigris_status update_to(tigris_update *update, const uint8_t *plan, size_t bytes)
{
    tigris_status status = tigris_update_write(update, plan, bytes / 2U);
    if (status == TIGRIS_OK)
        status = tigris_update_write(update, plan + bytes / 2U, bytes - bytes / 2U);
    if (status == TIGRIS_OK)
        status = tigris_update_finish(update);
    return status == TIGRIS_OK ? tigris_update_commit(update) : status;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    static tigris_update update;
    tigris_model model = TIGRIS_MODEL_TINY;
    void *memory = NULL;
    demand(posix_memalign(&memory, 64, CHIP_BYTES) == 0);
    chip = memory;
    memset(chip, 0xFF, CHIP_BYTES);
    for (uint32_t slot = 0; slot < 2U; slot++)
        memcpy(chip + tigris_slot_offset(&model, slot), fuzz_plan, fuzz_plan_bytes);
    model.unchecked = bytes % 2U;
    for (int more = 1; more && bytes >= STROKE_BYTES; data += STROKE_BYTES, bytes -= STROKE_BYTES)
        more = strike(&model, data);
    (void)opens(&model);
    while (tigris_update_begin(&update, &model) == TIGRIS_ERR_UNCONFIRMED)
        demand(!opens(&model));
    if (update_to(&update, data, bytes) != TIGRIS_OK)
        demand(tigris_update_abort(&update) == TIGRIS_OK);
    (void)opens(&model);
    (void)opens(&model);
    demand(tigris_update_begin(&update, &model) == TIGRIS_OK);
    demand(update_to(&update, fuzz_plan, fuzz_plan_bytes) == TIGRIS_OK);
    demand(opens(&model) && opens(&model));
    free(chip);
    return 0;
}
