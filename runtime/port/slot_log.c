/* The log of a model's slots; slot_log.h describes its form. */
#include <string.h>

#include "../src/crc32.h"
#include "slot_log.h"

#define MAGIC "TGSL"
#define PER_SECTOR ((uint32_t)TIGRIS_SLOT_RECORDS_PER_SECTOR)
#define NO_RECORD UINT32_MAX
#define RECORD_BYTES ((uint32_t)sizeof(tigris_slot_record))
#define CRC_COVERS 12U
/* Records that one read of flash takes. */
#define RECORDS_READ 8U
/* Above the largest difference of two sectors' last numbers. A sector's first number is 2 * PER_SECTOR above the one
 * before; fewer than PER_SECTOR follow in the sector. Cut-off records of the other sector may read as valid again, and
 * add as many. */
#define MAX_NUMBERS_BETWEEN (4U * PER_SECTOR)

static uint32_t offset_of(const tigris_model *model, uint32_t index)
{
    return model->offset - TIGRIS_SLOT_RECORDS_BYTES + index * RECORD_BYTES;
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
           memcmp(record->magic, MAGIC, sizeof record->magic) == 0 &&
           record->kind >= (uint8_t)TIGRIS_SLOT_CONFIRMED && record->kind <= (uint8_t)TIGRIS_SLOT_TRIED &&
           record->slot <= 1U && record->crc32 == tigris_crc32((const uint8_t *)record, CRC_COVERS);
}

/* Reads the last valid record of a sector; last->index becomes NO_RECORD if there is none. */
static tigris_status read_sector(const tigris_model *model, uint32_t sector, tigris_slot_entry *last)
{
    tigris_slot_record chunk[RECORDS_READ];
    last->index = NO_RECORD;
    last->number = 0U;
    last->version = 0U;
    for (uint32_t end = PER_SECTOR; end > 0U && last->index == NO_RECORD; end -= RECORDS_READ) {
        const uint32_t first = sector * PER_SECTOR + end - RECORDS_READ;
        const tigris_status status = tigris_port_read(model->partition, offset_of(model, first), chunk, sizeof chunk);
        if (status != TIGRIS_OK)
            return status;
        for (uint32_t i = RECORDS_READ; i > 0U && last->index == NO_RECORD; i--)
            if (is_valid(&chunk[i - 1U])) {
                last->kind = (tigris_slot_record_kind)chunk[i - 1U].kind;
                last->slot = chunk[i - 1U].slot;
                last->version = chunk[i - 1U].version;
                last->number = chunk[i - 1U].number;
                last->index = first + i - 1U;
            }
    }
    return TIGRIS_OK;
}

tigris_status tigris_slot_log_read(const tigris_model *model, tigris_slot_entry *last)
{
    tigris_slot_entry second = {TIGRIS_SLOT_CONFIRMED, 0U, 0U, NO_RECORD, 0, 0U};
    tigris_status status = read_sector(model, 0U, last);
    if (status == TIGRIS_OK)
        status = read_sector(model, 1U, &second);
    if (status != TIGRIS_OK)
        return status;
    /* The second sector is later if its number is ahead by less than 2^31; that also holds when numbers wrap. */
    const int has_both = last->index != NO_RECORD && second.index != NO_RECORD;
    const uint32_t first_number = last->number;
    if (second.index != NO_RECORD && (last->index == NO_RECORD || second.number - last->number - 1U < 0x7FFFFFFFU))
        *last = second;
    const uint32_t between = last->number - (last->index < PER_SECTOR ? second.number : first_number);
    last->has_stale_sector = has_both && between - 1U >= MAX_NUMBERS_BETWEEN;
    if (last->index == NO_RECORD) {
        last->kind = TIGRIS_SLOT_CONFIRMED;
        last->slot = 0U;
        last->number = 0U;
    }
    return TIGRIS_OK;
}

/* Finds the first erased record after the last one in its sector; records between them were cut off. NO_RECORD if the
 * sector is full, or if the other sector is stale and must be erased. */
static tigris_status find_free_record(const tigris_model *model, const tigris_slot_entry *last, uint32_t *index)
{
    const uint32_t first = last->index == NO_RECORD ? 0U : last->index + 1U;
    const uint32_t end = last->index == NO_RECORD ? PER_SECTOR : (last->index / PER_SECTOR + 1U) * PER_SECTOR;
    for (*index = last->has_stale_sector ? end : first; *index < end; (*index)++) {
        int erased = 0;
        const uint32_t offset = offset_of(model, *index);
        const tigris_status status = model->slots->flash->is_erased(model->partition, offset, RECORD_BYTES, &erased);
        if (status != TIGRIS_OK || erased)
            return status;
    }
    *index = NO_RECORD;
    return TIGRIS_OK;
}

/* Erases the sector that the last record is not in, and sets *index to its first record. */
static tigris_status erase_next_sector(const tigris_model *model, const tigris_slot_entry *last, uint32_t *index)
{
    *index = last->index == NO_RECORD || last->index < PER_SECTOR ? PER_SECTOR : 0U;
    return model->slots->flash->erase(model->partition, offset_of(model, *index));
}

tigris_status tigris_slot_log_append(const tigris_model *model, tigris_slot_entry *last, tigris_slot_record_kind kind,
                                     uint32_t slot)
{
    tigris_slot_record record;
    tigris_slot_record written;
    uint32_t index = NO_RECORD;
    tigris_status status = find_free_record(model, last, &index);
    if (status == TIGRIS_OK && index == NO_RECORD)
        status = erase_next_sector(model, last, &index);
    if (status != TIGRIS_OK)
        return status;
    memset(&record, 0, sizeof record);
    memcpy(record.magic, MAGIC, sizeof record.magic);
    /* The jump makes this record later than all in the other sector, even cut-off ones that sometimes read as valid. */
    record.number = last->number + (index % PER_SECTOR == 0U ? 2U * PER_SECTOR : 1U);
    record.kind = (uint8_t)kind;
    record.slot = (uint8_t)slot;
    record.version = last->version;
    record.crc32 = tigris_crc32((const uint8_t *)&record, CRC_COVERS);
    complement(&record, record.complement);
    status = model->slots->flash->program(model->partition, offset_of(model, index), &record, sizeof record);
    if (status == TIGRIS_OK)
        status = tigris_port_read(model->partition, offset_of(model, index), &written, sizeof written);
    if (status != TIGRIS_OK)
        return status;
    if (memcmp(&written, &record, sizeof record) != 0)
        return TIGRIS_ERR_FLASH;
    last->kind = kind;
    last->slot = slot;
    last->number = record.number;
    last->index = index;
    last->has_stale_sector = 0;
    return TIGRIS_OK;
}
