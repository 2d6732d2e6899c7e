/* Chooses which of a model's two plans to open, and records the trial and the confirmation of a new one. */
#include <string.h>

#include "model.h"
#include "signature.h"
#include "slots.h"
#include "tigris_update.h"

tigris_status tigris_slot_open(const tigris_model *model, uint32_t slot, int force_checksum, uint32_t version,
                               tigris_plan *plan)
{
    tigris_model place = *model;
    place.offset = tigris_slot_offset(model, slot);
    if (force_checksum)
        place.unchecked = 0U;
    tigris_status status = tigris_model_open_at_offset(&place, plan);
    if (status != TIGRIS_OK)
        return status;
    if (!tigris_fits_with_trailer(plan->header->total_bytes, model->slots->bytes))
        status = TIGRIS_ERR_SLOT_TOO_SMALL;
    else if (plan->header->security_version < version)
        status = TIGRIS_ERR_ROLLBACK;
    if (status != TIGRIS_OK)
        tigris_model_close(plan);
    return status;
}

/* The slot to open according to the last record. Appends the record that follows from opening it, before it is
 * opened. If TRIED cannot be written, the other slot is opened: otherwise the trial would repeat at each start. */
static uint32_t choose_slot(const tigris_model *model, tigris_slot_entry *last)
{
    const uint32_t slot = last->slot;
    if (last->kind == TIGRIS_SLOT_CONFIRMED)
        return slot;
    if (last->kind == TIGRIS_SLOT_PENDING)
        return tigris_slot_log_append(model, last, TIGRIS_SLOT_TRIED, slot) == TIGRIS_OK ? slot : 1U - slot;
    /* If this record cannot be written, the next open ends the trial in the same way. */
    (void)!tigris_slot_log_append(model, last, TIGRIS_SLOT_CONFIRMED, 1U - slot);
    return 1U - slot;
}

tigris_status tigris_slots_open(const tigris_model *model, tigris_plan *plan)
{
    tigris_slot_entry last;
    memset(plan, 0, sizeof *plan);
    tigris_status status = tigris_slot_log_read(model, &last);
    if (status != TIGRIS_OK)
        return status;
    const uint32_t slot = choose_slot(model, &last);
    status = tigris_slot_open(model, slot, 0, last.version, plan);
    if (status == TIGRIS_OK)
        return TIGRIS_OK;
    /* If this slot is confirmed, the other one may hold anything, such as a half-written plan: check its checksum. */
    const tigris_fault fault = plan->fault;
    const int force_checksum = last.kind == TIGRIS_SLOT_CONFIRMED;
    if (tigris_slot_open(model, 1U - slot, force_checksum, last.version, plan) != TIGRIS_OK) {
        plan->fault = fault;
        return status;
    }
    if (last.kind == TIGRIS_SLOT_TRIED && last.slot == slot)
        (void)!tigris_slot_log_append(model, &last, TIGRIS_SLOT_CONFIRMED, 1U - slot);
    return TIGRIS_OK;
}

/* Sets *is_same to whether the slot holds the header of `plan`, which includes the plan's checksum. */
static tigris_status compare_header(const tigris_model *model, uint32_t slot, const tigris_plan *plan, int *is_same)
{
    tigris_header_record header;
    const uint32_t offset = tigris_slot_offset(model, slot);
    const tigris_status status = tigris_port_read(model->partition, offset, &header, sizeof header);
    *is_same = status == TIGRIS_OK && memcmp(&header, plan->header, sizeof header) == 0;
    return status;
}

tigris_status tigris_update_confirm(const tigris_model *model, const tigris_plan *plan)
{
    tigris_slot_entry last;
    int is_same = 0;
    if (model == NULL || plan == NULL || plan->header == NULL)
        return TIGRIS_ERR_ARGUMENT;
    if (model->slots == NULL)
        return TIGRIS_OK;
    tigris_status status = tigris_slot_log_read(model, &last);
    /* PENDING: the new plan waits for its trial, so the open plan is the confirmed one. */
    if (status != TIGRIS_OK || last.kind == TIGRIS_SLOT_PENDING)
        return status;
    uint32_t slot = last.slot;
    status = compare_header(model, slot, plan, &is_same);
    if (status == TIGRIS_OK && !is_same) {
        slot = 1U - slot;
        status = compare_header(model, slot, plan, &is_same);
    }
    if (status != TIGRIS_OK || (last.kind == TIGRIS_SLOT_CONFIRMED && last.slot == slot))
        return status;
    if (plan->header->security_version > last.version)
        last.version = plan->header->security_version;
    return is_same ? tigris_slot_log_append(model, &last, TIGRIS_SLOT_CONFIRMED, slot) : TIGRIS_ERR_OTHER_MODEL;
}
