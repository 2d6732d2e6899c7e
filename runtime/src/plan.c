/* tigris_plan_open: checks a plan's structure against its own size and the arena sizes that it declares.
 *
 * Every field is checked before use and no sum can overflow, so the input may be any bytes. tigris_session_bind checks
 * what needs kernels (parameters) or memory (the proof that every band finds its rows). */
#include <string.h>

#include "extents.h"
#include "records.h"

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "plans are little-endian and read in place: this processor is not supported"
#endif

#define LARGEST_ALIGNMENT 4096U
#define MAGIC UINT32_C(0x53524754) /* "TGRS" */

static tigris_status check_header(const tigris_header_record *header, size_t bytes)
{
    if (*(const uint32_t *)(const void *)header->magic != MAGIC) {
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
    if (header->total_bytes < sizeof *header || (header->flags & ~TIGRIS_HEADER_FLAGS) != 0U ||
        header->state_bytes > header->fast_bytes || header->fast_reserved > header->fast_bytes) {
        return TIGRIS_ERR_SECTION;
    }
    return header->name[sizeof header->name - 1U] == '\0' ? TIGRIS_OK : TIGRIS_ERR_STRING;
}

/* The header lists the sections as pairs (offset, count), the plan as pointers, both in the order of the
 * enumeration. */
#define FIRST_SECTION offsetof(tigris_header_record, strings)
#define FIRST_POINTER offsetof(tigris_plan, strings)
enum { STRINGS, TENSORS, IO, STAGES, VIEWS, OPS, OPERANDS, PARAMS, WEIGHTS, SECTION_COUNT };

#define ASSERT_ORDER(index, name)                                                                                      \
    TIGRIS_STATIC_ASSERT(offsetof(tigris_header_record, name) == FIRST_SECTION + (index) * 2U * sizeof(uint32_t),      \
                         name##_in_header);                                                                            \
    TIGRIS_STATIC_ASSERT(offsetof(tigris_plan, name) == FIRST_POINTER + (index) * sizeof(void *), name##_in_plan)
ASSERT_ORDER(TENSORS, tensors);
ASSERT_ORDER(IO, io);
ASSERT_ORDER(STAGES, stages);
ASSERT_ORDER(VIEWS, views);
ASSERT_ORDER(OPS, ops);
ASSERT_ORDER(OPERANDS, operands);
ASSERT_ORDER(PARAMS, params);
ASSERT_ORDER(WEIGHTS, weights);

/* Sets the plan's pointers to its sections. Refuses a section that is misaligned or reaches outside the file. */
static tigris_status find_sections(tigris_plan *plan, const tigris_header_record *header)
{
    static const uint8_t record_bytes[SECTION_COUNT] = {
        1U, sizeof *plan->tensors, sizeof *plan->io, sizeof *plan->stages, sizeof *plan->views,
        sizeof *plan->ops, sizeof *plan->operands, 1U, 1U};
    const uint32_t *pair = (const uint32_t *)(const void *)(plan->base + FIRST_SECTION);
    for (uint32_t i = 0; i < SECTION_COUNT; i++, pair += 2) {
        const uint32_t offset = pair[0];
        const uint32_t count = i == IO ? (uint32_t)header->input_count + header->output_count : pair[1];
        const uint32_t bytes = tigris_multiply(count, record_bytes[i]);
        if (offset % TIGRIS_SECTION_ALIGNMENT != 0U || offset < sizeof *header ||
            !tigris_fits(offset, bytes, header->total_bytes)) {
            return TIGRIS_ERR_SECTION;
        }
        const uint8_t *address = plan->base + offset;
        memcpy((uint8_t *)plan + FIRST_POINTER + i * sizeof address, (const void *)&address, sizeof address);
    }
    /* If the section's last byte is zero, a string at any offset in it is terminated. */
    if (header->strings_bytes != 0U && plan->strings[header->strings_bytes - 1U] != '\0') {
        return TIGRIS_ERR_STRING;
    }
    return TIGRIS_OK;
}

tigris_status tigris_plan_open(tigris_plan *plan, const void *data, size_t bytes)
{
    if (plan == NULL || data == NULL) {
        return TIGRIS_ERR_ARGUMENT;
    }
    plan->fault.stage = plan->fault.op = plan->fault.tensor = TIGRIS_NOWHERE;
    const tigris_header_record *header = data;
    tigris_status status = TIGRIS_ERR_NOT_A_PLAN;
    if ((uintptr_t)data % TIGRIS_SECTION_ALIGNMENT != 0U) {
        status = TIGRIS_ERR_PLAN_ADDRESS;
    } else if (bytes >= sizeof *header) {
        status = check_header(header, bytes);
    }
    plan->base = data;
    plan->header = header;
    if (status == TIGRIS_OK) {
        status = find_sections(plan, header);
    }
    if (status == TIGRIS_OK) {
        status = tigris_check_records(plan);
    }
    if (status != TIGRIS_OK) {
        memset(plan, 0, offsetof(tigris_plan, fault));
    }
    plan->fault.status = status;
    return status;
}
