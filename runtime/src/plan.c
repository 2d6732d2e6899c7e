/* tigris_plan_open: checks a plan's structure against its own size and the arena sizes it declares.
 *
 * Everything is checked before it is used and no sum can overflow, so any bytes may be opened.
 * What depends on the kernels (parameters) or needs memory (the proof that every band finds its
 * rows) is left to tigris_session_init. */
#include "plan.h"

#include <string.h>

#include "records.h"

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "plans are little-endian and read in place: this processor is not supported"
#endif

#define LARGEST_ALIGNMENT 4096U

uint32_t tigris_dtype_bytes(uint32_t dtype)
{
    static const uint8_t bytes[] = {0, 1, 1, 2, 4, 8, 4, 1};
    return dtype < sizeof bytes ? bytes[dtype] : 0U;
}

static uint32_t multiply(uint32_t a, uint32_t b)
{
    const uint64_t product = (uint64_t)a * b;
    return product > UINT32_MAX ? 0U : (uint32_t)product;
}

uint32_t tigris_tensor_bytes(const tigris_tensor_record *tensor)
{
    const uint32_t row = multiply(multiply(tensor->width, tensor->channels), tigris_dtype_bytes(tensor->dtype));
    /* A folded tensor's rows are counted too: no row number may overflow. */
    const uint32_t all_rows = multiply(multiply(row, tensor->height), tensor->batch);
    return tigris_is_folded(tensor) && all_rows != 0U ? row : all_rows;
}

static tigris_status check_header(const tigris_header_record *header, size_t bytes)
{
    if (memcmp(header->magic, "TGRS", sizeof header->magic) != 0) {
        return TIGRIS_ERR_NOT_A_PLAN;
    }
    if (header->version != TIGRIS_FORMAT_VERSION || header->header_bytes != sizeof *header) {
        return TIGRIS_ERR_VERSION;
    }
    if (header->total_bytes > bytes) {
        return TIGRIS_ERR_TRUNCATED;
    }
    const uint32_t alignment = header->alignment;
    if (alignment < sizeof(int32_t) || alignment > LARGEST_ALIGNMENT || (alignment & (alignment - 1U)) != 0U ||
        alignment % TIGRIS_TENSOR_ALIGN != 0U) {
        return TIGRIS_ERR_ALIGNMENT;
    }
    if (header->total_bytes < sizeof *header || (header->flags & ~(uint32_t)TIGRIS_HEADER_FLAG_XIP) != 0U ||
        header->state_bytes > header->fast_bytes || header->fast_reserved > header->fast_bytes) {
        return TIGRIS_ERR_SECTION;
    }
    return header->name[sizeof header->name - 1U] == '\0' ? TIGRIS_OK : TIGRIS_ERR_STRING;
}

/* The section's address; NULL when it is misaligned or leaves the file. */
static const void *section(const tigris_header_record *header, uint32_t offset, uint32_t count, uint32_t record_bytes)
{
    const uint64_t bytes = (uint64_t)count * record_bytes;
    if (offset % TIGRIS_SECTION_ALIGNMENT != 0U || offset < sizeof *header || offset > header->total_bytes ||
        bytes > header->total_bytes - offset) {
        return NULL;
    }
    return (const uint8_t *)header + offset;
}

static tigris_status find_sections(tigris_plan *plan, const tigris_header_record *h)
{
    const uint32_t io_count = (uint32_t)h->input_count + h->output_count;
    plan->strings = section(h, h->strings, h->strings_bytes, 1U);
    plan->tensors = section(h, h->tensors, h->tensor_count, sizeof *plan->tensors);
    plan->io = section(h, h->io, io_count, sizeof *plan->io);
    plan->stages = section(h, h->stages, h->stage_count, sizeof *plan->stages);
    plan->views = section(h, h->views, h->view_count, sizeof *plan->views);
    plan->ops = section(h, h->ops, h->op_count, sizeof *plan->ops);
    plan->operands = section(h, h->operands, h->operand_count, sizeof *plan->operands);
    plan->params = section(h, h->params, h->params_bytes, 1U);
    plan->weights = section(h, h->weights, h->weights_bytes, 1U);
    if (plan->strings == NULL || plan->tensors == NULL || plan->io == NULL || plan->stages == NULL ||
        plan->views == NULL || plan->ops == NULL || plan->operands == NULL || plan->params == NULL ||
        plan->weights == NULL) {
        return TIGRIS_ERR_SECTION;
    }
    /* With the last byte zero, every offset inside the section is a terminated string. */
    if (h->strings_bytes != 0U && plan->strings[h->strings_bytes - 1U] != '\0') {
        return TIGRIS_ERR_STRING;
    }
    return TIGRIS_OK;
}

tigris_status tigris_plan_open(tigris_plan *plan, const void *data, size_t bytes)
{
    if (plan == NULL || data == NULL) {
        return TIGRIS_ERR_ARGUMENT;
    }
    memset(plan, 0, sizeof *plan);
    if ((uintptr_t)data % TIGRIS_SECTION_ALIGNMENT != 0U) {
        return TIGRIS_ERR_PLAN_ADDRESS;
    }
    const tigris_header_record *header = data;
    if (bytes < sizeof *header) {
        return TIGRIS_ERR_NOT_A_PLAN;
    }
    tigris_plan opened = {0};
    opened.base = data;
    opened.header = header;
    tigris_status status = check_header(header, bytes);
    if (status == TIGRIS_OK) {
        status = find_sections(&opened, header);
    }
    if (status == TIGRIS_OK) {
        status = tigris_check_records(&opened);
    }
    if (status == TIGRIS_OK) {
        *plan = opened;
    }
    return status;
}
