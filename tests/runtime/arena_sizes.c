/* Runs plans in arenas of given sizes and compares with a run as planned. Cases from standard input: three words
 * (plan bytes, fast bytes, slow bytes; little-endian), then the plan. Prints a line for each: the status, how many bytes
 * were missing, and whether every output was the same, in a second run after one that was cancelled too.
 *
 * Arenas are allocations of exactly their size, so that AddressSanitizer and valgrind see a byte outside them. */
#define _POSIX_C_SOURCE 200112L

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tigris.h"

#define PLAN_ALIGNMENT 16U
/* Damaged plans may ask for more; they are not run then, or not to the end. */
#define LARGEST_ARENA (1U << 24)
#define MOST_CALLS 2000U

typedef struct test_case {
    uint32_t plan_bytes;
    uint32_t fast_bytes;
    uint32_t slow_bytes;
} test_case;

typedef struct arenas {
    void *fast;
    void *slow;
} arenas;

static void *allocate(size_t bytes, size_t alignment)
{
    void *memory = NULL;
    if (posix_memalign(&memory, alignment < sizeof(void *) ? sizeof(void *) : alignment, bytes) != 0) {
        abort();
    }
    memset(memory, 0xA5, bytes); /* values that nobody wrote must not matter */
    return memory;
}

static int stop(void *context)
{
    uint32_t *left = context;
    return --*left == 0U;
}

/* One inference on the same input each time, of at most `calls` kernel calls. */
static tigris_status run(tigris_session *session, uint32_t calls)
{
    void *input;
    for (uint32_t i = 0; (input = tigris_input(session, i)) != NULL; i++) {
        uint8_t *byte = input;
        for (uint32_t k = 0; k < tigris_input_bytes(session, i); k++) {
            byte[k] = (uint8_t)((k * 2654435761U + i) >> 24 & 0x3FU); /* small floats, any int8 */
        }
    }
    session->yield = stop;
    session->yield_context = &calls;
    return tigris_run(session);
}

static int same_outputs(const tigris_session *a, const tigris_session *b)
{
    const void *output;
    for (uint32_t i = 0; (output = tigris_output(a, i)) != NULL; i++) {
        if (memcmp(output, tigris_output(b, i), tigris_output_bytes(a, i)) != 0) {
            return 0;
        }
    }
    return 1;
}

/* 1 when the outputs are those of `planned`. */
static int run_and_compare(tigris_session *session, tigris_session *planned)
{
    const void *input = tigris_input(session, 0U);
    const int ran = run(planned, MOST_CALLS) == TIGRIS_OK && run(session, MOST_CALLS) == TIGRIS_OK;
    if (!ran || !same_outputs(planned, session)) {
        return 0;
    }
    const tigris_status cancelled = run(session, 1U);
    if (cancelled != TIGRIS_OK && cancelled != TIGRIS_ERR_CANCELLED) {
        return 0;
    }
    return run(session, MOST_CALLS) == TIGRIS_OK && same_outputs(planned, session) && input == tigris_input(session, 0U);
}

static void try_plan(const test_case *given, const tigris_plan *plan)
{
    tigris_session planned;
    tigris_session session;
    const tigris_header_record *header = plan->header;
    const arenas large = {allocate(header->fast_bytes, header->alignment),
                          allocate(header->slow_bytes, header->alignment)};
    const arenas small = {allocate(given->fast_bytes, header->alignment),
                          allocate(given->slow_bytes, header->alignment)};
    tigris_status status = tigris_session_init_dynamic(&session, plan, small.fast, given->fast_bytes, small.slow,
                                                       given->slow_bytes, NULL);
    const uint32_t missing = session.bytes_short;
    int same = 0;
    if (status == TIGRIS_OK) {
        status = tigris_session_init(&planned, plan, large.fast, header->fast_bytes, large.slow, header->slow_bytes,
                                     NULL);
        same = status == TIGRIS_OK && run_and_compare(&session, &planned);
    }
    printf("%d %u %d\n", (int)status, (unsigned int)missing, same);
    free(large.fast);
    free(large.slow);
    free(small.fast);
    free(small.slow);
}

static void try_case(const test_case *given, const uint8_t *data)
{
    tigris_plan plan;
    const tigris_status status = tigris_plan_open(&plan, data, given->plan_bytes);
    if (status == TIGRIS_OK && plan.header->fast_bytes <= LARGEST_ARENA && plan.header->slow_bytes <= LARGEST_ARENA) {
        try_plan(given, &plan);
    } else {
        printf("%d 0 0\n", (int)status);
    }
}

int main(void)
{
    test_case given;
    while (fread(&given, sizeof given, 1U, stdin) == 1U) {
        uint8_t *data = allocate(given.plan_bytes, PLAN_ALIGNMENT);
        if (fread(data, 1U, given.plan_bytes, stdin) != given.plan_bytes) {
            return 2;
        }
        try_case(&given, data);
        fflush(stdout);
        free(data);
    }
    return 0;
}
