/* tigris_model_open and tigris_model_close: a model's plan in its flash partition. */
#include <string.h>

#include "../src/crc32.h"
#include "../src/records.h"
#include "model.h"
#include "signature.h"

/* Whether all bytes are 0xFF, as erased flash reads. */
static int is_erased(const void *data, size_t bytes)
{
    const uint8_t *byte = data;
    for (size_t i = 0; i < bytes; i++)
        if (byte[i] != 0xFFU)
            return 0;
    return 1;
}

/* The CRC-32 of types, shapes, scales and zero points of the inputs and outputs, in their order: the facts that
 * firmware is compiled with. If `any_scale` is 1, scales and zero points count as 0 and the digest starts from 1, so
 * that the two kinds of digest differ. The compiler computes the same (emit/model_header.py). */
static uint32_t interface_crc32(const tigris_plan *plan, uint32_t any_scale)
{
    const uint32_t count = (uint32_t)plan->header->input_count + plan->header->output_count;
    struct {
        uint32_t before; /* digest of the inputs and outputs so far */
        tigris_io_record io;
        tigris_tensor_record tensor;
    } digested = {0};
    digested.before = any_scale;
    for (uint32_t i = 0; i < count; i++) {
        digested.io = plan->io[i];
        digested.tensor = plan->tensors[digested.io.tensor];
        digested.io.name = 0U;
        digested.io.tensor = 0U;
        digested.io.mover = digested.io.mover != 0U; /* whether it is streamed, not by which operator */
        digested.tensor.name = 0U;
        digested.tensor.home = 0U;
        digested.tensor.home_offset = 0U;
        if (any_scale) {
            digested.tensor.scale = 0.0F;
            digested.tensor.zero_point = 0;
        }
        digested.before = tigris_crc32((const uint8_t *)&digested, sizeof digested);
    }
    return digested.before;
}

/* The status of an erased first sector. An upload writes that sector last, so if the next sector is not erased, the
 * upload was cut short. */
static tigris_status check_unwritten(const tigris_model *model)
{
    uint8_t behind[64];
    const uint32_t offset = model->offset + TIGRIS_FLASH_SECTOR;
    const tigris_status status = tigris_port_read(model->partition, offset, behind, sizeof behind);
    return status != TIGRIS_OK || is_erased(behind, sizeof behind) ? TIGRIS_ERR_PLAN_ABSENT : TIGRIS_ERR_DAMAGED;
}

#define STREAM_FLAGS ((uint32_t)(TIGRIS_HEADER_FLAG_FETCHES | TIGRIS_HEADER_FLAG_TAKES))

/* Checks a copy of the header before the plan is mapped. The checksum does not cover the header's first fields, so
 * damage in them must show here. */
static tigris_status check_header(const tigris_model *model, const tigris_header_record *header)
{
    const int has_magic = memcmp(header->magic, "TGRS", sizeof header->magic) == 0;
    const int has_version = header->version == TIGRIS_FORMAT_VERSION;
    const int has_size = header->header_bytes == sizeof *header;
    if (is_erased(header, sizeof *header))
        return check_unwritten(model);
    if (!has_magic && !(has_version && has_size))
        return TIGRIS_ERR_NOT_A_PLAN;
    if (has_magic && !has_version)
        return TIGRIS_ERR_VERSION;
    /* The weights are the last section, and a gap before a section is shorter than its alignment. */
    const uint32_t gap = header->total_bytes - header->weights - header->weights_bytes;
    const int is_whole = has_magic && has_size && header->total_bytes >= sizeof *header &&
                         gap < TIGRIS_SECTION_ALIGNMENT &&
                         (header->flags & ~TIGRIS_HEADER_FLAGS) == 0U &&
                         tigris_fits_with_trailer(header->total_bytes, UINT32_MAX);
    return is_whole ? TIGRIS_OK : TIGRIS_ERR_DAMAGED;
}

/* Whether the plan is of this model. Called after the checksum, because damage may also change the name. */
static tigris_status check_identity(const tigris_model *model, const tigris_header_record *header)
{
    if (strncmp(header->name, model->name, sizeof header->name) != 0)
        return TIGRIS_ERR_OTHER_MODEL;
    return model->plan_crc32 == 0U || model->plan_crc32 == header->crc32 ? TIGRIS_OK : TIGRIS_ERR_OTHER_MODEL;
}

/* Whether the plan has the inputs, outputs and arenas that the firmware was built for. */
static tigris_status check_fit(const tigris_model *model, const tigris_plan *plan)
{
    if (interface_crc32(plan, 0U) != model->interface_crc32 && interface_crc32(plan, 1U) != model->interface_crc32)
        return TIGRIS_ERR_INTERFACE;
    if (plan->header->fast_bytes > model->fast_bytes)
        return TIGRIS_ERR_FAST_TOO_SMALL;
    return plan->header->slow_bytes > model->slow_bytes ? TIGRIS_ERR_SLOW_TOO_SMALL : TIGRIS_OK;
}

/* The header flags that follow from the inputs and outputs. */
static uint32_t stream_flags(const tigris_plan *plan)
{
    uint32_t flags = 0U;
    for (uint32_t i = 0; i < (uint32_t)plan->header->input_count + plan->header->output_count; i++) {
        if (plan->io[i].mover != 0U)
            flags |= i < plan->header->input_count ? TIGRIS_HEADER_FLAG_FETCHES : TIGRIS_HEADER_FLAG_TAKES;
    }
    return flags;
}

/* Proves the plan's bytes: by their signature in firmware that has a key, else by their checksum. If both are wrong, the
 * plan is damaged. */
static tigris_status check_bytes(const tigris_model *model, const tigris_header_record *header, const uint8_t *data)
{
    const uint32_t covered = header->total_bytes - TIGRIS_CRC_COVERS_FROM;
    tigris_status status = TIGRIS_OK;
#if defined(TIGRIS_SIGNED)
    status = tigris_check_signature(data, (size_t)header->total_bytes + TIGRIS_TRAILER_BYTES);
    if (status == TIGRIS_OK)
        return TIGRIS_OK;
#endif
    if (!model->unchecked && tigris_crc32(data + TIGRIS_CRC_COVERS_FROM, covered) != header->crc32)
        status = TIGRIS_ERR_DAMAGED;
    return status;
}

/* Opens the plan mapped at `data`; `header` is a copy of its header. */
static tigris_status open_mapped(const tigris_model *model, const tigris_header_record *header, const uint8_t *data,
                                 tigris_plan *plan)
{
    tigris_status status = check_bytes(model, header, data);
    if (status == TIGRIS_OK)
        status = check_identity(model, header);
    if (status == TIGRIS_OK)
        status = tigris_plan_open(plan, data, header->total_bytes);
    /* The checksum does not cover the flags. If XIP is set although a stage copies its weights, the flag is damaged. */
    if (status == TIGRIS_ERR_STAGE && (header->flags & TIGRIS_HEADER_FLAG_XIP) != 0U)
        return TIGRIS_ERR_DAMAGED;
    if (status == TIGRIS_OK && (header->flags & STREAM_FLAGS) != stream_flags(plan))
        status = TIGRIS_ERR_DAMAGED;
    if (status == TIGRIS_OK)
        status = check_fit(model, plan);
    if (status != TIGRIS_OK && plan->header != NULL)
        memset(plan, 0, sizeof *plan);
    return status;
}

tigris_status tigris_model_open_at_offset(const tigris_model *model, tigris_plan *plan)
{
    tigris_header_record header;
    const void *data = NULL;
    uint32_t mapping = 0U;
    memset(plan, 0, sizeof *plan);
    tigris_status status = tigris_port_read(model->partition, model->offset, &header, sizeof header);
    if (status == TIGRIS_OK)
        status = check_header(model, &header);
    if (status == TIGRIS_OK)
        status = tigris_port_map_held(model->partition, model->offset,
                                      (size_t)header.total_bytes + TIGRIS_TRAILER_BYTES, &data, &mapping);
    if (status != TIGRIS_OK)
        return status;
    status = open_mapped(model, &header, data, plan);
    if (status == TIGRIS_OK)
        plan->mapping = mapping;
    else
        tigris_port_unmap(mapping);
    return status;
}

tigris_status tigris_model_open(const tigris_model *model, tigris_plan *plan)
{
    if (model == NULL || plan == NULL)
        return TIGRIS_ERR_ARGUMENT;
    return model->slots != NULL ? model->slots->open(model, plan) : tigris_model_open_at_offset(model, plan);
}

void tigris_model_close(tigris_plan *plan)
{
    if (plan == NULL)
        return;
    const uint32_t mapping = plan->mapping;
    memset(plan, 0, sizeof *plan);
    tigris_port_unmap(mapping);
}

/* Defaults for ports that have tigris_port_map only. A compiler without weak symbols needs TIGRIS_PORT_HAS_UNMAP if the
 * port defines these two itself. */
#if defined(__GNUC__)
__attribute__((weak)) tigris_status tigris_port_map_held(const char *label, uint32_t offset, size_t bytes,
                                                         const void **data, uint32_t *handle);
__attribute__((weak)) void tigris_port_unmap(uint32_t handle);
#endif

#if defined(__GNUC__) || !defined(TIGRIS_PORT_HAS_UNMAP)
tigris_status tigris_port_map_held(const char *label, uint32_t offset, size_t bytes, const void **data,
                                   uint32_t *handle)
{
    *handle = 0U;
    return tigris_port_map(label, offset, bytes, data);
}

void tigris_port_unmap(uint32_t handle)
{
    (void)handle;
}
#endif
