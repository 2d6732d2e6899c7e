/* Opens a model's plan from flash, and the functions that a platform provides for that.
 *
 * The build plugins write tigris_models.h with one tigris_model for each model of the project:
 *
 *     #include <tigris_models.h>
 *
 *     static tigris_plan plan;
 *     tigris_status status = tigris_model_open(&TIGRIS_MODEL_KWS, &plan);
 *
 * Call all functions from tasks, never from an interrupt handler. Tasks may open different models at once, but only one
 * task at a time may open, update or confirm the same model. */
#ifndef TIGRIS_PORT_H
#define TIGRIS_PORT_H

#include "tigris.h"

#ifdef __cplusplus
extern "C" {
#endif

struct tigris_model;

/* A platform's functions for writing flash. `label` names a partition and `offset` is relative to its start. A sector
 * has TIGRIS_FLASH_SECTOR bytes and reads as 0xFF when erased. The callers program a byte at most once between two
 * erasures. All functions block until the flash is done. */
#define TIGRIS_FLASH_SECTOR 4096U
typedef struct tigris_flash {
    /* Erases the sector at `offset`. Returns TIGRIS_OK, TIGRIS_ERR_PARTITION, TIGRIS_ERR_PARTITION_TOO_SMALL or
     * TIGRIS_ERR_FLASH. */
    tigris_status (*erase)(const char *label, uint32_t offset);
    /* Programs `bytes` bytes, which do not cross a sector's end. `offset` and `bytes` are multiples of 32, `from` is
     * 4-byte aligned. Returns the same statuses as `erase`. */
    tigris_status (*program)(const char *label, uint32_t offset, const void *from, size_t bytes);
    /* Sets *erased to 1 if the range is erased, else to 0. With flash encryption it must look at the raw bytes.
     * Returns the statuses of tigris_port_read. */
    tigris_status (*is_erased)(const char *label, uint32_t offset, size_t bytes, int *erased);
} tigris_flash;

/* The platform's table; linked only if a model has two slots. port/linked.c has none: define it in your firmware. */
extern const tigris_flash tigris_port_flash;

/* The two slots of a model (custom_tigris_slots = 2); see tigris_update.h. Layout of the partition: two sectors of
 * records at model->offset - TIGRIS_SLOT_RECORDS_BYTES say which slot to open; slot 0 is at model->offset, slot 1
 * follows it. */
#define TIGRIS_SLOT_RECORDS_BYTES (2U * TIGRIS_FLASH_SECTOR)
typedef struct tigris_slots {
    tigris_status (*open)(const struct tigris_model *model, struct tigris_plan *plan); /* tigris_slots_open */
    const tigris_flash *flash;
    uint32_t bytes; /* of one slot, a multiple of TIGRIS_FLASH_SECTOR */
} tigris_slots;

/* The facts about a model that are compiled into the firmware. A retrained model with the same facts needs no new
 * firmware. */
typedef struct tigris_model {
    const char *name;
    const char *partition;    /* label of the flash partition, at most 16 characters */
    uint32_t offset;          /* of the plan in the partition, a multiple of 4096 */
    uint32_t fast_bytes;      /* size of the fast arena that a session needs */
    uint32_t slow_bytes;      /* size of the slow arena; 0: none */
    uint32_t interface_crc32; /* of inputs and outputs: ..._INTERFACE_CRC32, or ..._SHAPE_CRC32 to accept any scales */
    uint32_t plan_crc32;      /* checksum of the only plan to open; 0: any plan of the model */
    uint8_t unchecked;        /* 1: open the plan without comparing its checksum */
    const tigris_slots *slots; /* NULL: one place for the plan, which firmware does not replace */
} tigris_model;

/* Opens the plan in place, in mapped flash. Reads the whole plan once to compare its checksum, unless model->unchecked
 * is set. On success the caller owns the mapping and releases it with tigris_model_close. On failure nothing is mapped
 * and *plan is zeroed except its fault. It fails with the statuses of tigris_plan_open, or with the first of these that
 * holds:
 *
 *     TIGRIS_ERR_PARTITION            the partition table has no such partition
 *     TIGRIS_ERR_PLAN_ABSENT          the flash is erased
 *     TIGRIS_ERR_DAMAGED              the plan is damaged or not written to its end: upload it again
 *     TIGRIS_ERR_NOT_A_PLAN           the flash holds something else
 *     TIGRIS_ERR_VERSION              the plan is for another version of the runtime
 *     TIGRIS_ERR_PARTITION_TOO_SMALL  the plan reaches beyond the partition
 *     TIGRIS_ERR_MAPPING              the flash cannot be read, or no address range is left to map it
 *     TIGRIS_ERR_SIGNATURE            the firmware has a public key, which did not sign the plan
 *     TIGRIS_ERR_OTHER_MODEL          the plan has another name, or another checksum than plan_crc32
 *     TIGRIS_ERR_INTERFACE            types or shapes of inputs and outputs differ from the firmware's; with
 *                                     ..._INTERFACE_CRC32 also scales and zero points
 *     TIGRIS_ERR_FAST_TOO_SMALL, TIGRIS_ERR_SLOW_TOO_SMALL   it needs more than fast_bytes or slow_bytes
 *     TIGRIS_ERR_ROLLBACK             of two slots: a plan with a larger security version was confirmed */
TIGRIS_MUST_CHECK tigris_status tigris_model_open(const tigris_model *model, tigris_plan *plan);

/* Releases the plan's mapping and zeroes *plan; pointers into the plan, such as names, become invalid. No run of it
 * may be active. Its sessions are unbound: tigris_run and tigris_session_reset return TIGRIS_ERR_ARGUMENT, inputs and
 * outputs are NULL. Arenas stay the caller's. It is safe to call this twice, after a failed open, and for a plan in a
 * buffer. */
void tigris_model_close(tigris_plan *plan);

/* Every platform must define the next two functions. `offset` and `bytes` are a range of the partition `label`.
 *
 * Copies the range to `to`. Returns TIGRIS_OK, TIGRIS_ERR_PARTITION, TIGRIS_ERR_PARTITION_TOO_SMALL if the range leaves
 * the partition, or TIGRIS_ERR_MAPPING if flash cannot be read. */
TIGRIS_MUST_CHECK tigris_status tigris_port_read(const char *label, uint32_t offset, void *to, size_t bytes);

/* Maps the range for good and sets *data to its address, 16-byte aligned if `offset` is a multiple of 16. Returns the
 * same statuses. */
TIGRIS_MUST_CHECK tigris_status tigris_port_map(const char *label, uint32_t offset, size_t bytes, const void **data);

/* A platform whose mappings can be released also defines the next two. model.c has weak defaults, which map for good.
 *
 * Maps the range like tigris_port_map until tigris_port_unmap(*handle); *handle is 0 if there is nothing to
 * release. */
TIGRIS_MUST_CHECK tigris_status tigris_port_map_held(const char *label, uint32_t offset, size_t bytes,
                                                     const void **data, uint32_t *handle);
void tigris_port_unmap(uint32_t handle);

/* ---- signed plans: docs/security.md ----
 *
 * Firmware that is compiled with TIGRIS_SIGNED has the public key of tigris_models.h (custom_tigris_sign, or SIGN of
 * tigris_add_model). tigris_model_open and the updates then accept only plans that this key signed. */
#define TIGRIS_SHA256_BYTES 32U
#define TIGRIS_SIGNATURE_BYTES 64U

typedef struct tigris_public_key {
    uint16_t algorithm;  /* tigris_signature_algorithm */
    uint16_t bytes;      /* of data */
    const uint8_t *data; /* P256: the point, uncompressed: 4, x and y; ED25519: the key */
} tigris_public_key;

/* For plans that tigris_model_open does not open: checks the signature of the plan at `data`, before tigris_plan_open.
 * `bytes` counts the plan and what follows it. TIGRIS_ERR_TRUNCATED: there is no room for a signature;
 * TIGRIS_ERR_SIGNATURE: the key did not sign the plan. */
TIGRIS_MUST_CHECK tigris_status tigris_check_signature(const void *data, size_t bytes);

/* Returns 1 if `signature`, of TIGRIS_SIGNATURE_BYTES, is the key's for the digest of TIGRIS_SHA256_BYTES, else 0.
 * ESP-IDF's port has it, and so has firmware that is compiled with TIGRIS_MBEDTLS (mbedTLS) or TIGRIS_PSA (another
 * library with the PSA interface). Other firmware defines it. */
int tigris_port_verify(const tigris_public_key *key, const uint8_t *digest, const uint8_t *signature);

/* Computes the SHA-256 of `bytes` bytes. The ports with tigris_port_verify have it, and the runtime has one for other
 * firmware. Firmware that defines its own, for a chip with hardware for it, is compiled with TIGRIS_PORT_HAS_SHA256. */
void tigris_port_sha256(const void *data, size_t bytes, uint8_t *digest);

#ifdef __cplusplus
}
#endif

#endif
