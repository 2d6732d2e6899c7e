/* libFuzzer target: plans with damaged records.
 *
 * The mutator knows the format: most of the time it changes one aligned word or half-word of a record, so
 * that the rest of the plan stays valid and the checks behind the first are reached: to a value that is likely
 * to hurt, to the same field of another record, or to another value wherever the old one occurs (a height is
 * written in a tensor, its views, its operands and its parameters). The checksum is set right again, as a plan's maker would. */
#include <string.h>

#include "crc32.h"
#include "run_plan.h"

size_t LLVMFuzzerMutate(uint8_t *data, size_t bytes, size_t capacity);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t bytes, size_t capacity, unsigned int seed);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

static uint32_t next_random(uint32_t *state)
{
    *state = *state * 1664525U + 1013904223U;
    return *state >> 8;
}

static uint32_t awkward_value(uint32_t old, uint32_t *state)
{
    static const uint32_t values[] = {0U,     1U,      2U,       3U,          4U,          7U,          8U,
                                      15U,    16U,     31U,      32U,         127U,        128U,        255U,
                                      256U,   0x7FFFU, 0x8000U,  0xFFFFU,     0x10000U,    0x7FFFFFFFU, 0x80000000U,
                                      1024U,  4096U,   0x40000U, 0xFFFFFFFFU, 0xFFFFFFF0U, 0xFFFFFF80U, 0x3F800000U};
    const uint32_t choice = next_random(state) % 8U;
    switch (choice) {
    case 0:
        return old + 1U;
    case 1:
        return old - 1U;
    case 2:
        return old ^ 1U << next_random(state) % 32U;
    case 3:
        return old + 16U * (next_random(state) % 9U) - 64U;
    case 4:
        return next_random(state) % 64U;
    default:
        return values[next_random(state) % (sizeof values / sizeof values[0])];
    }
}

typedef struct section {
    uint32_t offset;
    uint32_t bytes;
    uint32_t record_bytes;
} section;

#define SECTIONS 10U

/* Where the header says that records lie, whether true or not; the last one is the whole file. */
static void list_sections(const uint8_t *data, size_t bytes, section found[SECTIONS])
{
    tigris_header_record h;
    memcpy(&h, data, sizeof h);
    const uint32_t io_count = (uint32_t)h.input_count + h.output_count;
    const section sections[SECTIONS] = {
        {0U, (uint32_t)sizeof h, (uint32_t)sizeof h},
        {h.tensors, h.tensor_count * (uint32_t)sizeof(tigris_tensor_record), (uint32_t)sizeof(tigris_tensor_record)},
        {h.io, io_count * (uint32_t)sizeof(tigris_io_record), (uint32_t)sizeof(tigris_io_record)},
        {h.stages, h.stage_count * (uint32_t)sizeof(tigris_stage_record), (uint32_t)sizeof(tigris_stage_record)},
        {h.views, h.view_count * (uint32_t)sizeof(tigris_view_record), (uint32_t)sizeof(tigris_view_record)},
        {h.ops, h.op_count * (uint32_t)sizeof(tigris_op_record), (uint32_t)sizeof(tigris_op_record)},
        {h.operands, h.operand_count * (uint32_t)sizeof(tigris_operand_record),
         (uint32_t)sizeof(tigris_operand_record)},
        {h.params, h.params_bytes, 4U},
        {h.weights, h.weights_bytes, 1U},
        {0U, (uint32_t)bytes, 1U},
    };
    memcpy(found, sections, sizeof sections);
    for (uint32_t i = 0; i < SECTIONS; i++)
        if (found[i].offset >= bytes || found[i].bytes == 0U || found[i].bytes > bytes - found[i].offset)
            found[i] = found[SECTIONS - 1U];
}

static uint32_t read_word(const uint8_t *at, uint32_t width)
{
    uint32_t value = 0U;
    memcpy(&value, at, width);
    return value;
}

/* The same field of another record of its section; the field itself when there is none. */
static uint32_t same_field(const uint8_t *data, const section *where, uint32_t offset, uint32_t width, uint32_t *state)
{
    const uint32_t records = where->bytes / where->record_bytes;
    const uint32_t field = (offset - where->offset) % where->record_bytes;
    if (records == 0U || field + width > where->record_bytes)
        return read_word(data + offset, width);
    const uint32_t other = next_random(state) % records;
    return read_word(data + where->offset + other * where->record_bytes + field, width);
}

/* Writes `value` wherever a record or parameter holds `old`. */
static void change_everywhere(uint8_t *data, const section sections[SECTIONS], uint32_t width, uint32_t old,
                              uint32_t value)
{
    for (uint32_t i = 1U; i < SECTIONS - 2U; i++) {
        const uint32_t end = sections[i].offset + sections[i].bytes;
        for (uint32_t at = sections[i].offset & ~(width - 1U); at + width <= end; at += width)
            if (read_word(data + at, width) == old)
                memcpy(data + at, &value, width);
    }
}

static void change_value(uint8_t *data, size_t bytes, uint32_t *state)
{
    section sections[SECTIONS];
    list_sections(data, bytes, sections);
    const section *where = &sections[next_random(state) % SECTIONS];
    const uint32_t width = 1U << next_random(state) % 3U;
    const uint32_t offset = (where->offset + next_random(state) % where->bytes) & ~(width - 1U);
    if (offset + width > bytes)
        return;
    const uint32_t old = read_word(data + offset, width);
    const uint32_t choice = next_random(state) % 8U;
    const uint32_t value = choice == 0U && offset >= where->offset ? same_field(data, where, offset, width, state)
                                                                   : awkward_value(old, state);
    if (choice == 1U && old > 1U)
        change_everywhere(data, sections, width, old, value);
    memcpy(data + offset, &value, width);
}

static void correct_header(uint8_t *data, size_t bytes)
{
    tigris_header_record header;
    memcpy(&header, data, sizeof header);
    if (header.total_bytes <= bytes && header.total_bytes >= sizeof header) {
        header.crc32 = tigris_crc32(data + TIGRIS_CRC_COVERS_FROM, header.total_bytes - TIGRIS_CRC_COVERS_FROM);
        memcpy(data, &header, sizeof header);
    }
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t bytes, size_t capacity, unsigned int seed)
{
    uint32_t state = seed;
    if (bytes < sizeof(tigris_header_record) || next_random(&state) % 16U == 0U)
        return LLVMFuzzerMutate(data, bytes, capacity);
    const uint32_t changes = 1U + next_random(&state) % 3U;
    for (uint32_t i = 0; i < changes; i++)
        change_value(data, bytes, &state);
    correct_header(data, bytes);
    return bytes;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    (void)run_plan(data, bytes, NULL);
    return 0;
}
