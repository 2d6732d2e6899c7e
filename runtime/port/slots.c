/* Which of a model's two plans is opened, and what is remembered of it. */
#include <string.h>

#include "model.h"
#include "slots.h"
#include "tigris_update.h"

tigris_status tigris_slot_open(const tigris_model *model, uint32_t slot, int proven, tigris_plan *plan)
{
    tigris_model place = *model;
    place.offset = tigris_slot_offset(model, slot);
    if (proven)
        place.unchecked = 0U;
    tigris_status status = tigris_model_open_place(&place, plan);
    if (status == TIGRIS_OK && plan->header->total_bytes > model->slots->bytes) {
        tigris_model_close(plan);
        status = TIGRIS_ERR_SLOT_TOO_SMALL;
    }
    return status;
}

/* The slot to open by the last record, after writing down what opening it means. A trial that cannot be written down
 * would go on for ever, so it does not begin. */
static uint32_t choose(const tigris_model *model, tigris_slot_state *state)
{
    const uint32_t slot = state->slot;
    if (state->stage == TIGRIS_SLOT_CONFIRMED)
        return slot;
    if (state->stage == TIGRIS_SLOT_PENDING)
        return tigris_slot_log_append(model, state, TIGRIS_SLOT_TRIED, slot) == TIGRIS_OK ? slot : 1U - slot;
    /* The next open gives the trial up again if this is not written. */
    (void)!tigris_slot_log_append(model, state, TIGRIS_SLOT_CONFIRMED, 1U - slot);
    return 1U - slot;
}

tigris_status tigris_slots_open(const tigris_model *model, tigris_plan *plan)
{
    tigris_slot_state state;
    memset(plan, 0, sizeof *plan);
    tigris_status status = tigris_slot_log_read(model, &state);
    if (status != TIGRIS_OK)
        return status;
    const uint32_t slot = choose(model, &state);
    status = tigris_slot_open(model, slot, 0, plan);
    if (status == TIGRIS_OK)
        return TIGRIS_OK;
    /* Beside a confirmed slot the other one may hold anything, a plan that was not written to its end among it. */
    const tigris_fault fault = plan->fault;
    const int proven = state.stage == TIGRIS_SLOT_CONFIRMED;
    if (tigris_slot_open(model, 1U - slot, proven, plan) != TIGRIS_OK) {
        plan->fault = fault;
        return status;
    }
    if (state.stage == TIGRIS_SLOT_TRIED && state.slot == slot)
        (void)!tigris_slot_log_append(model, &state, TIGRIS_SLOT_CONFIRMED, 1U - slot);
    return TIGRIS_OK;
}

/* Whether the slot's plan begins with the header of this one, which names its checksum. */
static tigris_status compare(const tigris_model *model, uint32_t slot, const tigris_plan *plan, int *same)
{
    tigris_header_record header;
    const uint32_t offset = tigris_slot_offset(model, slot);
    const tigris_status status = tigris_port_read(model->partition, offset, &header, sizeof header);
    *same = status == TIGRIS_OK && memcmp(&header, plan->header, sizeof header) == 0;
    return status;
}

tigris_status tigris_update_confirm(const tigris_model *model, const tigris_plan *plan)
{
    tigris_slot_state state;
    int same = 0;
    if (model == NULL || plan == NULL || plan->header == NULL)
        return TIGRIS_ERR_ARGUMENT;
    if (model->slots == NULL)
        return TIGRIS_OK;
    tigris_status status = tigris_slot_log_read(model, &state);
    /* A plan that waits for its trial is not the one that is open. */
    if (status != TIGRIS_OK || state.stage == TIGRIS_SLOT_PENDING)
        return status;
    uint32_t slot = state.slot;
    status = compare(model, slot, plan, &same);
    if (status == TIGRIS_OK && !same) {
        slot = 1U - slot;
        status = compare(model, slot, plan, &same);
    }
    if (status != TIGRIS_OK || (state.stage == TIGRIS_SLOT_CONFIRMED && state.slot == slot))
        return status;
    return same ? tigris_slot_log_append(model, &state, TIGRIS_SLOT_CONFIRMED, slot) : TIGRIS_ERR_OTHER_MODEL;
}
