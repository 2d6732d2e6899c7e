/* Runs one plan and prints lines "name value": instructions to open, to compare the checksum, to initialise and to run,
 * instructions of each operator, stack and arenas used, the output's hash, and whether the output is the expected one.
 *
 * bench_samples: uint32 bytes of all inputs, uint32 output bytes, inputs, output. */
#include "bench.h"

#include "tigris.h"
#include "tigris_kernel.h"

#define FAST_BYTES (768U * 1024U)
#define SLOW_BYTES (1024U * 1024U)
#define LARGEST_OP_COUNT 256U

static TIGRIS_ALIGNED uint8_t fast[FAST_BYTES];
static TIGRIS_ALIGNED uint8_t slow[SLOW_BYTES];
static const tigris_arenas arenas = {fast, sizeof fast, slow, sizeof slow};
static uint32_t op_instructions[LARGEST_OP_COUNT];
static uint8_t taken[SLOW_BYTES]; /* of a streamed output */
static uint32_t in_hooks;         /* instructions that are the firmware's, not the runtime's */

static void demand(const char *what, tigris_status status)
{
    if (status != TIGRIS_OK) {
        fail(what, tigris_status_text(status));
    }
}

static uint32_t count(void *context)
{
    (void)context;
    return bench_instructions() - in_hooks;
}

/* Bytes of a row of the first input, or of the first output; context: the session. */
static uint32_t row_bytes(const void *context, uint32_t output)
{
    const tigris_plan *plan = ((const tigris_session *)context)->plan;
    const tigris_io_record *io = &plan->io[output != 0U ? plan->header->input_count : 0U];
    uint32_t bytes;
    (void)sample(output, &bytes);
    return bytes / plan->tensors[io->tensor].height;
}

static int fetch(void *context, uint32_t input, uint32_t first, uint32_t rows, void *destination)
{
    const uint32_t start = bench_instructions();
    uint32_t bytes;
    const uint32_t row = row_bytes(context, 0U);
    (void)input;
    memcpy(destination, sample(0U, &bytes) + first * row, rows * row);
    in_hooks += bench_instructions() - start;
    return 0;
}

static int take(void *context, uint32_t output, uint32_t first, uint32_t rows, const void *source)
{
    const uint32_t start = bench_instructions();
    const uint32_t row = row_bytes(context, 1U);
    (void)output;
    memcpy(taken + first * row, source, rows * row);
    in_hooks += bench_instructions() - start;
    return 0;
}

static void add_op(void *context, uint32_t op, uint32_t elapsed)
{
    (void)context;
    if (op < LARGEST_OP_COUNT) {
        op_instructions[op] += elapsed;
    }
}

/* Runs once. Returns the number of instructions. */
static uint32_t run(tigris_session *session)
{
    uint32_t bytes;
    const uint8_t *input = sample(0U, &bytes);
    for (uint32_t i = 0; i < session->plan->header->input_count; i++) {
        if (tigris_input(session, i) != NULL) {
            memcpy(tigris_input(session, i), input, tigris_input_bytes(session, i));
            input += tigris_input_bytes(session, i);
        }
    }
    const uint32_t start = count(NULL);
    const tigris_status status = tigris_run(session);
    const uint32_t elapsed = count(NULL) - start;
    demand("run", status);
    return elapsed;
}

static uint32_t output_is_right(const tigris_session *session)
{
    const uint8_t *made = tigris_output(session, 0);
    const uint32_t output_bytes = tigris_output_bytes(session, 0);
    uint32_t input_bytes = 0, input, output;
    for (uint32_t i = 0; i < session->plan->header->input_count; i++) {
        input_bytes += tigris_input_bytes(session, i);
    }
    (void)sample(0U, &input);
    const uint8_t *expected = sample(1U, &output);
    const int of_sizes = (input_bytes == 0U || input == input_bytes) && (made == NULL || output == output_bytes);
    return of_sizes && memcmp(made != NULL ? made : taken, expected, output) == 0;
}

static void print_ops(tigris_session *session)
{
    session->hooks.counter = count;
    session->hooks.profile = add_op;
    demand("reset", tigris_session_reset(session));
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
    demand("open", status);
    start = bench_instructions();
    status = tigris_plan_check_crc(&plan);
    print_number("check", bench_instructions() - start);
    demand("check", status);
    start = bench_instructions();
    status = tigris_session_init(&session, &plan, &arenas, NULL);
    print_number("init", bench_instructions() - start);
    demand("init", status);
    session.hooks.fetch_rows = fetch;
    session.hooks.take_rows = take;
    session.hooks.rows_context = &session;
    print_number("stack_init", painted_bytes_used(stack));
    paint_stack();
    print_number("run", run(&session));
    print_number("right", output_is_right(&session));
    print_number("stack_run", painted_bytes_used(stack));
    print_number("output", hash_of(tigris_output(&session, 0), tigris_output_bytes(&session, 0)));
    print_number("fast", session.usage.fast_peak);
    print_number("slow", session.usage.slow_peak);
    print_ops(&session);
    bench_exit();
}
