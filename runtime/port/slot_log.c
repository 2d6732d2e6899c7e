/* See slot_log.h. */
#include <string.h>

#include "../src/crc32.h"
#include "slot_log.h"

#define MAGIC "TGSL"
#define PER_SECTOR ((uint32_t)TIGRIS_SLOT_RECORDS_PER_SECTOR)
#define NO_PLACE UINT32_MAX
#define RECORD_BYTES ((uint32_t)sizeof(tigris_slot_record))
#define CRC_COVERS 12U
/* Records that are read at once. */
#define CHUNK 8U
/* More than a number is ever later than the last one of the other sector: 2 * PER_SECTOR at the start of a sector, less than
 * PER_SECTOR within it, and as many for records of the other one that were cut off and came back. */
#define MOST_BETWEEN (4U * PER_SECTOR)

static uint32_t offset_of(const tigris_model *model, uint32_t place)
{
    return model->offset - TIGRIS_SLOT_RECORDS_BYTES + place * RECORD_BYTES;
}

static void complement(const tigris_slot_record *record, uint32_t words[4])
{
    memcpy(words, record, 16U);
    for (uint32_t i = 0; i < 4U; i++)
        words[i] = ~words[i];
}

static int is_valid(const tigris_slot_record *record)
{
    uint32_t words[4];
    complement(record, words);
    return memcmp(words, record->complement, sizeof words) == 0 &&
           memcmp(record->magic, MAGIC, sizeof record->magic) == 0 && record->zero == 0U &&
           record->stage >= (uint8_t)TIGRIS_SLOT_CONFIRMED && record->stage <= (uint8_t)TIGRIS_SLOT_TRIED &&
           record->slot <= 1U && record->crc32 == tigris_crc32((const uint8_t *)record, CRC_COVERS);
}

/* The last valid record of a sector; place NO_PLACE when there is none. */
static tigris_status read_sector(const tigris_model *model, uint32_t sector, tigris_slot_state *state)
{
    tigris_slot_record records[CHUNK];
    state->place = NO_PLACE;
    state->number = 0U;
    for (uint32_t end = PER_SECTOR; end > 0U && state->place == NO_PLACE; end -= CHUNK) {
        const uint32_t first = sector * PER_SECTOR + end - CHUNK;
        const tigris_status status = tigris_port_read(model->partition, offset_of(model, first), records, sizeof records);
        if (status != TIGRIS_OK)
            return status;
        for (uint32_t i = CHUNK; i > 0U && state->place == NO_PLACE; i--)
            if (is_valid(&records[i - 1U])) {
                state->stage = (tigris_slot_stage)records[i - 1U].stage;
                state->slot = records[i - 1U].slot;
                state->number = records[i - 1U].number;
                state->place = first + i - 1U;
            }
    }
    return TIGRIS_OK;
}

tigris_status tigris_slot_log_read(const tigris_model *model, tigris_slot_state *state)
{
    tigris_slot_state second = {TIGRIS_SLOT_CONFIRMED, 0U, 0U, NO_PLACE, 0};
    tigris_status status = read_sector(model, 0U, state);
    if (status == TIGRIS_OK)
        status = read_sector(model, 1U, &second);
    if (status != TIGRIS_OK)
        return status;
    /* Later by less than half of all numbers, which goes on when they start again. */
    const int has_both = state->place != NO_PLACE && second.place != NO_PLACE;
    const uint32_t first_number = state->number;
    if (second.place != NO_PLACE && (state->place == NO_PLACE || second.number - state->number - 1U < 0x7FFFFFFFU))
        *state = second;
    const uint32_t between = state->number - (state->place < PER_SECTOR ? second.number : first_number);
    state->is_foreign = has_both && between - 1U >= MOST_BETWEEN;
    if (state->place == NO_PLACE) {
        state->stage = TIGRIS_SLOT_CONFIRMED;
        state->slot = 0U;
        state->number = 0U;
    }
    return TIGRIS_OK;
}

/* The first erased place behind the last record in its sector; NO_PLACE when that is full, or when the other one must go. What
 * lies between was cut off. */
static tigris_status find_room(const tigris_model *model, const tigris_slot_state *last, uint32_t *place)
{
    const uint32_t first = last->place == NO_PLACE ? 0U : last->place + 1U;
    const uint32_t end = last->place == NO_PLACE ? PER_SECTOR : (last->place / PER_SECTOR + 1U) * PER_SECTOR;
    for (*place = last->is_foreign ? end : first; *place < end; (*place)++) {
        int erased = 0;
        const uint32_t offset = offset_of(model, *place);
        const tigris_status status = model->slots->flash->is_erased(model->partition, offset, RECORD_BYTES, &erased);
        if (status != TIGRIS_OK || erased)
            return status;
    }
    *place = NO_PLACE;
    return TIGRIS_OK;
}

/* Room at the start of the sector that the last record is not in. */
static tigris_status make_room(const tigris_model *model, const tigris_slot_state *last, uint32_t *place)
{
    *place = last->place == NO_PLACE || last->place < PER_SECTOR ? PER_SECTOR : 0U;
    return model->slots->flash->erase(model->partition, offset_of(model, *place));
}

tigris_status tigris_slot_log_append(const tigris_model *model, tigris_slot_state *state, tigris_slot_stage stage,
                                     uint32_t slot)
{
    tigris_slot_record record;
    tigris_slot_record written;
    uint32_t place = NO_PLACE;
    tigris_status status = find_room(model, state, &place);
    if (status == TIGRIS_OK && place == NO_PLACE)
        status = make_room(model, state, &place);
    if (status != TIGRIS_OK)
        return status;
    memset(&record, 0, sizeof record);
    memcpy(record.magic, MAGIC, sizeof record.magic);
    /* No record of the sector that is left can be later, not even one that was cut off and reads as valid at times. */
    record.number = state->number + (place % PER_SECTOR == 0U ? 2U * PER_SECTOR : 1U);
    record.stage = (uint8_t)stage;
    record.slot = (uint8_t)slot;
    record.crc32 = tigris_crc32((const uint8_t *)&record, CRC_COVERS);
    complement(&record, record.complement);
    status = model->slots->flash->program(model->partition, offset_of(model, place), &record, sizeof record);
    if (status == TIGRIS_OK)
        status = tigris_port_read(model->partition, offset_of(model, place), &written, sizeof written);
    if (status != TIGRIS_OK)
        return status;
    if (memcmp(&written, &record, sizeof record) != 0)
        return TIGRIS_ERR_FLASH;
    state->stage = stage;
    state->slot = slot;
    state->number = record.number;
    state->place = place;
    state->is_foreign = 0;
    return TIGRIS_OK;
}
