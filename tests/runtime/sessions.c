/* Uses sessions as applications do: sessions PLAN PLAN [PERCENT | threads], or sessions yields PLAN...
 *
 * Runs both plans alone, again, one inside the other's yield hook, cancelled at many operators, and profiled by a counter
 * of its own; memory is of exactly the sizes asked for, between guard zones. With PERCENT that is so much of the planned
 * fast memory, and plenty of slow memory. Prints the outputs of both (hexadecimal, one line each), how many runs of the
 * first were cancelled and, for each of its operators, how often it was called and the counter's sum. With `threads` the
 * first plan runs on two threads instead; prints the calls that both shared, and those of another run with kernels of a
 * backend that asks for scratch. With `yields` it prints how often a run of each plan yields, which must not show in the
 * trace. Ends with 1 and a sentence on stderr when something is not as it should be.
 *
 * The arenas are not initialised: a checker of memory sees whether a result depends on what was there. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tigris.h"
#include "tigris_kernel.h"

#define GUARD_BYTES 64U
#define GUARD_VALUE 0xA5U
#define ARENA_ALIGNMENT 64U
#define STEPS 3U /* runs from the first state on */
#define MOST_OPS 256U

typedef struct memory {
    uint8_t *allocated;
    uint8_t *data; /* ARENA_ALIGNMENT-aligned, between two guard zones */
    size_t bytes;
} memory;

typedef struct model {
    memory file, fast, slow;
    uint8_t *expected; /* all outputs of all steps, one after the other */
    uint32_t output_bytes;
    tigris_plan plan;
    tigris_session session;
} model;

static void fail(const char *what, const char *when)
{
    fprintf(stderr, "sessions: %s: %s\n", when, what);
    exit(1);
}

static void expect(tigris_status status, tigris_status wanted, const char *when)
{
    if (status != wanted)
        fail(tigris_status_text(status), when);
}

static memory reserve(size_t bytes)
{
    memory result = {malloc(bytes + 2U * GUARD_BYTES + ARENA_ALIGNMENT), NULL, bytes};
    if (result.allocated == NULL)
        fail("out of memory", "reserve");
    const size_t start = ((uintptr_t)result.allocated + GUARD_BYTES) % ARENA_ALIGNMENT;
    result.data = result.allocated + GUARD_BYTES + (start == 0U ? 0U : ARENA_ALIGNMENT - start);
    memset(result.data - GUARD_BYTES, GUARD_VALUE, GUARD_BYTES);
    memset(result.data + bytes, GUARD_VALUE, GUARD_BYTES);
    return result;
}

static void check_guards(const memory *where, const char *when)
{
    for (uint32_t i = 0; i < GUARD_BYTES; i++)
        if (where->data[where->bytes + i] != GUARD_VALUE || (where->data - GUARD_BYTES)[i] != GUARD_VALUE)
            fail("a byte outside an arena was written", when);
}

static memory read_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    if (file == NULL || fseek(file, 0, SEEK_END) != 0)
        fail("cannot be read", path);
    const memory result = reserve((size_t)ftell(file));
    rewind(file);
    if (fread(result.data, 1U, result.bytes, file) != result.bytes)
        fail("cannot be read", path);
    fclose(file);
    return result;
}

/* The same bytes on every machine: any int8, small floats. */
static void write_inputs(const tigris_session *session, uint32_t step)
{
    uint32_t state = 2463534242U + step;
    uint8_t *input;
    for (uint32_t i = 0; (input = tigris_input(session, i)) != NULL; i++) {
        for (uint32_t k = 0; k < tigris_input_bytes(session, i); k++) {
            state = state * 1664525U + 1013904223U;
            input[k] = (uint8_t)(state >> 24 & 0x3FU);
        }
    }
}

/* Keeps the outputs of a step where there are none yet, or compares them. */
static void check_outputs(model *m, uint32_t step, int keep, const char *when)
{
    uint8_t *expected = m->expected + step * m->output_bytes;
    const uint8_t *output;
    for (uint32_t i = 0; (output = tigris_output(&m->session, i)) != NULL; i++) {
        const uint32_t bytes = tigris_output_bytes(&m->session, i);
        if (keep) {
            memcpy(expected, output, bytes);
        } else if (memcmp(output, expected, bytes) != 0) {
            fail("other outputs", when);
        }
        expected += bytes;
    }
    check_guards(&m->fast, when);
    check_guards(&m->slow, when);
}

static void run_steps(model *m, int keep, const char *when)
{
    expect(tigris_session_reset(&m->session), TIGRIS_OK, when);
    for (uint32_t step = 0; step < STEPS; step++) {
        write_inputs(&m->session, step);
        expect(tigris_run(&m->session), TIGRIS_OK, when);
        check_outputs(m, step, keep, when);
    }
}

static void run(model *m, const char *when)
{
    run_steps(m, 0, when);
}

/* Each input and output is described as it is stored; there are no others. */
static void check_descriptions(const tigris_session *session, const char *path)
{
    tigris_io io = {.rank = 0U};
    uint32_t count = 0U;
    for (; tigris_describe_output(session, count, &io) == TIGRIS_OK; count++) {
        uint32_t bytes = io.dtype == TIGRIS_DTYPE_INT8 ? 1U : io.dtype == TIGRIS_DTYPE_INT16 ? 2U : 4U;
        for (uint32_t i = 0; i < io.rank; i++)
            bytes *= io.shape[i];
        if (bytes != tigris_output_bytes(session, count) || io.name[0] == '\0')
            fail("an output is described wrongly", path);
    }
    if (count != session->plan->header->output_count || tigris_describe_input(session, 0U, NULL) == TIGRIS_OK ||
        tigris_describe_input(session, 0U, &io) != TIGRIS_OK || io.shape != session->plan->io[0].stored_shape ||
        io.scale != session->plan->tensors[session->plan->io[0].tensor].scale)
        fail("an input is described wrongly", path);
}

static void start(model *m, const char *path, uint32_t percent)
{
    m->file = read_file(path);
    expect(tigris_plan_open(&m->plan, m->file.data, m->file.bytes), TIGRIS_OK, path);
    expect(tigris_plan_check_crc(&m->plan), TIGRIS_OK, path);
    expect(tigris_session_reset(&m->session), TIGRIS_ERR_ARGUMENT, "a session that never began");
    expect(tigris_run(&m->session), TIGRIS_ERR_ARGUMENT, "a session that never began");
    const uint32_t fast_bytes = m->plan.header->fast_bytes, slow_bytes = m->plan.header->slow_bytes;
    m->fast = reserve(percent == 0U ? fast_bytes : fast_bytes * percent / 100U);
    m->slow = reserve(percent == 0U ? slow_bytes : slow_bytes + 4U * fast_bytes);
    const tigris_arenas arenas = {m->fast.data, m->fast.bytes, m->slow.data, m->slow.bytes};
    expect(tigris_session_bind(&m->session, &m->plan, &arenas, &tigris_portable_backend, NULL, TIGRIS_HEADERS + 1U),
           TIGRIS_ERR_HEADERS, "a library of another header");
    expect((percent == 0U ? tigris_session_init : tigris_session_init_dynamic)(&m->session, &m->plan, &arenas, NULL),
           TIGRIS_OK, path);
    check_descriptions(&m->session, path);
    for (uint32_t i = 0; tigris_output(&m->session, i) != NULL; i++)
        m->output_bytes += tigris_output_bytes(&m->session, i);
    m->expected = malloc(STEPS * (size_t)m->output_bytes);
    if (m->expected == NULL)
        fail("out of memory", path);
    run_steps(m, 1, path);
    run(m, "the second time");
}

static void end(model *m)
{
    free(m->expected);
    free(m->file.allocated);
    free(m->fast.allocated);
    free(m->slow.allocated);
}

/* Every few operators of one session, the whole other model. */
typedef struct guest {
    model *other;
    uint32_t calls;
    uint32_t every;
} guest;

static int run_the_other(void *context)
{
    guest *visit = context;
    if (visit->calls++ % visit->every == 0U)
        run(visit->other, "inside another session's run");
    return 0;
}

/* Runs `m` with the other's runs between its operators; returns how many operators yielded. */
static uint32_t interleave(model *m, model *other, uint32_t every)
{
    guest visit = {other, 0U, every};
    m->session.hooks.yield = run_the_other;
    m->session.hooks.yield_context = &visit;
    run(m, "with another session's runs in between");
    m->session.hooks.yield = NULL;
    return visit.calls;
}

static int count_down(void *context)
{
    uint32_t *left = context;
    return --*left == 0U;
}

/* Steps that come after runs which were cancelled at their first operator, `stride` operators later and so on, until one
 * gets through: none of those was a step. Returns how many were cancelled. */
static uint32_t cancel(model *m, uint32_t stride)
{
    uint32_t cancelled = 0U;
    expect(tigris_session_reset(&m->session), TIGRIS_OK, "reset");
    for (uint32_t step = 0; step < STEPS; step++) {
        tigris_status status = TIGRIS_ERR_CANCELLED;
        for (uint32_t after = 1U; status != TIGRIS_OK; after += stride) {
            uint32_t left = after;
            m->session.hooks.yield = count_down;
            m->session.hooks.yield_context = &left;
            write_inputs(&m->session, step);
            status = tigris_run(&m->session);
            if (status != TIGRIS_OK) {
                expect(status, TIGRIS_ERR_CANCELLED, "cancelled");
                cancelled++;
            }
            if ((status != TIGRIS_OK) != (left == 0U))
                fail("its hook was not obeyed", "cancelled");
        }
        m->session.hooks.yield = NULL;
        check_outputs(m, step, 0, "after cancelled runs");
    }
    return cancelled;
}

typedef struct profile {
    uint32_t ticks;
    uint32_t calls[MOST_OPS];
    uint32_t elapsed[MOST_OPS];
} profile;

/* Passes zero on its way: only differences count. */
static uint32_t next_tick(void *context)
{
    profile *p = context;
    return p->ticks++ - 3U;
}

static void add_call(void *context, uint32_t op, uint32_t elapsed)
{
    profile *p = context;
    if (op >= MOST_OPS)
        fail("an operator that the plan does not have", "profiled");
    p->calls[op]++;
    p->elapsed[op] += elapsed;
}

static void print_profile(model *m, uint32_t yields)
{
    static profile p;
    m->session.hooks.counter = next_tick;
    m->session.hooks.profile = add_call;
    m->session.hooks.profile_context = &p;
    run(m, "profiled");
    m->session.hooks.counter = NULL;
    m->session.hooks.profile = NULL;
    uint32_t calls = 0U, commits = 0U;
    for (uint32_t op = 0; op < m->plan.header->op_count; op++) {
        printf("%u %u\n", (unsigned)p.calls[op], (unsigned)p.elapsed[op]);
        calls += p.calls[op];
        commits += m->plan.ops[op].kind == TIGRIS_OP_KIND_COMMIT ? p.calls[op] : 0U; /* do not yield */
    }
    if (calls - commits != yields || p.ticks != 2U * calls)
        fail("the counter was not read once before and once after each call", "profiled");
}

/* Kernels are found when a plan is bound. `m` must not have more kinds of operators than a session remembers. */
static void run_without_looking_up(model *m)
{
    const struct tigris_backend *backend = m->session.backend;
    tigris_backend empty = *backend;
    empty.kernel_count = 0U;
    empty.fallback = NULL;
    m->session.backend = &empty;
    run(m, "with kernels that were looked up before");
    m->session.backend = backend;
}

/* Another session may have had both arrays of memory meanwhile. */
static void run_in_overwritten_memory(model *m)
{
    memset(m->fast.data, 0x5A, m->fast.bytes);
    memset(m->slow.data, 0x5A, m->slow.bytes);
    run(m, "in memory that another session has written");
}

static int count_yield(void *context)
{
    ++*(unsigned *)context;
    return 0;
}

static void count_call(void *context, uint32_t op, uint32_t image, const tigris_band *output)
{
    (void)op, (void)image, (void)output;
    ++*(unsigned *)context;
}

/* Of a plan whose operators run whole. */
static void print_yields(const char *path)
{
    static model m;
    unsigned yields = 0U, traced = 0U;
    memset(&m, 0, sizeof m);
    start(&m, path, 0U);
    m.session.hooks.yield = count_yield;
    m.session.hooks.yield_context = &yields;
    m.session.hooks.trace = count_call;
    m.session.hooks.trace_context = &traced;
    expect(tigris_run(&m.session), TIGRIS_OK, path);
    if (traced != m.plan.header->op_count)
        fail("the trace shows pieces of calls", path);
    printf("%u\n", yields);
    end(&m);
}

static void print_outputs(const model *m)
{
    for (uint32_t i = 0; i < STEPS * m->output_bytes; i++)
        printf("%02x", m->expected[i]);
    printf("\n");
}

typedef struct half {
    tigris_work work;
    void *argument;
} half;

static void *run_second(void *context)
{
    const half *second = context;
    second->work(second->argument, 1U);
    return NULL;
}

static void side_by_side(void *context, tigris_work work, void *argument)
{
    half second = {work, argument};
    pthread_t thread;
    if (pthread_create(&thread, NULL, run_second, &second) != 0)
        fail("no thread", "side by side");
    work(argument, 0U);
    (void)pthread_join(thread, NULL);
    ++*(unsigned *)context;
}

static uint32_t some_scratch(const tigris_plan *plan)
{
    (void)plan;
    return 64U;
}

static void run_in_threads(model *m)
{
    unsigned shared = 0U, with_scratch = 0U;
    tigris_backend scratch = *m->session.backend;
    scratch.prepare = some_scratch;
    m->session.split = tigris_split_rows;
    m->session.hooks.parallel = side_by_side;
    m->session.hooks.parallel_context = &shared;
    run(m, "on two threads");
    m->session.hooks.parallel_context = &with_scratch;
    m->session.backend = &scratch;
    run(m, "with scratch");
    printf("%u %u\n", shared, with_scratch);
}

int main(int count, char **arguments)
{
    static model first;
    static model second;
    if (count > 2 && strcmp(arguments[1], "yields") == 0) {
        for (int i = 2; i < count; i++)
            print_yields(arguments[i]);
        return 0;
    }
    if (count != 3 && count != 4)
        fail("two plans are needed", "arguments");
    const uint32_t percent = count == 4 ? (uint32_t)strtoul(arguments[3], NULL, 10) : 0U;
    start(&first, arguments[1], percent);
    if (count == 4 && percent == 0U) {
        run_in_threads(&first);
        end(&first);
        return 0;
    }
    start(&second, arguments[2], percent);
    const uint32_t yields = interleave(&first, &second, 7U);
    (void)interleave(&second, &first, 6U);
    run_without_looking_up(&second);
    if (percent == 0U)
        run_in_overwritten_memory(&first);
    print_outputs(&first);
    print_outputs(&second);
    printf("%u\n", (unsigned)cancel(&first, yields > 200U ? yields / 24U : 1U));
    print_profile(&first, yields);
    end(&first);
    end(&second);
    return 0;
}
