/* The two slots of a model, for opening and for updates. */
#ifndef TIGRIS_SLOTS_H
#define TIGRIS_SLOTS_H

#include "slot_log.h"

static inline uint32_t tigris_slot_offset(const tigris_model *model, uint32_t slot)
{
    return model->offset + slot * model->slots->bytes;
}

/* Opens the plan in a slot as tigris_model_open does. `proven`: its checksum is compared, whatever the model says. Beside
 * the other statuses TIGRIS_ERR_SLOT_TOO_SMALL, when the plan reaches beyond the slot. */
TIGRIS_MUST_CHECK tigris_status tigris_slot_open(const tigris_model *model, uint32_t slot, int proven,
                                                 tigris_plan *plan);

#endif
