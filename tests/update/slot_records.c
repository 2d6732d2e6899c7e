/* Which records of a model's slots count: what a cut leaves, numbers that begin again, and any other content.
 *
 * Prints the cases that hold, one a line; status 1 and a sentence at the first demand that does not. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nor.h"
#include "slot_log.h"
#include "tigris_models.h"

#define PER_SECTOR ((uint32_t)TIGRIS_SLOT_RECORDS_PER_SECTOR)
#define DEMAND(holds) demand((holds), #holds, __LINE__)

static tigris_model model;
static tigris_slot_state state;

static void demand(int holds, const char *what, int line)
{
    if (!holds) {
        printf("slot_records.c:%d: %s does not hold\n", line, what);
        exit(1);
    }
}

static tigris_slot_record *record_at(uint32_t place)
{
    return (tigris_slot_record *)(void *)(nor.bytes + model.offset - TIGRIS_SLOT_RECORDS_BYTES) + place;
}

static void flash_anew(void)
{
    memset(&nor, 0, sizeof nor);
    memset(nor.bytes, 0xFF, sizeof nor.bytes);
    model = TIGRIS_MODEL_TINY;
    nor_start(UINT32_MAX, NOR_AFTER);
}

static void read_log(void)
{
    DEMAND(tigris_slot_log_read(&model, &state) == TIGRIS_OK);
}

static void append(tigris_slot_stage stage, uint32_t slot)
{
    DEMAND(tigris_slot_log_append(&model, &state, stage, slot) == TIGRIS_OK);
}

static void records_are_read_as_written(void)
{
    read_log();
    DEMAND(state.place == UINT32_MAX && state.stage == TIGRIS_SLOT_CONFIRMED && state.slot == 0U);
    for (uint32_t i = 0; i < 5U * PER_SECTOR; i++) {
        const tigris_slot_stage stage = (tigris_slot_stage)(1U + i % 3U);
        append(stage, i / 3U % 2U);
        read_log();
        DEMAND(state.stage == stage && state.slot == i / 3U % 2U && state.place == i % (2U * PER_SECTOR));
    }
}

static void numbers_begin_again(void)
{
    read_log();
    state.number = UINT32_MAX - 200U;
    for (uint32_t i = 0; i < 4U * PER_SECTOR; i++) {
        append(TIGRIS_SLOT_CONFIRMED, i % 2U);
        read_log();
        DEMAND(state.slot == i % 2U && state.place == i % (2U * PER_SECTOR));
    }
}

/* Whatever two sectors say, the next record is the last. */
static void numbers_that_are_far_apart(void)
{
    static const uint32_t numbers[] = {0U, 1U, 511U, 512U, 513U, 0x7FFFFFFEU, 0x7FFFFFFFU, 0x80000000U, 0x80000001U,
                                       0xFFFFFE00U, 0xFFFFFDFFU, UINT32_MAX};
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        for (uint32_t first = 0; first < 2U; first++) {
            flash_anew();
            read_log();
            append(TIGRIS_SLOT_PENDING, 0U);
            const tigris_slot_record one = *record_at(0U);
            memset(record_at(0U), 0xFF, sizeof one);
            state.place = UINT32_MAX;
            state.number = numbers[i] - 256U + one.number;
            append(TIGRIS_SLOT_PENDING, 0U);
            const tigris_slot_record two = *record_at(0U);
            *record_at(first * PER_SECTOR) = one;
            *record_at((1U - first) * PER_SECTOR) = two;
            for (uint32_t more = 0; more < 3U * PER_SECTOR; more++) {
                read_log();
                append(TIGRIS_SLOT_CONFIRMED, more % 2U);
                const uint32_t place = state.place;
                read_log();
                DEMAND(state.place == place && state.stage == TIGRIS_SLOT_CONFIRMED && state.slot == more % 2U);
            }
        }
}

/* Sets one bit that was to be cleared: what a cut may leave. */
static void tear(tigris_slot_record *record, uint32_t bit)
{
    uint8_t *bytes = (uint8_t *)record;
    bytes[bit / 8U] = (uint8_t)(bytes[bit / 8U] | 1U << bit % 8U);
}

static void a_bit_that_is_missing(void)
{
    read_log();
    append(TIGRIS_SLOT_CONFIRMED, 1U);
    append(TIGRIS_SLOT_PENDING, 0U);
    const tigris_slot_record whole = *record_at(1U);
    for (uint32_t bit = 0; bit < 256U; bit++) {
        *record_at(1U) = whole;
        tear(record_at(1U), bit);
        if (memcmp(record_at(1U), &whole, sizeof whole) == 0)
            continue;
        read_log();
        DEMAND(state.place == 0U && state.stage == TIGRIS_SLOT_CONFIRMED && state.slot == 1U);
        append(TIGRIS_SLOT_TRIED, 0U);
        DEMAND(state.place == 2U);
        memset(record_at(2U), 0xFF, sizeof whole);
    }
}

/* A checksum that fits by chance: what differs from the whole record are bits that were to be cleared. */
static void a_checksum_that_fits_a_torn_record(void)
{
    read_log();
    append(TIGRIS_SLOT_CONFIRMED, 1U);
    append(TIGRIS_SLOT_PENDING, 0U);
    const tigris_slot_record other = *record_at(1U);
    append(TIGRIS_SLOT_TRIED, 0U);
    memcpy(record_at(2U), &other, 16U);
    read_log();
    DEMAND(state.place == 1U && state.stage == TIGRIS_SLOT_PENDING);
}

/* A record that was cut off in a full sector, is not believed, and reads as valid when the other sector has the next. */
static void a_record_that_comes_back(void)
{
    for (uint32_t cut = PER_SECTOR - 3U; cut < PER_SECTOR; cut++) {
        static tigris_slot_record torn[3];
        flash_anew();
        read_log();
        for (uint32_t i = 0; i < cut; i++)
            append(TIGRIS_SLOT_CONFIRMED, 0U);
        for (uint32_t i = cut; i < PER_SECTOR; i++) {
            append(TIGRIS_SLOT_PENDING, 1U);
            torn[i - cut] = *record_at(i);
            tear(record_at(i), 0U);
        }
        for (uint32_t i = cut; i < PER_SECTOR; i++)
            for (uint32_t bit = 0; bit < 8U; bit++)
                tear(record_at(i), bit);
        read_log();
        DEMAND(state.place == cut - 1U);
        append(TIGRIS_SLOT_CONFIRMED, 1U);
        DEMAND(state.place == PER_SECTOR);
        for (uint32_t i = cut; i < PER_SECTOR; i++)
            *record_at(i) = torn[i - cut];
        read_log();
        DEMAND(state.place == PER_SECTOR && state.stage == TIGRIS_SLOT_CONFIRMED && state.slot == 1U);
    }
}

static void flash_of_one_value_holds_no_record(void)
{
    for (int value = 0; value < 256; value++) {
        memset(record_at(0U), value, TIGRIS_SLOT_RECORDS_BYTES);
        read_log();
        DEMAND(state.place == UINT32_MAX && state.slot == 0U);
        append(TIGRIS_SLOT_PENDING, 1U);
        read_log();
        DEMAND(state.stage == TIGRIS_SLOT_PENDING && state.slot == 1U);
    }
}

static const struct {
    const char *name;
    void (*run)(void);
} cases[] = {
#define CASE(name) {#name, name}
    CASE(records_are_read_as_written),
    CASE(numbers_begin_again),
    CASE(numbers_that_are_far_apart),
    CASE(a_bit_that_is_missing),
    CASE(a_checksum_that_fits_a_torn_record),
    CASE(a_record_that_comes_back),
    CASE(flash_of_one_value_holds_no_record),
};

int main(void)
{
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        flash_anew();
        cases[i].run();
        printf("%s\n", cases[i].name);
    }
    return 0;
}
