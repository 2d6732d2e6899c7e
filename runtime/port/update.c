/* tigris_update_...: writes a new plan to the slot that is not in use, and commits it. */
#include <string.h>

#include "../src/crc32.h"
#include "signature.h"
#include "slots.h"
#include "tigris_update.h"

/* tigris_update.step. */
enum { IDLE, WRITING, VERIFIED, FAILED };

TIGRIS_STATIC_ASSERT(sizeof(tigris_header_record) <= TIGRIS_UPDATE_PAGE, header_in_first_page);
TIGRIS_STATIC_ASSERT(TIGRIS_FLASH_SECTOR % TIGRIS_UPDATE_PAGE == 0U, whole_pages);

/* Whether the slot's plan opens. If so, its security version becomes the smallest that opens from now on. */
static int can_open(const tigris_model *model, uint32_t slot, int force_checksum, tigris_slot_entry *last)
{
    tigris_plan plan;
    const int is_open = tigris_slot_open(model, slot, force_checksum, last->version, &plan) == TIGRIS_OK;
    if (is_open)
        last->version = plan.header->security_version;
    tigris_model_close(&plan);
    return is_open;
}

tigris_status tigris_update_begin(tigris_update *update, const tigris_model *model)
{
    tigris_slot_entry last;
    if (update == NULL || model == NULL)
        return TIGRIS_ERR_ARGUMENT;
    memset(update, 0, sizeof *update);
    if (model->slots == NULL)
        return TIGRIS_ERR_NO_SLOTS;
    tigris_status status = tigris_slot_log_read(model, &last);
    if (status != TIGRIS_OK)
        return status;
    if (last.kind == TIGRIS_SLOT_TRIED)
        return TIGRIS_ERR_UNCONFIRMED;
    uint32_t kept = last.kind == TIGRIS_SLOT_PENDING ? 1U - last.slot : last.slot;
    /* If the kept plan does not open and the other one does, tigris_model_open opens the other one: keep that. */
    if (!can_open(model, kept, 0, &last) && can_open(model, 1U - kept, 1, &last))
        kept = 1U - kept;
    /* No record may name the other slot while it is written. Append one even if the last record is right: a cut-off
     * record after it may read as valid the next time. */
    status = tigris_slot_log_append(model, &last, TIGRIS_SLOT_CONFIRMED, kept);
    if (status != TIGRIS_OK)
        return status;
    update->model = model;
    update->slot = 1U - kept;
    update->version = last.version;
    update->step = WRITING;
    return TIGRIS_OK;
}

/* Checks the plan's header, which is at the start of the page, before anything is erased. */
static tigris_status check_header(tigris_update *update)
{
    tigris_header_record header;
    memcpy(&header, update->page, sizeof header);
    if (memcmp(header.magic, "TGRS", sizeof header.magic) != 0)
        return TIGRIS_ERR_NOT_A_PLAN;
    if (header.version != TIGRIS_FORMAT_VERSION)
        return TIGRIS_ERR_VERSION;
    if (header.header_bytes != sizeof header || header.total_bytes < sizeof header)
        return TIGRIS_ERR_DAMAGED;
    if (!tigris_fits_with_trailer(header.total_bytes, update->model->slots->bytes))
        return TIGRIS_ERR_SLOT_TOO_SMALL;
    if (strncmp(header.name, update->model->name, sizeof header.name) != 0)
        return TIGRIS_ERR_OTHER_MODEL;
    if (header.security_version < update->version)
        return TIGRIS_ERR_ROLLBACK;
    update->total_bytes = header.total_bytes;
    update->expected_crc32 = header.crc32;
    return TIGRIS_OK;
}

/* Programs the page, whose first `filled` bytes are the plan's or its signature's. Erases the sector first if the page
 * is its first. */
static tigris_status write_page(tigris_update *update, uint32_t filled)
{
    const tigris_model *model = update->model;
    const uint32_t start = update->received_bytes - filled;
    const uint32_t skipped = start == 0U ? TIGRIS_CRC_COVERS_FROM : 0U;
    const uint32_t offset = tigris_slot_offset(model, update->slot) + start;
    tigris_status status = start == 0U ? check_header(update) : TIGRIS_OK;
    if (status == TIGRIS_OK && update->received_bytes > update->total_bytes + sizeof(tigris_signature_record))
        status = TIGRIS_ERR_DAMAGED;
    if (status == TIGRIS_OK && start % TIGRIS_FLASH_SECTOR == 0U)
        status = model->slots->flash->erase(model->partition, offset);
    if (status != TIGRIS_OK)
        return status;
    uint8_t *bytes = (uint8_t *)update->page;
    memset(bytes + filled, 0xFF, TIGRIS_UPDATE_PAGE - filled);
    const uint32_t rest = start < update->total_bytes ? update->total_bytes - start : 0U; /* of the plan */
    update->crc32 = tigris_crc32_append(update->crc32, bytes + skipped, (rest < filled ? rest : filled) - skipped);
    return model->slots->flash->program(model->partition, offset, bytes, TIGRIS_UPDATE_PAGE);
}

static tigris_status add_bytes(tigris_update *update, const uint8_t *data, size_t bytes)
{
    while (bytes > 0U) {
        const uint32_t filled = update->received_bytes % TIGRIS_UPDATE_PAGE;
        const uint32_t room = TIGRIS_UPDATE_PAGE - filled;
        const uint32_t count = bytes < room ? (uint32_t)bytes : room;
        /* Also keeps received_bytes from wrapping. */
        if (update->received_bytes >= update->model->slots->bytes)
            return update->total_bytes == 0U ? TIGRIS_ERR_SLOT_TOO_SMALL : TIGRIS_ERR_DAMAGED;
        memcpy((uint8_t *)update->page + filled, data, count);
        update->received_bytes += count;
        data += count;
        bytes -= count;
        const tigris_status status = count == room ? write_page(update, TIGRIS_UPDATE_PAGE) : TIGRIS_OK;
        if (status != TIGRIS_OK)
            return status;
    }
    return TIGRIS_OK;
}

tigris_status tigris_update_write(tigris_update *update, const void *data, size_t bytes)
{
    if (update == NULL || (data == NULL && bytes > 0U))
        return TIGRIS_ERR_ARGUMENT;
    if (update->step != WRITING)
        return TIGRIS_ERR_ORDER;
    const tigris_status status = add_bytes(update, data, bytes);
    if (status != TIGRIS_OK)
        update->step = FAILED;
    return status;
}

/* Writes the rest of the plan, then opens the whole plan in flash with its checksum. */
static tigris_status verify_plan(tigris_update *update)
{
    tigris_plan plan;
    const uint32_t rest = update->received_bytes % TIGRIS_UPDATE_PAGE;
    if (update->received_bytes < sizeof(tigris_header_record))
        return TIGRIS_ERR_TRUNCATED;
    tigris_status status = rest > 0U ? write_page(update, rest) : TIGRIS_OK;
    if (status != TIGRIS_OK)
        return status;
    if (update->received_bytes < update->total_bytes)
        return TIGRIS_ERR_TRUNCATED;
    const uint32_t behind = update->received_bytes - update->total_bytes;
    if (update->crc32 != update->expected_crc32 || (behind != 0U && behind != sizeof(tigris_signature_record)))
        return TIGRIS_ERR_DAMAGED;
    status = tigris_slot_open(update->model, update->slot, 1, update->version, &plan);
    tigris_model_close(&plan);
    /* The checksum of the received bytes was right, so the flash is at fault. */
    return status == TIGRIS_ERR_DAMAGED ? TIGRIS_ERR_FLASH : status;
}

tigris_status tigris_update_finish(tigris_update *update)
{
    if (update == NULL)
        return TIGRIS_ERR_ARGUMENT;
    if (update->step != WRITING)
        return TIGRIS_ERR_ORDER;
    const tigris_status status = verify_plan(update);
    update->step = status == TIGRIS_OK ? VERIFIED : FAILED;
    return status;
}

tigris_status tigris_update_commit(tigris_update *update)
{
    tigris_slot_entry last;
    if (update == NULL)
        return TIGRIS_ERR_ARGUMENT;
    if (update->step != VERIFIED)
        return TIGRIS_ERR_ORDER;
    update->step = FAILED;
    tigris_status status = tigris_slot_log_read(update->model, &last);
    if (status != TIGRIS_OK)
        return status;
    /* Another update of the model was committed after this one began. */
    if (last.kind != TIGRIS_SLOT_CONFIRMED || last.slot == update->slot)
        return TIGRIS_ERR_ORDER;
    status = tigris_slot_log_append(update->model, &last, TIGRIS_SLOT_PENDING, update->slot);
    if (status == TIGRIS_OK)
        update->step = IDLE;
    return status;
}

tigris_status tigris_update_abort(tigris_update *update)
{
    tigris_slot_entry last;
    if (update == NULL)
        return TIGRIS_ERR_ARGUMENT;
    const int is_written = update->step != IDLE && update->total_bytes > 0U;
    update->step = IDLE;
    if (!is_written)
        return TIGRIS_OK;
    const tigris_model *model = update->model;
    tigris_status status = tigris_slot_log_read(model, &last);
    /* A commit that failed may have written its record. */
    if (status == TIGRIS_OK && last.kind == TIGRIS_SLOT_PENDING && last.slot == update->slot)
        status = tigris_slot_log_append(model, &last, TIGRIS_SLOT_CONFIRMED, 1U - update->slot);
    if (status != TIGRIS_OK)
        return status;
    return model->slots->flash->erase(model->partition, tigris_slot_offset(model, update->slot));
}
