/* The log that says which of a model's two slots to open.
 *
 * The log has two flash sectors, used in turn, each with 128 records of 32 bytes. One program operation writes a
 * record to erased flash; records never change. The last valid record of each sector counts, and of these two the one
 * with the later number. When a sector is full, the other one is erased and gets the next record. So a valid record
 * exists at all times after the first; without any, slot 0 is confirmed.
 *
 * A record's second half is the complement of its first. A program operation clears bits; if power fails during it,
 * some bit and its complement are both still set, which shows that the record was cut off. The CRC-32 shows other
 * damage. */
#ifndef TIGRIS_SLOT_LOG_H
#define TIGRIS_SLOT_LOG_H

#include "tigris_port.h"

/* The state of a record's slot, which decides what the next tigris_model_open does. */
typedef enum tigris_slot_record_kind {
    TIGRIS_SLOT_CONFIRMED = 1, /* its plan is good: open it */
    TIGRIS_SLOT_PENDING = 2,   /* its plan is new: append TRIED, then open it on trial */
    TIGRIS_SLOT_TRIED = 3      /* its plan was not confirmed: append CONFIRMED for the other slot, and open that */
} tigris_slot_record_kind;

typedef struct tigris_slot_record {
    char magic[4];          /* the bytes "TGSL" */
    uint32_t number;        /* modulo 2^32: the record before plus 1, or plus 256 at the start of a sector */
    uint8_t kind;           /* tigris_slot_record_kind */
    uint8_t slot;           /* 0 or 1 */
    uint16_t version;       /* the smallest security version that opens */
    uint32_t crc32;         /* of the 12 bytes before */
    uint32_t complement[4]; /* of the 16 bytes before */
} tigris_slot_record;
TIGRIS_STATIC_ASSERT(sizeof(tigris_slot_record) == 32U, tigris_slot_record_size);

#define TIGRIS_SLOT_RECORDS_PER_SECTOR (TIGRIS_FLASH_SECTOR / sizeof(tigris_slot_record))

/* The last record, as read. */
typedef struct tigris_slot_entry {
    tigris_slot_record_kind kind;
    uint32_t slot;
    uint32_t number;      /* 0 if there is no record */
    uint32_t index;       /* of the record in both sectors; UINT32_MAX: there is no record */
    int has_stale_sector; /* 1: the other sector's number does not fit this log, so the sector must be erased */
    uint16_t version;     /* the smallest security version that opens; the next record has the same */
} tigris_slot_entry;

/* Reads the last record; without any, *last says that slot 0 is confirmed. `model` must have slots. Returns the
 * statuses of tigris_port_read. */
TIGRIS_MUST_CHECK tigris_status tigris_slot_log_read(const tigris_model *model, tigris_slot_entry *last);

/* Appends a record after *last, which tigris_slot_log_read set, and sets *last to it: one program operation, after
 * the erasure of the other sector if this one is full. After a failure the last record is the old one or the new one.
 * Returns the statuses of the flash; TIGRIS_ERR_FLASH also if the record reads back wrong. */
TIGRIS_MUST_CHECK tigris_status tigris_slot_log_append(const tigris_model *model, tigris_slot_entry *last,
                                                       tigris_slot_record_kind kind, uint32_t slot);

#endif
