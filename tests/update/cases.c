/* Updates step by step: the refusals of each step, the flash after a failed operation, and the valid records.
 *
 * argv: plans 0, 1 and 2 of the model, one with other inputs, one of another model, one of security version 2, one of 0,
 * and one that another key signed. Of firmware that is compiled with TIGRIS_SIGNED all are signed. Prints each case that
 * passes, one a line. The first failed check prints its place and ends the program with status 1. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../runtime/src/crc32.h"
#include "nor.h"
#include "signature.h"
#include "slot_log.h"
#include "slots.h"
#include "tigris_models.h"
#include "tigris_update.h"

#define IS(call, wanted) is((int)(call), (int)(wanted), #call, __LINE__)
#define DEMAND(holds) IS((holds) != 0, 1)
#define PER_SECTOR ((uint32_t)TIGRIS_SLOT_RECORDS_PER_SECTOR)

enum { OTHER_INPUTS = 3, OTHER_NAME = 4, NEWER = 5, OLDER = 6, OTHER_KEY = 7, PLANS };
static const int has_key = TIGRIS_TRAILER_BYTES != 0U;
static image plans[PLANS];
static tigris_model model;
static tigris_update update;
static tigris_plan plan;
static tigris_slot_entry state;

static void is(int found, int wanted, const char *what, int line)
{
    if (found != wanted) {
        printf("cases.c:%d: %s is %d, not %d\n", line, what, found, wanted);
        exit(1);
    }
}

static uint8_t *slot_bytes(uint32_t slot)
{
    return nor.bytes + tigris_slot_offset(&model, slot);
}

static void flash_anew(void)
{
    model = TIGRIS_MODEL_TINY;
    nor_format(tigris_slot_offset(&model, 0), plans[0].bytes, plans[0].size);
}

static tigris_status write_all(const image *from, size_t piece)
{
    tigris_status status = tigris_update_begin(&update, &model);
    for (size_t at = 0; at < from->size && status == TIGRIS_OK; at += piece)
        status = tigris_update_write(&update, from->bytes + at, from->size - at < piece ? from->size - at : piece);
    return status == TIGRIS_OK ? tigris_update_finish(&update) : status;
}

static void commit(const image *from)
{
    IS(write_all(from, from->size), TIGRIS_OK);
    IS(tigris_update_commit(&update), TIGRIS_OK);
}

static int opens(const image *of)
{
    const int is_open = tigris_model_open(&model, &plan) == TIGRIS_OK;
    return is_open && memcmp(plan.base, of->bytes, of->size) == 0;
}

static void read_log(void)
{
    IS(tigris_slot_log_read(&model, &state), TIGRIS_OK);
}

/* ---- updates without a fault ---- */

static void pieces_of_every_size(void)
{
    static const size_t sizes[] = {1, 3, 255, 256, 257, 4096, 4097, 16384};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        flash_anew();
        IS(write_all(&plans[1], sizes[i]), TIGRIS_OK);
        DEMAND(memcmp(slot_bytes(1), plans[1].bytes, plans[1].size) == 0);
        DEMAND(nor_held == 0U);
        IS(tigris_update_commit(&update), TIGRIS_OK);
        DEMAND(opens(&plans[1]));
        IS(tigris_update_confirm(&model, &plan), TIGRIS_OK);
    }
}

static void closing(void)
{
    tigris_plan second;
    DEMAND(opens(&plans[0]));
    IS(tigris_model_open(&model, &second), TIGRIS_OK);
    DEMAND(nor_held == 2U);
    tigris_model_close(&second);
    tigris_model_close(&second);
    tigris_model_close(NULL);
    DEMAND(nor_held == 1U && second.header == NULL && opens(&plans[0]));
    slot_bytes(0)[1000] ^= 1U;
    nor_held = 0U;
    IS(tigris_model_open(&model, &plan), TIGRIS_ERR_DAMAGED);
    DEMAND(nor_held == 0U);
    IS(tigris_plan_open(&second, plans[1].bytes, plans[1].size), TIGRIS_OK);
    tigris_model_close(&second);
    DEMAND(nor_held == 0U && second.header == NULL);
}

/* ---- refusals: wrong order, wrong plan, wrong slot ---- */

static void steps_out_of_order(void)
{
    IS(tigris_update_begin(NULL, &model), TIGRIS_ERR_ARGUMENT);
    IS(tigris_update_begin(&update, NULL), TIGRIS_ERR_ARGUMENT);
    IS(tigris_update_write(&update, "", 0U), TIGRIS_ERR_ORDER);
    IS(tigris_update_finish(&update), TIGRIS_ERR_ORDER);
    IS(tigris_update_commit(&update), TIGRIS_ERR_ORDER);
    IS(tigris_update_abort(&update), TIGRIS_OK);
    IS(tigris_update_begin(&update, &model), TIGRIS_OK);
    IS(tigris_update_write(&update, NULL, 1U), TIGRIS_ERR_ARGUMENT);
    IS(tigris_update_commit(&update), TIGRIS_ERR_ORDER);
    IS(tigris_update_finish(&update), TIGRIS_ERR_TRUNCATED);
    IS(tigris_update_finish(&update), TIGRIS_ERR_ORDER);
    commit(&plans[1]);
    IS(tigris_update_commit(&update), TIGRIS_ERR_ORDER);
    memset(&plan, 0, sizeof plan);
    IS(tigris_update_confirm(&model, &plan), TIGRIS_ERR_ARGUMENT);
    model.slots = NULL;
    IS(tigris_update_begin(&update, &model), TIGRIS_ERR_NO_SLOTS);
    DEMAND(opens(&plans[0]));
    IS(tigris_update_confirm(&model, &plan), TIGRIS_OK);
}

static void two_updates_at_once(void)
{
    static tigris_update first;
    IS(write_all(&plans[1], 100), TIGRIS_OK);
    first = update;
    commit(&plans[2]);
    IS(tigris_update_commit(&first), TIGRIS_ERR_ORDER);
    DEMAND(opens(&plans[2]));
    IS(tigris_update_confirm(&model, &plan), TIGRIS_OK);
    IS(tigris_update_commit(&first), TIGRIS_ERR_ORDER);
    DEMAND(opens(&plans[2]));
}

static tigris_status written(size_t at, uint8_t value)
{
    static image changed;
    changed = plans[1];
    changed.bytes[at] ^= value;
    return write_all(&changed, 300);
}

static void plans_that_are_none(void)
{
    static image longer;
    IS(written(0, 1U), TIGRIS_ERR_NOT_A_PLAN);
    IS(written(4, 8U), TIGRIS_ERR_VERSION);
    IS(written(6, 1U), TIGRIS_ERR_DAMAGED);
    IS(written(14, 1U), TIGRIS_ERR_SLOT_TOO_SMALL);
    DEMAND(slot_bytes(1)[0] == 0xFFU);
    IS(written(12, 1U), has_key || (plans[1].bytes[12] & 1U) != 0U ? TIGRIS_ERR_DAMAGED : TIGRIS_ERR_TRUNCATED);
    IS(written(17, 1U), TIGRIS_ERR_DAMAGED);
    IS(written(plans[1].size - 1U, 1U), has_key ? TIGRIS_ERR_SIGNATURE : TIGRIS_ERR_DAMAGED);
    IS(write_all(&plans[OTHER_INPUTS], 300), TIGRIS_ERR_INTERFACE);
    IS(write_all(&plans[OTHER_NAME], 300), TIGRIS_ERR_OTHER_MODEL);
    model.interface_crc32 = TIGRIS_MODEL_TINY_SHAPE_CRC32;
    IS(write_all(&plans[OTHER_INPUTS], 300), TIGRIS_ERR_INTERFACE);
    IS(write_all(&plans[1], 300), TIGRIS_OK);
    model.interface_crc32 = TIGRIS_MODEL_TINY_INTERFACE_CRC32;
    longer = plans[1];
    longer.size += 1U;
    IS(write_all(&longer, 300), TIGRIS_ERR_DAMAGED);
    longer.size = sizeof longer.bytes;
    IS(write_all(&longer, 16384), TIGRIS_ERR_DAMAGED);
    longer.size = plans[1].size - 1U - TIGRIS_TRAILER_BYTES;
    IS(write_all(&longer, 300), TIGRIS_ERR_TRUNCATED);
    longer.size = 100U;
    IS(write_all(&longer, 300), TIGRIS_ERR_TRUNCATED);
    model.fast_bytes = 8U;
    IS(write_all(&plans[1], 300), TIGRIS_ERR_FAST_TOO_SMALL);
    model.fast_bytes = TIGRIS_MODEL_TINY.fast_bytes;
    DEMAND(nor_held == 0U && opens(&plans[0]));
}

static void a_slot_of_the_plan_s_size(void)
{
    static tigris_slots exact;
    exact = *model.slots;
    exact.bytes = TIGRIS_FLASH_SECTOR;
    model.slots = &exact;
    IS(tigris_model_open(&model, &plan), TIGRIS_ERR_SLOT_TOO_SMALL);
    DEMAND(nor_held == 0U);
    IS(write_all(&plans[1], 300), TIGRIS_ERR_SLOT_TOO_SMALL);
}

/* ---- slots whose plan does not open ---- */

static void the_other_slot_is_proven(void)
{
    IS(tigris_update_begin(&update, &model), TIGRIS_OK);
    IS(tigris_update_write(&update, plans[1].bytes, 4200U), TIGRIS_OK);
    memset(slot_bytes(0), 0, 64U);
    model.unchecked = 1U;
    IS(tigris_model_open(&model, &plan), TIGRIS_ERR_NOT_A_PLAN);
    memcpy(slot_bytes(1), plans[1].bytes, plans[1].size);
    DEMAND(opens(&plans[1]));
    IS(tigris_update_begin(&update, &model), TIGRIS_OK);
    DEMAND(update.slot == 0U);
}

static void what_is_confirmed_lies_in_a_slot(void)
{
    static image elsewhere;
    commit(&plans[1]);
    DEMAND(opens(&plans[1]));
    elsewhere = plans[2];
    IS(tigris_plan_open(&plan, elsewhere.bytes, elsewhere.size), TIGRIS_OK);
    IS(tigris_update_confirm(&model, &plan), TIGRIS_ERR_OTHER_MODEL);
    DEMAND(opens(&plans[0]));
}

/* ---- flash operations that fail ---- */

static void every_operation_may_fail(void)
{
    for (int late = 0; late < 2; late++)
        for (uint32_t at = 0; at < 64U; at++) {
            flash_anew();
            nor_fails_from = at;
            nor_fails_late = late;
            tigris_status status = write_all(&plans[1], 500);
            if (status == TIGRIS_OK)
                status = tigris_update_commit(&update);
            if (status == TIGRIS_OK)
                break;
            DEMAND(status == TIGRIS_ERR_FLASH && at < 60U && nor_held == 0U);
            IS(tigris_update_commit(&update), TIGRIS_ERR_ORDER);
            (void)!tigris_update_abort(&update);
            DEMAND(opens(&plans[0]) || (opens(&plans[1]) && late));
            nor_fails_from = UINT32_MAX;
            tigris_model_close(&plan);
            nor_held = 0U;
            while (tigris_update_begin(&update, &model) == TIGRIS_ERR_UNCONFIRMED)
                DEMAND(opens(&plans[0]));
            commit(&plans[2]);
            DEMAND(opens(&plans[2]));
        }
}

static void an_abort_takes_a_doubtful_commit_back(void)
{
    IS(write_all(&plans[1], 500), TIGRIS_OK);
    nor_fails_from = nor_operations;
    nor_fails_late = 1;
    IS(tigris_update_commit(&update), TIGRIS_ERR_FLASH);
    nor_fails_from = UINT32_MAX;
    IS(tigris_update_abort(&update), TIGRIS_OK);
    read_log();
    DEMAND(state.kind == TIGRIS_SLOT_CONFIRMED && state.slot == 0U);
    DEMAND(slot_bytes(1)[0] == 0xFFU && opens(&plans[0]));
}

static void flash_that_forgets(void)
{
    IS(tigris_update_begin(&update, &model), TIGRIS_OK);
    IS(tigris_update_write(&update, plans[1].bytes, plans[1].size), TIGRIS_OK);
    slot_bytes(1)[600] ^= 0x80U;
    IS(tigris_update_finish(&update), TIGRIS_ERR_FLASH);
    IS(tigris_update_commit(&update), TIGRIS_ERR_ORDER);
    IS(write_all(&plans[1], 500), TIGRIS_OK);
    nor_is_worn = 1;
    IS(tigris_update_commit(&update), TIGRIS_ERR_FLASH);
    nor_is_worn = 0;
    DEMAND(opens(&plans[0]) && opens(&plans[0]));
    commit(&plans[1]);
    DEMAND(opens(&plans[1]));
}

/* ---- valid and torn records ---- */

static tigris_slot_record *record_at(uint32_t place)
{
    return (tigris_slot_record *)(void *)(nor.bytes + model.offset - TIGRIS_SLOT_RECORDS_BYTES) + place;
}

static void append(tigris_slot_record_kind kind, uint32_t slot)
{
    IS(tigris_slot_log_append(&model, &state, kind, slot), TIGRIS_OK);
}

/* Sets one bit that the operation should have cleared, as a cut may. */
static void tear(tigris_slot_record *record, uint32_t bit)
{
    uint8_t *bytes = (uint8_t *)record;
    bytes[bit / 8U] = (uint8_t)(bytes[bit / 8U] | 1U << bit % 8U);
}

/* A torn record whose checksum fits by chance: some bits are still set that the operation should have cleared. */
static void a_checksum_that_fits_a_torn_record(void)
{
    read_log();
    append(TIGRIS_SLOT_CONFIRMED, 1U);
    append(TIGRIS_SLOT_PENDING, 0U);
    const tigris_slot_record other = *record_at(1U);
    append(TIGRIS_SLOT_TRIED, 0U);
    memcpy(record_at(2U), &other, 16U);
    read_log();
    DEMAND(state.index == 1U && state.kind == TIGRIS_SLOT_PENDING);
}

/* A torn record in a full sector is skipped. Its unstable bits later read as valid, when the other sector has the next. */
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
        DEMAND(state.index == cut - 1U);
        append(TIGRIS_SLOT_CONFIRMED, 1U);
        DEMAND(state.index == PER_SECTOR);
        for (uint32_t i = cut; i < PER_SECTOR; i++)
            *record_at(i) = torn[i - cut];
        read_log();
        DEMAND(state.index == PER_SECTOR && state.kind == TIGRIS_SLOT_CONFIRMED && state.slot == 1U);
    }
}

/* ---- signatures and versions ---- */

static tigris_status opened(const image *from)
{
    nor_format(tigris_slot_offset(&model, 0), from->bytes, from->size);
    const tigris_status status = tigris_model_open(&model, &plan);
    DEMAND(nor_held == (status == TIGRIS_OK));
    return status;
}

/* A trailer behind a plan that nobody asks for is taken; one that is cut short is not. */
static void plans_with_half_a_signature(void)
{
    static image cut;
    for (size_t missing = 0; missing <= sizeof(tigris_signature_record); missing += missing < 2U ? 1U : 7U) {
        flash_anew();
        cut = plans[1];
        if (!has_key)
            cut.size += sizeof(tigris_signature_record);
        const size_t plan_bytes = cut.size - sizeof(tigris_signature_record);
        cut.size -= missing;
        tigris_status wanted = cut.size == plan_bytes ? TIGRIS_ERR_SIGNATURE : TIGRIS_ERR_DAMAGED;
        if (missing == 0U || (!has_key && cut.size == plan_bytes))
            wanted = TIGRIS_OK;
        IS(write_all(&cut, 300), wanted);
        if (has_key && missing > 0U)
            IS(opened(&cut), TIGRIS_ERR_SIGNATURE);
    }
}

#if defined(TIGRIS_SIGNED)

/* Makes the checksum of a changed plan right again. */
static void fit_checksum(image *of)
{
    tigris_header_record header;
    memcpy(&header, of->bytes, sizeof header);
    header.crc32 = tigris_crc32(of->bytes + TIGRIS_CRC_COVERS_FROM, header.total_bytes - TIGRIS_CRC_COVERS_FROM);
    memcpy(of->bytes, &header, sizeof header);
}

static void plans_of_other_keys(void)
{
    static image mixed;
    IS(opened(&plans[0]), TIGRIS_OK);
    IS(opened(&plans[OTHER_KEY]), TIGRIS_ERR_SIGNATURE);
    flash_anew();
    IS(write_all(&plans[OTHER_KEY], 300), TIGRIS_ERR_SIGNATURE);
    IS(tigris_update_commit(&update), TIGRIS_ERR_ORDER);
    mixed = plans[0];
    memcpy(mixed.bytes + mixed.size - TIGRIS_TRAILER_BYTES, plans[1].bytes + plans[1].size - TIGRIS_TRAILER_BYTES,
           TIGRIS_TRAILER_BYTES);
    IS(opened(&mixed), TIGRIS_ERR_SIGNATURE);
    mixed.size -= TIGRIS_TRAILER_BYTES;
    IS(opened(&mixed), TIGRIS_ERR_SIGNATURE);
    for (size_t at = 0; at < offsetof(tigris_signature_record, signature); at++) {
        mixed = plans[0];
        mixed.bytes[mixed.size - TIGRIS_TRAILER_BYTES + at] ^= 2U;
        IS(opened(&mixed), TIGRIS_ERR_SIGNATURE);
    }
    mixed.size -= TIGRIS_TRAILER_BYTES;
    model.unchecked = 1U;
    IS(opened(&mixed), TIGRIS_ERR_SIGNATURE);
    IS(tigris_check_signature(plans[0].bytes, plans[0].size), TIGRIS_OK);
    IS(tigris_check_signature(plans[0].bytes, plans[0].size - 1U), TIGRIS_ERR_TRUNCATED);
    IS(tigris_check_signature(plans[0].bytes, 100U), TIGRIS_ERR_TRUNCATED);
    IS(tigris_check_signature(NULL, 100U), TIGRIS_ERR_ARGUMENT);
}

static void changed_plans_with_a_right_checksum(void)
{
    static image changed;
    for (size_t at = TIGRIS_CRC_COVERS_FROM; at < plans[1].size - TIGRIS_TRAILER_BYTES; at += 97U) {
        flash_anew();
        changed = plans[1];
        changed.bytes[at] ^= 1U;
        fit_checksum(&changed);
        DEMAND(write_all(&changed, 16384) != TIGRIS_OK && opens(&plans[0]));
        IS(opened(&changed), TIGRIS_ERR_SIGNATURE);
    }
}

static void a_header_that_wraps(void)
{
    static image huge;
    huge = plans[0];
    tigris_header_record header;
    memcpy(&header, huge.bytes, sizeof header);
    header.total_bytes = UINT32_MAX - 8U;
    header.weights_bytes = header.total_bytes - header.weights;
    memcpy(huge.bytes, &header, sizeof header);
    IS(opened(&huge), TIGRIS_ERR_DAMAGED);
    IS(tigris_check_signature(huge.bytes, sizeof huge.bytes), TIGRIS_ERR_TRUNCATED);
    flash_anew();
    IS(write_all(&huge, 300), TIGRIS_ERR_SLOT_TOO_SMALL);
}

#endif

static void confirm_update(const image *next)
{
    commit(next);
    DEMAND(opens(next));
    IS(tigris_update_confirm(&model, &plan), TIGRIS_OK);
}

/* Versions that only their headers have: firmware without a key refuses them too. */
static void older_versions(void)
{
    DEMAND(opens(&plans[0]));
    IS(write_all(&plans[OLDER], 300), has_key ? TIGRIS_ERR_ROLLBACK : TIGRIS_OK); /* plans[0] has version 0 without */
    flash_anew();
    commit(&plans[NEWER]);
    DEMAND(opens(&plans[NEWER]) && opens(&plans[0])); /* not confirmed */
    IS(write_all(&plans[1], 300), TIGRIS_OK);
    confirm_update(&plans[NEWER]);
    /* A plan that was confirmed before does not come back when the new one rots. */
    slot_bytes(1)[1000] ^= 1U;
    IS(tigris_model_open(&model, &plan), TIGRIS_ERR_DAMAGED);
    IS(write_all(&plans[1], 300), TIGRIS_ERR_ROLLBACK);
    slot_bytes(1)[1000] ^= 1U;
    IS(write_all(&plans[1], 300), TIGRIS_ERR_ROLLBACK);
    DEMAND(memcmp(slot_bytes(0), plans[0].bytes, plans[0].size) == 0 && opens(&plans[NEWER]));
    confirm_update(&plans[NEWER]);
    read_log();
    for (uint32_t i = 0; i < PER_SECTOR; i++)
        append(TIGRIS_SLOT_CONFIRMED, 0U);
    read_log();
    DEMAND(state.version == 2U && opens(&plans[NEWER]));
}

static const struct {
    const char *name;
    void (*run)(void);
} cases[] = {
#define CASE(name) {#name, name}
    CASE(pieces_of_every_size), CASE(closing), CASE(steps_out_of_order), CASE(two_updates_at_once),
    CASE(plans_that_are_none), CASE(a_slot_of_the_plan_s_size), CASE(the_other_slot_is_proven),
    CASE(what_is_confirmed_lies_in_a_slot), CASE(every_operation_may_fail),
    CASE(an_abort_takes_a_doubtful_commit_back), CASE(flash_that_forgets), CASE(a_checksum_that_fits_a_torn_record),
    CASE(a_record_that_comes_back), CASE(plans_with_half_a_signature), CASE(older_versions),
#if defined(TIGRIS_SIGNED)
    CASE(plans_of_other_keys), CASE(changed_plans_with_a_right_checksum), CASE(a_header_that_wraps),
#endif
};

int main(int argc, char **argv)
{
    if (argc != PLANS + 1)
        return 2;
    for (int i = 0; i < PLANS; i++)
        if (!nor_load(argv[i + 1], &plans[i]))
            return 2;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        memset(&update, 0, sizeof update);
        flash_anew();
        cases[i].run();
        printf("%s\n", cases[i].name);
    }
    return 0;
}
