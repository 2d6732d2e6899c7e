/* Runs one plan on one core and on two, and prints, a line each, "name value": the instructions of a run on one; those
 * of the core that is at work longer, by halves that run one after the other; the calls that were split; and, where
 * there is a second hart, the calls that both really shared. Every output is compared with the one expected. */
#include "bench.h"

#include "tigris.h"

#define FAST_BYTES (768U * 1024U)
#define SLOW_BYTES (1024U * 1024U)
#define PATIENCE 1000000U

/* The memory through which the harts communicate. Each word has one writer. */
typedef struct meeting {
    tigris_work work;
    void *argument;
    volatile uint32_t asked; /* by the first, so often */
    volatile uint32_t done;  /* by the second, so often */
    volatile uint32_t here;  /* the second is */
} meeting;

typedef struct halves {
    uint32_t calls;
    uint32_t saved; /* instructions of the halves that are over first */
} halves;

static TIGRIS_ALIGNED uint8_t fast[FAST_BYTES];
static TIGRIS_ALIGNED uint8_t slow[SLOW_BYTES];
static const tigris_arenas arenas = {fast, sizeof fast, slow, sizeof slow};
static meeting table;

void bench_second_hart(void);

static inline void fence(void)
{
    __asm__ volatile("fence" ::: "memory");
}

void bench_second_hart(void)
{
    uint32_t done = 0U;
    table.here = 1U;
    for (;;) {
        while (table.asked == done) {
        }
        fence();
        table.work(table.argument, 1U);
        fence();
        table.done = ++done;
    }
}

static void one_after_the_other(void *context, tigris_work work, void *argument)
{
    halves *found = context;
    uint32_t taken[2];
    for (uint32_t worker = 0; worker < 2U; worker++) {
        const uint32_t start = bench_instructions();
        work(argument, worker);
        taken[worker] = bench_instructions() - start;
    }
    found->saved += taken[0] < taken[1] ? taken[0] : taken[1];
    found->calls++;
}

static void on_two_harts(void *context, tigris_work work, void *argument)
{
    halves *found = context;
    table.work = work;
    table.argument = argument;
    fence();
    const uint32_t asked = table.asked + 1U;
    table.asked = asked;
    work(argument, 0U);
    while (table.done != asked) {
    }
    fence();
    found->calls++;
}

/* One run; its instructions. Ends the program when the output is wrong. */
static uint32_t run(tigris_session *session, tigris_parallel_hook hook, halves *found)
{
    uint32_t input_bytes, output_bytes;
    const uint8_t *input = sample(0U, &input_bytes), *expected = sample(1U, &output_bytes);
    session->split = hook != NULL ? tigris_split_rows : NULL;
    session->hooks.parallel = hook;
    session->hooks.parallel_context = found;
    *found = (halves){0U, 0U};
    memcpy(tigris_input(session, 0), input, input_bytes);
    const uint32_t start = bench_instructions();
    const tigris_status status = tigris_run(session);
    const uint32_t taken = bench_instructions() - start;
    if (status != TIGRIS_OK || memcmp(tigris_output(session, 0), expected, output_bytes) != 0) {
        fail("run", status != TIGRIS_OK ? tigris_status_text(status) : "wrong output");
    }
    return taken;
}

void bench_main(void)
{
    const tigris_header_record *header = (const tigris_header_record *)(const void *)bench_plan;
    static tigris_plan plan;
    static tigris_session session;
    halves found;
    tigris_status status = tigris_plan_open(&plan, bench_plan, header->total_bytes);
    if (status == TIGRIS_OK) {
        status = tigris_session_init(&session, &plan, &arenas, NULL);
    }
    if (status != TIGRIS_OK) {
        fail("open", tigris_status_text(status));
    }
    print_number("one", run(&session, NULL, &found));
    const uint32_t both = run(&session, one_after_the_other, &found);
    print_number("longer", both - found.saved);
    print_number("split", found.calls);
    for (uint32_t i = 0; i < PATIENCE && table.here == 0U; i++) {
        fence();
    }
    if (table.here != 0U) {
        (void)run(&session, on_two_harts, &found);
        (void)run(&session, on_two_harts, &found);
        print_number("shared", found.calls);
    }
    bench_exit();
}
