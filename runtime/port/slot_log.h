/* The records that say which of a model's two slots counts.
 *
 * Two flash sectors, used in turn. Each is a log of 128 records of 32 bytes; a record is written once, whole, by one
 * program operation into flash that is erased, and never changed. The last valid one of a sector is that sector's, and the
 * one with the later number is the model's. When a sector is full the other one is erased and gets the next record, so
 * a valid record is there at every moment but before the first, when slot 0 counts.
 *
 * A record that was cut off is told by its second half, the complement of the first: a program operation clears bits,
 * and where one that was to be cleared is not, a bit and its complement are both set. Other damage the CRC-32 tells. */
#ifndef TIGRIS_SLOT_LOG_H
#define TIGRIS_SLOT_LOG_H

#include "tigris_port.h"

typedef enum tigris_slot_stage {
    TIGRIS_SLOT_CONFIRMED = 1, /* the slot's plan is opened */
    TIGRIS_SLOT_PENDING = 2,   /* the slot's plan is opened next, on trial */
    TIGRIS_SLOT_TRIED = 3      /* it was opened on trial, and has not been confirmed: the other one is opened next */
} tigris_slot_stage;

typedef struct tigris_slot_record {
    char magic[4];          /* the bytes "TGSL" */
    uint32_t number;        /* modulo 2^32: one more than that of the record before, 256 more in another sector */
    uint8_t stage;          /* tigris_slot_stage */
    uint8_t slot;           /* 0 or 1 */
    uint16_t zero;
    uint32_t crc32;         /* of the bytes before */
    uint32_t complement[4]; /* of the bytes before */
} tigris_slot_record;
TIGRIS_STATIC_ASSERT(sizeof(tigris_slot_record) == 32U, tigris_slot_record_size);

#define TIGRIS_SLOT_RECORDS_PER_SECTOR (TIGRIS_FLASH_SECTOR / sizeof(tigris_slot_record))

/* The last record, as it was read. */
typedef struct tigris_slot_state {
    tigris_slot_stage stage;
    uint32_t slot;
    uint32_t number; /* 0 when there is no record */
    uint32_t place;  /* of the record in both sectors, counted in records; UINT32_MAX: there is none */
    int is_foreign;  /* the other sector has a record whose number no log of this kind has beside this one */
} tigris_slot_state;

/* Reads the last record; without any, slot 0 is confirmed. Returns tigris_port_read's statuses. `model` has slots. */
TIGRIS_MUST_CHECK tigris_status tigris_slot_log_read(const tigris_model *model, tigris_slot_state *state);

/* Adds a record behind *state, the one last read, and makes *state the new one. One program operation, after the erasure of
 * the other sector when this one is full. On a failure the last record is the one before, or the new one. Statuses of
 * the flash; TIGRIS_ERR_FLASH when the record cannot be read back. */
TIGRIS_MUST_CHECK tigris_status tigris_slot_log_append(const tigris_model *model, tigris_slot_state *state,
                                                       tigris_slot_stage stage, uint32_t slot);

#endif
