/* From a model's name in the firmware to its plan in flash.
 *
 * The build writes tigris_models.h with one tigris_model for each model of the project:
 *
 *     #include <tigris_models.h>
 *
 *     static tigris_plan plan;
 *     tigris_status status = tigris_model_open(&TIGRIS_MODEL_KWS, &plan);
 */
#ifndef TIGRIS_PORT_H
#define TIGRIS_PORT_H

#include "tigris.h"

#ifdef __cplusplus
extern "C" {
#endif

struct tigris_model;

/* What writing flash takes, one table a platform; `label` and `offset` as for the functions below. A sector is
 * TIGRIS_FLASH_SECTOR bytes and reads as 0xFF when erased; between two erasures a byte is programmed once at most. */
#define TIGRIS_FLASH_SECTOR 4096U
typedef struct tigris_flash {
    /* Erases the sector that begins at `offset`. TIGRIS_OK, TIGRIS_ERR_PARTITION, TIGRIS_ERR_PARTITION_TOO_SMALL or
     * TIGRIS_ERR_FLASH. */
    tigris_status (*erase)(const char *label, uint32_t offset);
    /* Programs `bytes`, which do not cross a sector; `offset` and `bytes` are multiples of 32 and `from` lies on a
     * 4-byte boundary. The same statuses. */
    tigris_status (*program)(const char *label, uint32_t offset, const void *from, size_t bytes);
    /* Whether nothing was programmed there since it was erased, as the chip has it: below an encryption, if there is
     * one. *erased becomes 1 or 0. The statuses of tigris_port_read. */
    tigris_status (*is_erased)(const char *label, uint32_t offset, size_t bytes, int *erased);
} tigris_flash;

/* The platform's. Not linked unless a model has two slots. The linked port has none: define it beside that port. */
extern const tigris_flash tigris_port_flash;

/* Two places for a model's plan (custom_tigris_slots = 2), see tigris_update.h. In the partition, from `offset` of
 * the model less TIGRIS_SLOT_RECORDS_BYTES: two sectors of records that say which slot counts, slot 0 at `offset`,
 * slot 1. */
#define TIGRIS_SLOT_RECORDS_BYTES (2U * TIGRIS_FLASH_SECTOR)
typedef struct tigris_slots {
    tigris_status (*open)(const struct tigris_model *model, struct tigris_plan *plan); /* tigris_slots_open */
    const tigris_flash *flash;
    uint32_t bytes; /* of one slot, a multiple of TIGRIS_FLASH_SECTOR */
} tigris_slots;

/* What the firmware knows of a model that was compiled with it. A model that is trained anew and keeps all of this
 * needs no new firmware. */
typedef struct tigris_model {
    const char *name;
    const char *partition;    /* label of the flash partition, at most 16 characters */
    uint32_t offset;          /* where the plan starts in it, a multiple of 4096 */
    uint32_t fast_bytes;      /* arenas that a session needs */
    uint32_t slow_bytes;
    uint32_t interface_crc32; /* of inputs and outputs: ..._INTERFACE_CRC32, or ..._SHAPE_CRC32 to take any scales */
    uint32_t plan_crc32;      /* 0, or the checksum of the only plan that is opened */
    uint8_t unchecked;        /* 1: the plan is opened without comparing its checksum */
    const tigris_slots *slots; /* NULL: the plan has one place, and is never replaced by the firmware */
} tigris_model;

/* Opens the plan in place, in mapped flash, and compares its checksum unless model->unchecked says not to: it reads
 * the whole plan once. On failure *plan is zeroed but for its fault. Beside tigris_plan_open's reasons this fails,
 * the first that holds, with
 *
 *     TIGRIS_ERR_PARTITION            no such partition in the table
 *     TIGRIS_ERR_PLAN_ABSENT          nothing was written there
 *     TIGRIS_ERR_DAMAGED              what was written there is damaged or was not written to its end: upload it again
 *     TIGRIS_ERR_NOT_A_PLAN           something else was written there
 *     TIGRIS_ERR_VERSION              a plan for another version of the runtime
 *     TIGRIS_ERR_PARTITION_TOO_SMALL  the plan would end behind the partition
 *     TIGRIS_ERR_MAPPING              the flash cannot be read or mapped: the window for mapped data is full
 *     TIGRIS_ERR_OTHER_MODEL          a plan of another name; or not the one that plan_crc32 tells
 *     TIGRIS_ERR_INTERFACE            its inputs or outputs are not those that the firmware was built for: types or
 *                                     shapes, and unless interface_crc32 leaves them out scales and zero points
 *     TIGRIS_ERR_FAST_TOO_SMALL, TIGRIS_ERR_SLOW_TOO_SMALL   it needs more than fast_bytes, slow_bytes */
TIGRIS_MUST_CHECK tigris_status tigris_model_open(const tigris_model *model, tigris_plan *plan);

/* Gives back what tigris_model_open took of the window for mapped data, and zeroes *plan. Its names and records must
 * not be used any more. Sessions of the plan are refused until they are bound again: tigris_run and
 * tigris_session_reset return TIGRIS_ERR_ARGUMENT, inputs and outputs are NULL. Arenas are the caller's and stay. A
 * plan that is not open, or was opened from a buffer, is zeroed and no more, so calling this twice, or after a failed
 * open, is safe. */
void tigris_model_close(tigris_plan *plan);

/* Two per platform; `offset` and `bytes` are a range of the partition `label`.
 *
 * Copies the range. Returns TIGRIS_OK, TIGRIS_ERR_PARTITION, TIGRIS_ERR_PARTITION_TOO_SMALL when the range leaves the
 * partition, or TIGRIS_ERR_MAPPING when flash cannot be read. */
TIGRIS_MUST_CHECK tigris_status tigris_port_read(const char *label, uint32_t offset, void *to, size_t bytes);

/* Makes the range readable for good at *data, on a 16-byte boundary if `offset` is a multiple of 16. The same
 * statuses. */
TIGRIS_MUST_CHECK tigris_status tigris_port_map(const char *label, uint32_t offset, size_t bytes, const void **data);

/* Two more where mapping takes something that can be given back. A port without them maps by tigris_port_map and
 * releases nothing (model.c has both as weak symbols).
 *
 * Like tigris_port_map, until tigris_port_release(*mapping); 0: there is nothing to release. */
TIGRIS_MUST_CHECK tigris_status tigris_port_hold(const char *label, uint32_t offset, size_t bytes, const void **data,
                                                 uint32_t *mapping);
void tigris_port_release(uint32_t mapping);

#ifdef __cplusplus
}
#endif

#endif
