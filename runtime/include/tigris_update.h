/* A new plan for a model, written by the firmware itself: from the air, an SD card, a serial line.
 *
 * The model has two slots (custom_tigris_slots = 2). One holds the plan that is opened; the new one goes to the
 * other, in pieces as they come:
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
 *     ...a session, a run with a known result, whatever tells that the plan works...
 *     status = tigris_update_confirm(&TIGRIS_MODEL_KWS, &plan);
 *
 * When the new plan does not open, or is not confirmed before the model is opened again, the old one is back, and
 * stays. When power is cut anywhere, the next tigris_model_open finds the old plan or the new one, whole: what
 * decides is one record of 32 bytes, written by one program operation.
 *
 * Flash is erased and programmed by model->slots->flash; that table and tigris_port_read are all that touches it. A
 * model must not be opened, confirmed and updated by several tasks at once, and each function below blocks for as
 * long as the flash takes: tens of milliseconds for the erasure of a sector are usual. No heap; stack below 1 KB
 * beside the flash's own. */
#ifndef TIGRIS_UPDATE_H
#define TIGRIS_UPDATE_H

#include "tigris_port.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Programmed at once; a sector has a multiple of it. */
#define TIGRIS_UPDATE_PAGE 256U

/* An update on its way. The caller owns the struct, its members are the functions' own. Nothing is held in it that must
 * be given back: to forget it is as good as tigris_update_abort, but for the flash. */
typedef struct tigris_update {
    const tigris_model *model;
    uint32_t stage;
    uint32_t slot;        /* that is written */
    uint32_t taken;       /* bytes of the plan that have come */
    uint32_t total_bytes; /* of the plan by its header; 0: that has not come */
    uint32_t wanted_crc32, crc32;
    uint32_t page[TIGRIS_UPDATE_PAGE / 4U];
} tigris_update;

/* Starts an update of the slot that is not the opened plan's. Writes a record that this plan stays, and erases no
 * slot yet. Opens and closes that plan, so its checksum is computed once. A plan that was committed before and never
 * opened is given up.
 *
 *     TIGRIS_ERR_NO_SLOTS     the firmware was built with one slot for the model
 *     TIGRIS_ERR_UNCONFIRMED  the open plan is on trial: confirm it, or close and open the model to give it up
 *     TIGRIS_ERR_PARTITION, TIGRIS_ERR_PARTITION_TOO_SMALL, TIGRIS_ERR_MAPPING, TIGRIS_ERR_FLASH   of the flash */
TIGRIS_MUST_CHECK tigris_status tigris_update_begin(tigris_update *update, const tigris_model *model);

/* The next bytes of the plan, as many as there are. A sector is erased when its first byte comes, and 256 bytes are
 * programmed at once. The header is looked at before anything is erased. After a failure nothing but
 * tigris_update_begin and tigris_update_abort is possible.
 *
 *     TIGRIS_ERR_NOT_A_PLAN, TIGRIS_ERR_VERSION, TIGRIS_ERR_OTHER_MODEL   by the first bytes
 *     TIGRIS_ERR_SLOT_TOO_SMALL   the plan is larger than a slot
 *     TIGRIS_ERR_DAMAGED          more bytes than the plan has by its header
 *     TIGRIS_ERR_ORDER            not between begin and finish
 *     TIGRIS_ERR_FLASH and the other statuses of the flash */
TIGRIS_MUST_CHECK tigris_status tigris_update_write(tigris_update *update, const void *data, size_t bytes);

/* Writes what is left and proves the plan as it lies in flash: its checksum, its structure, and that it has the
 * inputs, the outputs and the arenas that this firmware was built for. Whether its kernels are linked only a session
 * tells, on trial.
 *
 *     TIGRIS_ERR_TRUNCATED   fewer bytes than the plan has by its header
 *     TIGRIS_ERR_DAMAGED     the bytes that came have another checksum
 *     TIGRIS_ERR_FLASH       the flash does not hold the bytes that came
 *     TIGRIS_ERR_INTERFACE, TIGRIS_ERR_FAST_TOO_SMALL, TIGRIS_ERR_SLOW_TOO_SMALL and all others of tigris_model_open */
TIGRIS_MUST_CHECK tigris_status tigris_update_finish(tigris_update *update);

/* The next tigris_model_open opens the new plan, once. One program operation, and at times the erasure of a sector of
 * records before it. TIGRIS_ERR_ORDER unless finish was the last step and succeeded; statuses of the flash: on these
 * the new plan may be pending or not. */
TIGRIS_MUST_CHECK tigris_status tigris_update_commit(tigris_update *update);

/* Ends an update that is not committed; the slot then holds no plan. Statuses of the flash. Does nothing, and returns
 * TIGRIS_OK, when nothing was written or the update was committed. */
tigris_status tigris_update_abort(tigris_update *update);

/* `plan`, opened by tigris_model_open, is the one to open from now on. One program operation for a plan on trial; for
 * any other it writes nothing and returns TIGRIS_OK, so it may be called at every start. TIGRIS_ERR_ARGUMENT when the
 * plan is not open, TIGRIS_ERR_OTHER_MODEL when no slot holds it, statuses of the flash. */
TIGRIS_MUST_CHECK tigris_status tigris_update_confirm(const tigris_model *model, const tigris_plan *plan);

/* tigris_model_open of models with two slots: what the build writes into tigris_slots. */
TIGRIS_MUST_CHECK tigris_status tigris_slots_open(const tigris_model *model, tigris_plan *plan);

#ifdef __cplusplus
}
#endif

#endif
