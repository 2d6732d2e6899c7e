/* Field updates: firmware itself writes a new plan for a model, for instance from a radio, an SD card or a serial
 * line.
 *
 * The model has two slots (custom_tigris_slots = 2). One holds the plan in use; the new plan goes to the other, in
 * pieces of any size:
 *
 *     static tigris_update update;
 *     tigris_status status = tigris_update_begin(&update, &TIGRIS_MODEL_KWS);
 *     while (status == TIGRIS_OK && (bytes = receive(piece, sizeof piece)) > 0)
 *         status = tigris_update_write(&update, piece, bytes);
 *     if (status == TIGRIS_OK)
 *         status = tigris_update_finish(&update);
 *     if (status == TIGRIS_OK)
 *         status = tigris_update_commit(&update);
 *
 * The next tigris_model_open, usually after a restart, opens the new plan on trial, once:
 *
 *     status = tigris_model_open(&TIGRIS_MODEL_KWS, &plan);
 *     ... test the plan: a session, a run with a known result ...
 *     status = tigris_update_confirm(&TIGRIS_MODEL_KWS, &plan);
 *
 * If the new plan does not open, or is not confirmed before the model is opened again, tigris_model_open returns to
 * the old plan for good. If power fails at any moment, the next tigris_model_open finds the old plan or the new one,
 * whole: one record of 32 bytes, written by one program operation, decides.
 *
 * All flash accesses go through model->slots->flash and tigris_port_read. Only one task at a time may open, update or
 * confirm a model. Each function blocks while the flash works; erasing a sector usually takes tens of milliseconds.
 * No heap; less than 1 KB of stack beside that of the flash functions. */
#ifndef TIGRIS_UPDATE_H
#define TIGRIS_UPDATE_H

#include "tigris_port.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Bytes that one program operation writes; divides a sector. */
#define TIGRIS_UPDATE_PAGE 256U

/* An update in progress. The caller owns the struct; its members are private. It holds no resource. An update that is
 * dropped leaves a half-written slot, which no record names and the next update writes over. */
typedef struct tigris_update {
    const tigris_model *model;
    uint32_t step;
    uint32_t slot;           /* the slot to write */
    uint32_t version;        /* the smallest security version to take */
    uint32_t received_bytes; /* of the plan and its signature, so far */
    uint32_t total_bytes;    /* of the plan according to its header; 0: not received yet */
    uint32_t expected_crc32, crc32;
    uint32_t page[TIGRIS_UPDATE_PAGE / 4U];
} tigris_update;

/* Starts an update of the slot that is not in use. Opens and closes the plan in use, which computes its checksum, and
 * writes a record that it stays; erases no slot yet. Gives up a plan that was committed and never opened.
 *
 *     TIGRIS_ERR_NO_SLOTS     the firmware was built with one slot for the model
 *     TIGRIS_ERR_UNCONFIRMED  the plan in use is on trial: confirm it, or close and open the model to give it up
 *     TIGRIS_ERR_PARTITION, TIGRIS_ERR_PARTITION_TOO_SMALL, TIGRIS_ERR_MAPPING, TIGRIS_ERR_FLASH   from the flash */
TIGRIS_MUST_CHECK tigris_status tigris_update_begin(tigris_update *update, const tigris_model *model);

/* Takes the next `bytes` bytes of the plan, whose signature may follow it. It checks the header before it erases
 * anything, erases a sector before the first write to it, and programs 256 bytes at a time. After a failure only tigris_update_begin and
 * tigris_update_abort are allowed.
 *
 *     TIGRIS_ERR_NOT_A_PLAN, TIGRIS_ERR_VERSION, TIGRIS_ERR_OTHER_MODEL   the header shows it
 *     TIGRIS_ERR_SLOT_TOO_SMALL   the plan is larger than a slot
 *     TIGRIS_ERR_ROLLBACK         a plan of a larger security version was confirmed
 *     TIGRIS_ERR_DAMAGED          the header is invalid, or there are more bytes than it says
 *     TIGRIS_ERR_ORDER            not between begin and finish
 *     TIGRIS_ERR_FLASH and the other statuses of the flash */
TIGRIS_MUST_CHECK tigris_status tigris_update_write(tigris_update *update, const void *data, size_t bytes);

/* Writes the remaining bytes and checks the plan in flash: checksum, structure, and the inputs, outputs and arenas that
 * the firmware was built for. Only tigris_session_init, during the trial, shows whether the plan's kernels are linked.
 *
 *     TIGRIS_ERR_TRUNCATED   fewer bytes came than the header says
 *     TIGRIS_ERR_DAMAGED     the received bytes have another checksum
 *     TIGRIS_ERR_FLASH       the flash does not hold the received bytes
 *     TIGRIS_ERR_SIGNATURE   the firmware's key did not sign the plan
 *     TIGRIS_ERR_INTERFACE, TIGRIS_ERR_FAST_TOO_SMALL, TIGRIS_ERR_SLOW_TOO_SMALL and all others of tigris_model_open */
TIGRIS_MUST_CHECK tigris_status tigris_update_finish(tigris_update *update);

/* Makes the next tigris_model_open open the new plan on trial: one program operation, sometimes after the erasure of a
 * sector of records. TIGRIS_ERR_ORDER unless a successful tigris_update_finish was the step before. After a status of
 * the flash the new plan may be pending or not. */
TIGRIS_MUST_CHECK tigris_status tigris_update_commit(tigris_update *update);

/* Ends an update that is not committed and erases the first sector of its slot. Returns the statuses of the flash. Does
 * nothing, and returns TIGRIS_OK, if nothing was written or the update was committed. */
tigris_status tigris_update_abort(tigris_update *update);

/* Ends the trial of `plan`, which tigris_model_open opened: it is opened from now on. It takes one program operation
 * for a plan on trial and writes nothing for any other, so firmware may call it at every start. TIGRIS_ERR_ARGUMENT:
 * the plan is not open; TIGRIS_ERR_OTHER_MODEL: no slot holds it; and the statuses of the flash. */
TIGRIS_MUST_CHECK tigris_status tigris_update_confirm(const tigris_model *model, const tigris_plan *plan);

/* The tigris_slots.open of models with two slots; applications call tigris_model_open. */
TIGRIS_MUST_CHECK tigris_status tigris_slots_open(const tigris_model *model, tigris_plan *plan);

#ifdef __cplusplus
}
#endif

#endif
