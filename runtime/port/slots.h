/* The two slots of a model; slots.c opens them, update.c writes them. */
#ifndef TIGRIS_SLOTS_H
#define TIGRIS_SLOTS_H

#include "slot_log.h"

/* The offset of a slot in the model's partition. */
static inline uint32_t tigris_slot_offset(const tigris_model *model, uint32_t slot)
{
    return model->offset + slot * model->slots->bytes;
}

/* Opens the plan in a slot as tigris_model_open does. `force_checksum`: compare its checksum even if model->unchecked
 * is set. `version`: the smallest security version to open, else TIGRIS_ERR_ROLLBACK.
 * TIGRIS_ERR_SLOT_TOO_SMALL: the plan reaches beyond the slot. */
TIGRIS_MUST_CHECK tigris_status tigris_slot_open(const tigris_model *model, uint32_t slot, int force_checksum,
                                                 uint32_t version, tigris_plan *plan);

#endif
