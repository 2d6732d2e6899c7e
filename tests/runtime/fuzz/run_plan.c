#define _XOPEN_SOURCE 700

#include "run_plan.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

#include "crc32.h"
#include "extents.h"
#include "tigris_kernel.h"

#define PLAN_ALIGNMENT 16U
#define ANY_KERNEL_CALLS 0U
#define TICK_MICROSECONDS 10000 /* of processor time */
#define RUN_TICKS 100           /* after which a run is stopped at its next yield */
#define LONGEST_TICKS 6000      /* from yield to yield, with sanitizers: longer is a crash */
#define AMPLE_SLOW_BYTES (UINT32_C(1) << 18)

/* NULL when there is nothing to allocate. */
static uint8_t *allocate(size_t bytes, size_t alignment)
{
    void *memory = NULL;
    if (bytes == 0U)
        return NULL;
    if (posix_memalign(&memory, alignment < sizeof(void *) ? sizeof(void *) : alignment, bytes) != 0)
        abort();
    /* Not zeros: values that a plan never wrote must not harm either. */
    memset(memory, 0x81, bytes);
    return memory;
}

static tigris_arenas allocate_arenas(uint32_t fast_bytes, uint32_t slow_bytes, uint32_t alignment)
{
    return (tigris_arenas){allocate(fast_bytes, alignment), fast_bytes, allocate(slow_bytes, alignment), slow_bytes};
}

static void free_arenas(const tigris_arenas *given)
{
    free(given->fast);
    free(given->slow);
}

static volatile sig_atomic_t run_ticks, ticks_since_yield;

static void count_tick(int signal)
{
    (void)signal;
    run_ticks++;
    if (++ticks_since_yield == LONGEST_TICKS)
        abort();
}

/* A clock of processor time, which goes on from run to run. */
static void start_clock(void)
{
    static int is_started;
    struct sigaction action;
    const struct itimerval interval = {{0, TICK_MICROSECONDS}, {0, TICK_MICROSECONDS}};
    if (is_started)
        return;
    memset(&action, 0, sizeof action);
    action.sa_handler = count_tick;
    action.sa_flags = SA_RESTART;
    if (sigaction(SIGPROF, &action, NULL) != 0 || setitimer(ITIMER_PROF, &interval, NULL) != 0)
        abort();
    is_started = 1;
}

static int stops(void *context)
{
    uint32_t *left = context;
    ticks_since_yield = 0;
    return run_ticks >= RUN_TICKS || (*left != ANY_KERNEL_CALLS && --*left == 0U);
}

/* Of every byte of every output, behind that of the streamed ones. */
static uint32_t digest_outputs(const tigris_session *session, uint32_t digest)
{
    for (uint32_t i = 0; i < session->plan->header->output_count; i++) {
        const uint8_t *output = tigris_output(session, i);
        if (output != NULL)
            digest = digest * 31U + tigris_crc32(output, tigris_output_bytes(session, i));
    }
    return digest;
}

/* Every byte of every band a kernel wrote, read while it is valid. */
static void read_band(void *context, uint32_t op, uint32_t image, const tigris_band *output)
{
    uint32_t *sum = context;
    (void)op, (void)image;
    for (uint32_t i = 0; i < tigris_rows_bytes(output->tensor, (uint32_t)output->rows); i++)
        *sum += output->data[i];
}

/* What comes and goes during a run. */
typedef struct streams {
    const tigris_plan *plan;
    uint32_t times;  /* runs before this one */
    uint32_t digest; /* of the rows that were taken */
} streams;

/* Bytes [first, first + bytes) of an input: the largest of all values, then some that differ: any int8, small floats. */
static void write_values(const tigris_plan *plan, uint32_t input, uint32_t first, uint32_t bytes, uint32_t times,
                         uint8_t *destination)
{
    const uint32_t mask = plan->tensors[plan->io[input].tensor].dtype == TIGRIS_DTYPE_INT8 ? 0xFFU : 0x3FU;
    for (uint32_t k = 0; k < bytes; k++)
        destination[k] = times == 0U ? 0x7FU : (uint8_t)(((first + k) * 2654435761U + input) >> 24 & mask);
}

static void write_inputs(const tigris_session *session, uint32_t times)
{
    for (uint32_t i = 0; i < session->plan->header->input_count; i++) {
        uint8_t *input = tigris_input(session, i);
        if (input != NULL)
            write_values(session->plan, i, 0U, tigris_input_bytes(session, i), times, input);
    }
}

static int fetch_rows(void *context, uint32_t input, uint32_t first, uint32_t rows, void *destination)
{
    const streams *given = context;
    const tigris_tensor_record *tensor = &given->plan->tensors[given->plan->io[input].tensor];
    write_values(given->plan, input, tigris_rows_bytes(tensor, first), tigris_rows_bytes(tensor, rows), given->times,
                 destination);
    return 0;
}

static int take_rows(void *context, uint32_t output, uint32_t first, uint32_t rows, const void *source)
{
    streams *given = context;
    const tigris_plan *plan = given->plan;
    const tigris_tensor_record *tensor = &plan->tensors[plan->io[plan->header->input_count + output].tensor];
    given->digest = given->digest * 31U + first + tigris_crc32(source, tigris_rows_bytes(tensor, rows));
    return 0;
}

/* Two runs of `calls` kernel calls at most, or any, and of as much processor time as a run may take. */
static tigris_status run_twice(tigris_session *session, uint32_t calls, uint32_t *outputs)
{
    uint32_t left = calls;
    session->hooks.yield = stops;
    session->hooks.yield_context = &left;
    uint32_t written = 0U;
    session->hooks.trace = read_band;
    session->hooks.trace_context = &written;
    streams given = {session->plan, 0U, 0U};
    session->hooks.fetch_rows = fetch_rows;
    session->hooks.take_rows = take_rows;
    session->hooks.rows_context = &given;
    tigris_status status = TIGRIS_OK;
    for (; given.times < 2U && status == TIGRIS_OK; given.times++) {
        given.digest = 0U;
        write_inputs(session, given.times);
        run_ticks = 0;
        status = tigris_run(session);
        *outputs = digest_outputs(session, given.digest);
    }
    return status;
}

/* Binds in arenas that are likely to be smaller than planned, from a quarter of the fast and none of the slow memory on;
 * when that is refused, with what is said to be missing, and once more where that was the bookkeeping alone. */
static tigris_status bind_small(tigris_session *session, const tigris_plan *plan, uint32_t choice, tigris_arenas *given)
{
    const tigris_header_record *header = plan->header;
    const uint32_t quarter = header->fast_bytes / 4U;
    uint32_t fast_bytes = quarter + (choice >> 2) % (header->fast_bytes - quarter + 1U);
    const uint32_t some = (choice >> 16) % (2U * (header->fast_bytes + header->slow_bytes) + 1U);
    const uint32_t amounts[] = {0U, some % (header->slow_bytes + 1U), some, AMPLE_SLOW_BYTES};
    uint32_t slow_bytes = amounts[choice & 3U];
    for (uint32_t attempt = 0;; attempt++) {
        *given = allocate_arenas(fast_bytes, slow_bytes, header->alignment);
        const tigris_status status = tigris_session_init_dynamic(session, plan, given, NULL);
        uint32_t *small = status == TIGRIS_ERR_FAST_TOO_SMALL ? &fast_bytes : &slow_bytes;
        if ((status != TIGRIS_ERR_FAST_TOO_SMALL && status != TIGRIS_ERR_SLOW_TOO_SMALL) || attempt == 3U ||
            session->bytes_short > RUN_PLAN_LARGEST_ARENA)
            return status;
        *small += session->bytes_short;
        free_arenas(given);
    }
}

static tigris_status bind_given(tigris_session *session, const tigris_plan *plan, const uint32_t small[2],
                                tigris_arenas *given)
{
    *given = allocate_arenas(small[0], small[1], plan->header->alignment);
    return tigris_session_init_dynamic(session, plan, given, NULL);
}

/* Whether a run that follows a cancelled one has the same outputs and finds its input at the same place. */
static int is_unharmed_by_cancelling(tigris_session *session, uint32_t outputs)
{
    const void *input = tigris_input(session, 0U);
    uint32_t again = 0U;
    const tigris_status cancelled = run_twice(session, 1U, &again);
    return (cancelled == TIGRIS_OK || cancelled == TIGRIS_ERR_CANCELLED) &&
           run_twice(session, ANY_KERNEL_CALLS, &again) == TIGRIS_OK && again == outputs &&
           input == tigris_input(session, 0U);
}

static void run_small(const tigris_plan *plan, uint32_t choice, const uint32_t small[2], run_plan_outcome *outcome)
{
    tigris_session session;
    tigris_arenas given;
    outcome->small = small != NULL ? bind_given(&session, plan, small, &given)
                                   : bind_small(&session, plan, choice, &given);
    outcome->missing = session.bytes_short;
    if (outcome->ran && outcome->small == TIGRIS_OK && (session.placement != NULL || small != NULL)) {
        uint32_t outputs = 0U;
        const tigris_status status = run_twice(&session, ANY_KERNEL_CALLS, &outputs);
        outcome->ran_small = 1;
        outcome->differs |= outcome->status == TIGRIS_OK && status == TIGRIS_OK && outputs != outcome->outputs;
        if (outcome->status == TIGRIS_OK && small != NULL)
            outcome->differs |= status != TIGRIS_OK || !is_unharmed_by_cancelling(&session, outputs);
    }
    free_arenas(&given);
}

/* Binds and runs in arenas of the sizes in the header, with `more` bytes of fast memory. */
static uint32_t run_in(const tigris_plan *plan, uint32_t more, run_plan_outcome *outcome)
{
    const tigris_header_record *header = plan->header;
    tigris_arenas given = allocate_arenas(header->fast_bytes + more, header->slow_bytes, header->alignment);
    tigris_session session;
    outcome->status = tigris_session_init(&session, plan, &given, NULL);
    if (outcome->status == TIGRIS_OK) {
        outcome->ran = 1;
        outcome->status = run_twice(&session, ANY_KERNEL_CALLS, &outcome->outputs);
    }
    free_arenas(&given);
    return session.bytes_short;
}

/* Where a library's kernels want scratch: without any, with half of it, with all. */
static void run_planned(const tigris_plan *plan, run_plan_outcome *outcome)
{
    const uint32_t scratch = run_in(plan, 0U, outcome);
    if (outcome->status == TIGRIS_OK && scratch != 0U && scratch <= RUN_PLAN_LARGEST_ARENA) {
        const uint32_t outputs = outcome->outputs;
        const uint32_t lacking = run_in(plan, scratch / 2U, outcome);
        outcome->differs |= outcome->status != TIGRIS_OK || lacking == 0U || lacking > scratch ||
                            outcome->outputs != outputs || run_in(plan, scratch, outcome) != 0U ||
                            outcome->status != TIGRIS_OK || outcome->outputs != outputs;
        outcome->scratch = scratch;
    }
}

run_plan_outcome run_plan(const uint8_t *data, size_t bytes, const uint32_t small[2])
{
    uint8_t *copy = allocate(bytes + (bytes == 0U), PLAN_ALIGNMENT);
    if (bytes != 0U)
        memcpy(copy, data, bytes);
    run_plan_outcome outcome = {TIGRIS_OK, 0, 0, 0, 0U, TIGRIS_OK, 0U, 0U};
    tigris_plan plan;
    int may_run = 0;
    start_clock();
    ticks_since_yield = 0;
    outcome.status = tigris_plan_open(&plan, copy, bytes);
    if (outcome.status == TIGRIS_OK) {
        (void)(tigris_plan_check_crc(&plan) == TIGRIS_OK);
        if (plan.header->fast_bytes <= RUN_PLAN_LARGEST_ARENA && plan.header->slow_bytes <= RUN_PLAN_LARGEST_ARENA) {
            run_planned(&plan, &outcome);
            may_run = outcome.ran || small != NULL;
        }
        if (may_run)
            run_small(&plan, tigris_crc32(copy, bytes), small, &outcome);
    }
    free(copy);
    return outcome;
}
