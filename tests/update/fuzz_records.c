/* libFuzzer target: any content of the records, of the slots and of a plan that comes. The input is a list of strokes on a chip
 * that holds a plan in each slot, then the bytes of an update:
 *
 *     stroke: place, kind, value   kind 0 to 2: a record of that stage; 3: a byte of the records; 4: one of a slot; else end
 *
 * Whatever lies there, the model opens a plan whose checksum fits or says why not, and unless the chip refuses, an update
 * afterwards is opened. The sanitisers see what is read behind the chip. */
#include <stdlib.h>
#include <string.h>

#include "../../runtime/src/crc32.h"
#include "nor.c"
#include "slots.h"
#include "tigris_models.h"
#include "tigris_update.h"

#define STROKE_BYTES 6U
#define DEMAND(holds) demand((holds), #holds)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

extern const uint8_t fuzz_plan[];
extern const uint32_t fuzz_plan_bytes;

/* One stroke; 0: it was the last. */
static int strike(const tigris_model *model, const uint8_t *stroke)
{
    const uint32_t place = (uint32_t)(stroke[0] | stroke[1] << 8);
    uint8_t *records = nor.bytes + model->offset - TIGRIS_SLOT_RECORDS_BYTES;
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
        nor.bytes[model->offset + place % (2U * model->slots->bytes)] = stroke[3];
    } else {
        return 0;
    }
    return 1;
}

static int opens(const tigris_model *model)
{
    tigris_plan plan;
    const tigris_status status = tigris_model_open(model, &plan);
    DEMAND((status == TIGRIS_OK) == (plan.header != NULL));
    if (status == TIGRIS_OK && !model->unchecked)
        DEMAND(tigris_plan_check_crc(&plan) == TIGRIS_OK && plan.header->total_bytes <= model->slots->bytes);
    if (status == TIGRIS_OK)
        DEMAND(tigris_update_confirm(model, &plan) == TIGRIS_OK);
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
    nor_format(tigris_slot_offset(&model, 0U), fuzz_plan, fuzz_plan_bytes);
    memcpy(nor.bytes + tigris_slot_offset(&model, 1U), fuzz_plan, fuzz_plan_bytes);
    model.unchecked = bytes % 2U;
    for (int more = 1; more && bytes >= STROKE_BYTES; data += STROKE_BYTES, bytes -= STROKE_BYTES)
        more = strike(&model, data);
    (void)opens(&model);
    while (tigris_update_begin(&update, &model) == TIGRIS_ERR_UNCONFIRMED)
        DEMAND(!opens(&model));
    if (update_to(&update, data, bytes) != TIGRIS_OK)
        DEMAND(tigris_update_abort(&update) == TIGRIS_OK);
    (void)opens(&model);
    (void)opens(&model);
    DEMAND(tigris_update_begin(&update, &model) == TIGRIS_OK);
    DEMAND(update_to(&update, fuzz_plan, fuzz_plan_bytes) == TIGRIS_OK);
    DEMAND(opens(&model) && opens(&model));
    return 0;
}
