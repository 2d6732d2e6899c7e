/* What an application may do with sessions: sessions PLAN PLAN [PERCENT].
 *
 * Runs both plans alone, again, one inside the other's yield hook, cancelled at every operator, and profiled by
 * a counter of its own; memory is of exactly the sizes asked for, between guard zones. With PERCENT that is so much of
 * the planned fast memory, and plenty of slow memory. Prints the outputs of both (hexadecimal, one line each) and, for
 * each operator of the first, how often it was called and the counter's sum. Ends with 1 and a sentence on stderr when
 * something is not as it should be.
 *
 * The arenas are not initialised: a checker of memory sees whether a result depends on what was there. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tigris.h"
#include "tigris_kernel.h"

#define GUARD_BYTES 64U
#define GUARD_VALUE 0xA5U
#define ARENA_ALIGNMENT 64U

typedef struct memory {
    uint8_t *allocated;
    uint8_t *data; /* ARENA_ALIGNMENT-aligned, between two guard zones */
    size_t bytes;
} memory;

typedef struct model {
    memory file;
    memory fast;
    memory slow;
    uint8_t *expected; /* all outputs, one after the other */
    uint32_t output_bytes;
    tigris_plan plan;
    tigris_session session;
} model;

static void fail(const char *what)
{
    fprintf(stderr, "sessions: %s\n", what);
    exit(1);
}

static memory reserve(size_t bytes)
{
    memory result;
    result.bytes = bytes;
    result.allocated = malloc(bytes + 2U * GUARD_BYTES + ARENA_ALIGNMENT);
    if (result.allocated == NULL) {
        fail("out of memory");
    }
    const size_t start = ((uintptr_t)result.allocated + GUARD_BYTES) % ARENA_ALIGNMENT;
    result.data = result.allocated + GUARD_BYTES + (start == 0U ? 0U : ARENA_ALIGNMENT - start);
    memset(result.data - GUARD_BYTES, GUARD_VALUE, GUARD_BYTES);
    memset(result.data + bytes, GUARD_VALUE, GUARD_BYTES);
    return result;
}

static void check_guards(const memory *where)
{
    for (uint32_t i = 0; i < GUARD_BYTES; i++) {
        if (where->data[where->bytes + i] != GUARD_VALUE || (where->data - GUARD_BYTES)[i] != GUARD_VALUE) {
            fail("a byte outside an arena was written");
        }
    }
}

static memory read_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    if (file == NULL || fseek(file, 0, SEEK_END) != 0) {
        fail("a plan cannot be read");
    }
    const long bytes = ftell(file);
    rewind(file);
    const memory result = reserve((size_t)bytes);
    if (fread(result.data, 1U, result.bytes, file) != result.bytes) {
        fail("a plan cannot be read");
    }
    fclose(file);
    return result;
}

static void expect(tigris_status status, tigris_status wanted, const char *when)
{
    if (status != wanted) {
        fprintf(stderr, "sessions: %s: %s\n", when, tigris_status_text(status));
        exit(1);
    }
}

/* The same bytes on every machine. */
static void write_inputs(const tigris_session *session)
{
    uint32_t state = 2463534242U;
    uint8_t *input;
    for (uint32_t i = 0; (input = tigris_input(session, i)) != NULL; i++) {
        for (uint32_t k = 0; k < tigris_input_bytes(session, i); k++) {
            state = state * 1664525U + 1013904223U;
            input[k] = (uint8_t)(state >> 24);
        }
    }
}

static uint32_t copy_outputs(const tigris_session *session, uint8_t *to)
{
    uint32_t bytes = 0U;
    const uint8_t *output;
    for (uint32_t i = 0; (output = tigris_output(session, i)) != NULL; i++) {
        memcpy(to + bytes, output, tigris_output_bytes(session, i));
        bytes += tigris_output_bytes(session, i);
    }
    return bytes;
}

static void check_outputs(const model *m, const char *when)
{
    const uint8_t *expected = m->expected;
    const uint8_t *output;
    for (uint32_t i = 0; (output = tigris_output(&m->session, i)) != NULL; i++) {
        if (memcmp(output, expected, tigris_output_bytes(&m->session, i)) != 0) {
            fprintf(stderr, "sessions: other outputs %s\n", when);
            exit(1);
        }
        expected += tigris_output_bytes(&m->session, i);
    }
    check_guards(&m->fast);
    check_guards(&m->slow);
}

static void run(model *m, const char *when)
{
    write_inputs(&m->session);
    expect(tigris_run(&m->session), TIGRIS_OK, when);
    check_outputs(m, when);
}

static tigris_status bind(model *m, uint32_t percent)
{
    const uint32_t fast_bytes = m->plan.header->fast_bytes;
    const uint32_t slow_bytes = m->plan.header->slow_bytes;
    if (percent == 0U) {
        m->fast = reserve(fast_bytes);
        m->slow = reserve(slow_bytes);
        return tigris_session_init(&m->session, &m->plan, m->fast.data, m->fast.bytes, m->slow.data, m->slow.bytes,
                                   NULL);
    }
    m->fast = reserve(fast_bytes * percent / 100U);
    m->slow = reserve(slow_bytes + 2U * fast_bytes);
    return tigris_session_init_dynamic(&m->session, &m->plan, m->fast.data, m->fast.bytes, m->slow.data, m->slow.bytes,
                                       NULL);
}

static void start(model *m, const char *path, uint32_t percent)
{
    m->file = read_file(path);
    expect(tigris_plan_open(&m->plan, m->file.data, m->file.bytes), TIGRIS_OK, path);
    expect(tigris_plan_check_crc(&m->plan), TIGRIS_OK, path);
    expect(bind(m, percent), TIGRIS_OK, path);
    write_inputs(&m->session);
    expect(tigris_run(&m->session), TIGRIS_OK, path);
    m->output_bytes = 0U;
    for (uint32_t i = 0; tigris_output(&m->session, i) != NULL; i++) {
        m->output_bytes += tigris_output_bytes(&m->session, i);
    }
    m->expected = malloc(m->output_bytes);
    if (m->expected == NULL || copy_outputs(&m->session, m->expected) != m->output_bytes) {
        fail("out of memory");
    }
    run(m, "the second time");
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
    if (visit->calls++ % visit->every == 0U) {
        run(visit->other, "inside another session's run");
    }
    return 0;
}

/* Runs `m` with the other's runs between its operators; returns how many operators yielded. */
static uint32_t interleave(model *m, model *other, uint32_t every)
{
    guest visit = {other, 0U, every};
    m->session.yield = run_the_other;
    m->session.yield_context = &visit;
    run(m, "with another session's runs in between");
    m->session.yield = NULL;
    return visit.calls;
}

static int count_down(void *context)
{
    uint32_t *left = context;
    return --*left == 0U;
}

static void cancel(model *m, uint32_t after)
{
    uint32_t left = after;
    m->session.yield = count_down;
    m->session.yield_context = &left;
    write_inputs(&m->session);
    expect(tigris_run(&m->session), TIGRIS_ERR_CANCELLED, "cancelled");
    if (left != 0U) {
        fail("a cancelled run called its hook again");
    }
    m->session.yield = NULL;
    check_guards(&m->fast);
    check_guards(&m->slow);
    run(m, "after a cancelled run");
}

#define MOST_OPS 256U

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
    if (op >= MOST_OPS) {
        fail("an operator that the plan does not have was profiled");
    }
    p->calls[op]++;
    p->elapsed[op] += elapsed;
}

static void print_profile(model *m, uint32_t yields)
{
    static profile p;
    m->session.counter = next_tick;
    m->session.profile = add_call;
    m->session.profile_context = &p;
    run(m, "profiled");
    m->session.counter = NULL;
    m->session.profile = NULL;
    uint32_t calls = 0U;
    for (uint32_t op = 0; op < m->plan.header->op_count; op++) {
        printf("%u %u\n", (unsigned)p.calls[op], (unsigned)p.elapsed[op]);
        calls += p.calls[op];
    }
    if (calls != yields || p.ticks != 2U * calls) {
        fail("the counter was not read once before and once after each call");
    }
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

static void print_outputs(const model *m)
{
    for (uint32_t i = 0; i < m->output_bytes; i++) {
        printf("%02x", m->expected[i]);
    }
    printf("\n");
}

static void end(model *m)
{
    free(m->expected);
    free(m->file.allocated);
    free(m->fast.allocated);
    free(m->slow.allocated);
}

int main(int count, char **arguments)
{
    static model first;
    static model second;
    if (count != 3 && count != 4) {
        fail("two plans are needed");
    }
    const uint32_t percent = count == 4 ? (uint32_t)strtoul(arguments[3], NULL, 10) : 0U;
    start(&first, arguments[1], percent);
    start(&second, arguments[2], percent);
    const uint32_t yields = interleave(&first, &second, 3U);
    (void)interleave(&second, &first, 2U);
    const uint32_t step = yields / 8U + 1U;
    for (uint32_t after = 1U; after <= yields; after += step) {
        cancel(&first, after);
    }
    cancel(&first, yields);
    run_without_looking_up(&second);
    print_outputs(&first);
    print_outputs(&second);
    print_profile(&first, yields);
    end(&first);
    end(&second);
    return 0;
}
