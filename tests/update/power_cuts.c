/* Cuts the power at every flash operation of updates, with every result in nor.h, once and twice in a row.
 *
 * argv: three plans of one model, EVERY (try each EVERY-th pair of cuts), UPDATES (make this many updates in a row) and CUTS
 * (try each CUTS-th cut of those). Prints a line for each scenario: its name, cuts, and pairs of cuts. After each cut the
 * model is opened twice, updated and opened again. Each open must find one of the expected plans, byte for byte. The first
 * that does not prints its place and ends the program with status 1. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nor.h"
#include "signature.h"
#include "slot_log.h"
#include "tigris_models.h"
#include "tigris_update.h"

#define PLANS 3U
#define PIECE 700U

static image plans[PLANS];
static const image *const A = &plans[0], *const B = &plans[1], *const C = &plans[2];
static tigris_model model;
static tigris_update update;
/* The plans that the next open may find. `other` is NULL if only `sure` is valid. */
static const image *sure, *other;
static const char *scenario = "set-up";
static uint32_t cut_one, cut_two, every = 1U;
static nor_tear tear_one, tear_two;

static void demand(int holds, const char *what)
{
    if (!holds) {
        printf("%s: %s; cuts at operation %u in way %d, %u in way %d\n", scenario, what, (unsigned)cut_one, (int)tear_one,
               (unsigned)cut_two, (int)tear_two);
        exit(1);
    }
}

static void expect(const image *is_sure, const image *may_be)
{
    sure = is_sure;
    other = may_be;
}

static int holds(const tigris_plan *plan, const image *of)
{
    return of != NULL && plan->header->total_bytes + TIGRIS_TRAILER_BYTES == of->size &&
           memcmp(plan->base, of->bytes, of->size) == 0;
}

/* ---- steps of a scenario ---- */

static const image *open_model(tigris_plan *plan)
{
    demand(tigris_model_open(&model, plan) == TIGRIS_OK, "the model does not open");
    demand(nor_held == 1U, "a mapping is lost");
    demand(holds(plan, sure) || holds(plan, other), "a plan was opened that should not be");
    return holds(plan, sure) ? sure : other;
}

static void close_model(tigris_plan *plan)
{
    tigris_model_close(plan);
    tigris_model_close(plan);
    demand(nor_held == 0U && plan->header == NULL, "closing does not release");
}

static void begin(void)
{
    demand(tigris_update_begin(&update, &model) == TIGRIS_OK, "begin");
}

static void receive(const image *from, size_t size)
{
    for (size_t at = 0; at < size; at += PIECE)
        demand(tigris_update_write(&update, from->bytes + at, size - at < PIECE ? size - at : PIECE) == TIGRIS_OK, "write");
}

static void finish(tigris_status expected)
{
    demand(tigris_update_finish(&update) == expected, "finish");
}

/* Completes an update that has begun. Until the commit, an open finds `kept`. */
static void complete(const image *kept, const image *next)
{
    expect(kept, NULL);
    receive(next, next->size);
    finish(TIGRIS_OK);
    expect(kept, next);
    demand(tigris_update_commit(&update) == TIGRIS_OK, "commit");
    expect(next, NULL);
}

static void write_plan(const image *kept, const image *next)
{
    begin();
    complete(kept, next);
}

static void try_plan(const image *kept, const image *next, int confirm)
{
    tigris_plan plan;
    expect(next, kept);
    demand(open_model(&plan) == next, "the committed plan is not opened");
    expect(kept, NULL);
    if (confirm) {
        expect(kept, next);
        demand(tigris_update_confirm(&model, &plan) == TIGRIS_OK, "confirm");
        expect(next, NULL);
        demand(tigris_update_confirm(&model, &plan) == TIGRIS_OK, "confirm twice");
    }
    close_model(&plan);
}

/* Opens and closes the model; returns the plan that it found. */
static const image *open_and_close(void)
{
    tigris_plan plan;
    const image *opened = open_model(&plan);
    close_model(&plan);
    return opened;
}

static void update_to(const image *kept, const image *next)
{
    write_plan(kept, next);
    try_plan(kept, next, 1);
    (void)open_and_close();
}

/* ---- scenarios: the steps before the cut, and the steps to cut ---- */

static void nothing(void)
{
    expect(A, NULL);
}

static void first_update(void)
{
    update_to(A, B);
}

static void pending(void)
{
    write_plan(A, B);
}

static void over_a_pending_plan(void)
{
    expect(A, B);
    update_to(A, C);
}

static void on_trial(void)
{
    write_plan(A, B);
    try_plan(A, B, 0);
}

static void after_an_unconfirmed_trial(void)
{
    demand(tigris_update_begin(&update, &model) == TIGRIS_ERR_UNCONFIRMED, "an update over a plan on trial");
    (void)open_and_close();
    update_to(A, C);
}

static void flip(uint32_t slot)
{
    nor.bytes[model.offset + slot * model.slots->bytes + 1000U] ^= 0x10U;
}

static void pending_and_damaged(void)
{
    write_plan(A, B);
    flip(1U);
    expect(A, NULL);
}

static void after_a_failed_open(void)
{
    (void)open_and_close();
    update_to(A, C);
}

static void active_and_damaged(void)
{
    update_to(A, B);
    flip(1U);
    expect(A, NULL);
}

/* An update that is aborted half-way, and one that receives damaged bytes. */
static void given_up(void)
{
    static image damaged;
    damaged = *B;
    damaged.bytes[2000] ^= 1U;
    begin();
    receive(B, B->size / 2U);
    demand(tigris_update_abort(&update) == TIGRIS_OK, "abort");
    begin();
    receive(&damaged, damaged.size);
    finish(TIGRIS_ERR_DAMAGED);
    demand(tigris_update_commit(&update) == TIGRIS_ERR_ORDER, "commit");
    (void)open_and_close();
    update_to(A, C);
}

static const struct {
    const char *name;
    void (*before)(void);
    void (*steps)(void);
} scenarios[] = {
    {"first update", nothing, first_update},
    {"over a pending plan", pending, over_a_pending_plan},
    {"after an unconfirmed trial", on_trial, after_an_unconfirmed_trial},
    {"pending plan does not open", pending_and_damaged, after_a_failed_open},
    {"active plan does not open", active_and_damaged, after_a_failed_open},
    {"given up", nothing, given_up},
};

/* ---- cuts ---- */

static void flash_anew(void)
{
    nor_format(model.offset, A->bytes, A->size);
    expect(A, NULL);
}

/* Runs `steps` on the chip as it is. Returns 1 if power failed. */
static int run_cut(void (*steps)(void), uint32_t at, nor_tear tear)
{
    nor_start(at, tear);
    if (setjmp(nor_lost) != 0)
        return 1;
    steps();
    return 0;
}

/* Begins an update over any state, a plan on trial included. Returns the plan that an open finds until the commit. */
static const image *begin_over(const image *kept)
{
    while (tigris_update_begin(&update, &model) == TIGRIS_ERR_UNCONFIRMED)
        kept = open_and_close();
    return kept;
}

/* Starts twice, then updates to a plan that neither start can have found. */
static void recover(void)
{
    const image *next = plans;
    const image *kept = NULL;
    for (uint32_t start = 0; start < 2U; start++) {
        kept = open_and_close();
        nor_start(UINT32_MAX, NOR_AFTER);
    }
    kept = begin_over(kept);
    while (next == sure || next == other)
        next++;
    complete(kept, next);
    try_plan(next, next, 1);
    nor_start(UINT32_MAX, NOR_AFTER);
    (void)open_and_close();
}

/* The steps of the second cut: an update to a plan that the first cut did not leave. */
static void recover_in_part(void)
{
    const image *next = C == sure || C == other ? B : C;
    const image *kept = begin_over(open_and_close());
    if (next == sure || next == other)
        return;
    complete(kept, next);
    try_plan(kept, next, 1);
}

typedef struct snapshot {
    nor_chip chip;
    const image *sure, *other;
} snapshot;

static void save_snapshot(snapshot *at)
{
    at->chip = nor;
    at->sure = sure;
    at->other = other;
}

static void restore_snapshot(const snapshot *at)
{
    nor = at->chip;
    expect(at->sure, at->other);
}

/* Tries every cut of the recovery from the first cut. Returns their number. */
static uint32_t cut_twice(void)
{
    static snapshot cut;
    static uint32_t seen;
    uint32_t cuts = 0;
    save_snapshot(&cut);
    demand(!run_cut(recover_in_part, UINT32_MAX, NOR_AFTER), "power");
    const uint32_t operations = nor_operations;
    for (int tear = 0; tear < NOR_TEARS; tear++)
        for (uint32_t at = 0; at < operations; at++) {
            if (seen++ % every != 0U)
                continue;
            cut_two = at;
            tear_two = (nor_tear)tear;
            restore_snapshot(&cut);
            /* An unstable bit may read differently this time and save an operation. */
            if (!run_cut(recover_in_part, at, (nor_tear)tear))
                continue;
            nor_start(UINT32_MAX, NOR_AFTER);
            recover();
            cuts++;
        }
    cut_two = 0U;
    return cuts;
}

/* Tries each `cuts_of`-th cut of `steps`, always from the same chip; leaves the chip as `steps` do without a cut. With
 * `pairs`, a second cut follows each first one. */
static void cut_everywhere(void (*steps)(void), uint32_t cuts_of, uint32_t *cuts, uint32_t *pairs)
{
    static snapshot before;
    static snapshot after;
    static uint32_t seen;
    save_snapshot(&before);
    demand(!run_cut(steps, UINT32_MAX, NOR_AFTER), "power");
    const uint32_t operations = nor_operations;
    save_snapshot(&after);
    for (int tear = 0; tear < NOR_TEARS; tear++)
        for (uint32_t at = 0; at < operations; at++) {
            if (seen++ % cuts_of != 0U)
                continue;
            cut_one = at;
            tear_one = (nor_tear)tear;
            restore_snapshot(&before);
            demand(run_cut(steps, at, (nor_tear)tear), "an operation is missing");
            if (pairs != NULL) {
                static snapshot here;
                save_snapshot(&here);
                *pairs += cut_twice();
                restore_snapshot(&here);
            }
            nor_start(UINT32_MAX, NOR_AFTER);
            recover();
            (*cuts)++;
        }
    restore_snapshot(&after);
}

/* ---- many updates in a row, until both sectors of records were erased and used again ---- */

static uint32_t generation;

static void next_update(void)
{
    update_to(&plans[generation % PLANS], &plans[(generation + 1U) % PLANS]);
}

static void cut_many_updates(uint32_t updates, uint32_t cuts_of)
{
    uint32_t cuts = 0;
    uint32_t wraps = 0;
    tigris_slot_entry state = {TIGRIS_SLOT_CONFIRMED, 0U, 0U, UINT32_MAX, 0, 0U};
    flash_anew();
    for (generation = 0; generation < updates; generation++) {
        const uint32_t sector = state.index / (uint32_t)TIGRIS_SLOT_RECORDS_PER_SECTOR;
        cut_everywhere(next_update, cuts_of, &cuts, NULL);
        nor_start(UINT32_MAX, NOR_AFTER);
        demand(tigris_slot_log_read(&model, &state) == TIGRIS_OK, "the log");
        wraps += sector <= 1U && sector != state.index / (uint32_t)TIGRIS_SLOT_RECORDS_PER_SECTOR;
    }
    demand(wraps >= 2U, "the log did not begin again");
    printf("%u updates in a row: %u cuts, %u times a sector of records was full\n", (unsigned)updates, (unsigned)cuts,
           (unsigned)wraps);
}

int main(int argc, char **argv)
{
    model = TIGRIS_MODEL_TINY;
    if (argc != 7 || !nor_load(argv[1], &plans[0]) || !nor_load(argv[2], &plans[1]) || !nor_load(argv[3], &plans[2]))
        return 2;
    every = (uint32_t)strtoul(argv[4], NULL, 0);
    for (uint8_t unchecked = 0; unchecked < 2U; unchecked++) {
        model.unchecked = unchecked;
        for (uint32_t i = 0; i < sizeof scenarios / sizeof scenarios[0]; i++) {
            uint32_t cuts = 0;
            uint32_t pairs = 0;
            /* Without a checksum a plan that rotted in its slot is opened. */
            const int rots = strstr(scenarios[i].name, "does not open") != NULL;
            if (unchecked && rots)
                continue;
            scenario = scenarios[i].name;
            flash_anew();
            scenarios[i].before();
            cut_everywhere(scenarios[i].steps, 1U, &cuts, !unchecked ? &pairs : NULL);
            printf("%s%s: %u cuts", scenario, unchecked ? ", unchecked" : "", (unsigned)cuts);
            printf(unchecked ? "\n" : ", %u pairs\n", (unsigned)pairs);
        }
    }
    model.unchecked = 0U;
    scenario = "many updates";
    cut_many_updates((uint32_t)strtoul(argv[5], NULL, 0), (uint32_t)strtoul(argv[6], NULL, 0));
    return 0;
}
