/* Runs one plan and prints, a line each, "name value": instructions to open, to compare the checksum, to
 * initialise and to run, those of each operator, stack and arenas used, and whether the output is the expected one.
 *
 * bench_samples: uint32 input bytes, uint32 output bytes, input, output. */
#include "bench.h"
#include "measured.h"

#include <string.h>

#include "tigris.h"
#include "tigris_kernel.h"

#define FAST_BYTES (768U * 1024U)
#define SLOW_BYTES (1024U * 1024U)
#define LARGEST_OP_COUNT 256U

static TIGRIS_ALIGNED uint8_t fast[FAST_BYTES];
static TIGRIS_ALIGNED uint8_t slow[SLOW_BYTES];
static uint32_t op_instructions[LARGEST_OP_COUNT];

static void fail(const char *what, tigris_status status)
{
    bench_print("error ");
    bench_print(what);
    bench_print(": ");
    bench_print(tigris_status_text(status));
    bench_print("\n");
    bench_exit();
}

static uint32_t count(void *context)
{
    (void)context;
    return bench_instructions();
}

static void add_op(void *context, uint32_t op, uint32_t elapsed)
{
    (void)context;
    if (op < LARGEST_OP_COUNT) {
        op_instructions[op] += elapsed;
    }
}

/* Runs once; returns the instructions it took. */
static uint32_t run(tigris_session *session)
{
    const uint8_t *input = bench_samples + 2U * sizeof(uint32_t);
    memcpy(tigris_input(session, 0), input, tigris_input_bytes(session, 0));
    const uint32_t start = bench_instructions();
    const tigris_status status = tigris_run(session);
    const uint32_t elapsed = bench_instructions() - start;
    if (status != TIGRIS_OK) {
        fail("run", status);
    }
    return elapsed;
}

static uint32_t output_is_right(const tigris_session *session)
{
    uint32_t sizes[2];
    memcpy(sizes, bench_samples, sizeof sizes);
    return sizes[0] == tigris_input_bytes(session, 0) && sizes[1] == tigris_output_bytes(session, 0) &&
           memcmp(tigris_output(session, 0), bench_samples + sizeof sizes + sizes[0], sizes[1]) == 0;
}

static void print_ops(tigris_session *session)
{
    session->counter = count;
    session->profile = add_op;
    (void)run(session);
    for (uint32_t op = 0; op < session->plan->header->op_count && op < LARGEST_OP_COUNT; op++) {
        bench_print("op");
        print_decimal(op);
        print_decimal(op_instructions[op]);
        bench_print("\n");
    }
}

void bench_main(void)
{
    const tigris_header_record *header = (const tigris_header_record *)(const void *)bench_plan;
    static tigris_plan plan; /* not on the stack, which is measured */
    static tigris_session session;
    paint_stack();
    const void *stack = __builtin_frame_address(0);
    uint32_t start = bench_instructions();
    tigris_status status = tigris_plan_open(&plan, bench_plan, header->total_bytes);
    print_number("open", bench_instructions() - start);
    if (status != TIGRIS_OK) {
        fail("open", status);
    }
    start = bench_instructions();
    status = tigris_plan_check_crc(&plan);
    print_number("check", bench_instructions() - start);
    if (status != TIGRIS_OK) {
        fail("check", status);
    }
    start = bench_instructions();
    status = tigris_session_init(&session, &plan, fast, sizeof fast, slow, sizeof slow, NULL);
    print_number("init", bench_instructions() - start);
    if (status != TIGRIS_OK) {
        fail("init", status);
    }
    print_number("stack_init", painted_bytes_used(stack));
    paint_stack();
    print_number("run", run(&session));
    print_number("right", output_is_right(&session));
    print_number("stack_run", painted_bytes_used(stack));
    print_number("fast", session.usage.fast_peak);
    print_number("slow", session.usage.slow_peak);
    print_ops(&session);
    bench_exit();
}
