/* libFuzzer target: plans with damaged records.
 *
 * The mutator knows the format: most of the time it changes one aligned word or half-word of a record
 * to a value that is likely to hurt, so that the rest of the plan stays valid and the checks behind the
 * first are reached. The checksum is set right again, as a plan's maker would. */
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

/* A byte offset to change: in the header, in a record section, or anywhere. */
static uint32_t choose_offset(const tigris_header_record *header, uint32_t bytes, uint32_t *state)
{
    const uint32_t io = (uint32_t)header->input_count + header->output_count;
    const struct {
        uint32_t offset;
        uint32_t bytes;
    } sections[] = {
        {0U, (uint32_t)sizeof *header},
        {header->tensors, header->tensor_count * (uint32_t)sizeof(tigris_tensor_record)},
        {header->io, io * (uint32_t)sizeof(tigris_io_record)},
        {header->stages, header->stage_count * (uint32_t)sizeof(tigris_stage_record)},
        {header->views, header->view_count * (uint32_t)sizeof(tigris_view_record)},
        {header->ops, header->op_count * (uint32_t)sizeof(tigris_op_record)},
        {header->operands, header->operand_count * (uint32_t)sizeof(tigris_operand_record)},
        {header->params, header->params_bytes},
        {header->weights, header->weights_bytes},
        {0U, bytes},
    };
    const uint32_t choice = next_random(state) % (uint32_t)(sizeof sections / sizeof sections[0]);
    const uint32_t length = sections[choice].bytes == 0U ? 1U : sections[choice].bytes;
    return (sections[choice].offset + next_random(state) % length) % bytes;
}

static void change_value(uint8_t *data, size_t bytes, uint32_t *state)
{
    tigris_header_record header;
    memcpy(&header, data, sizeof header);
    const uint32_t width = 1U << next_random(state) % 3U;
    const uint32_t offset = choose_offset(&header, (uint32_t)bytes, state) & ~(width - 1U);
    uint32_t value = 0U;
    if (offset + width <= bytes) {
        memcpy(&value, data + offset, width);
        value = awkward_value(value, state);
        memcpy(data + offset, &value, width);
    }
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
    if (bytes < sizeof(tigris_header_record) || next_random(&state) % 16U == 0U) {
        return LLVMFuzzerMutate(data, bytes, capacity);
    }
    const uint32_t changes = 1U + next_random(&state) % 3U;
    for (uint32_t i = 0; i < changes; i++) {
        change_value(data, bytes, &state);
    }
    correct_header(data, bytes);
    return bytes;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    int ran;
    (void)run_plan(data, bytes, &ran);
    return 0;
}
