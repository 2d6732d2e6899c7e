/* Runs cases, one behind another at bench_plan: the words plan bytes, input bytes, output bytes and 0, then plan, inputs and
 * expected output, each up to a multiple of 16. A case without a plan ends them. Prints a line for each: the status,
 * whether the output is right, and the instructions of the run. */
#include "bench.h"

#include <string.h>

#include "tigris.h"

#define ARENA_BYTES (512U * 1024U)

static TIGRIS_ALIGNED uint8_t fast[ARENA_BYTES];
static TIGRIS_ALIGNED uint8_t slow[ARENA_BYTES];
static const tigris_arenas arenas = {fast, sizeof fast, slow, sizeof slow};

typedef struct test_case {
    uint32_t plan_bytes;
    uint32_t input_bytes;
    uint32_t output_bytes;
    uint32_t zero;
} test_case;

static uint32_t padded(uint32_t bytes)
{
    return (bytes + 15U) & ~15U;
}

static void run_case(const test_case *given, const uint8_t *data)
{
    static tigris_plan plan;
    static tigris_session session;
    const uint8_t *input = data + padded(given->plan_bytes);
    const uint8_t *expected = input + padded(given->input_bytes);
    uint32_t instructions = 0U;
    tigris_status status = tigris_plan_open(&plan, data, given->plan_bytes);
    if (status == TIGRIS_OK)
        status = tigris_session_init(&session, &plan, &arenas, NULL);
    if (status == TIGRIS_OK) {
        for (uint32_t i = 0; tigris_input(&session, i) != NULL; i++) {
            memcpy(tigris_input(&session, i), input, tigris_input_bytes(&session, i));
            input += tigris_input_bytes(&session, i);
        }
        instructions = bench_instructions();
        status = tigris_run(&session);
        instructions = bench_instructions() - instructions;
    }
    bench_print(status == TIGRIS_OK ? "0" : tigris_status_text(status));
    print_decimal(status == TIGRIS_OK && tigris_output_bytes(&session, 0) == given->output_bytes &&
                  memcmp(tigris_output(&session, 0), expected, given->output_bytes) == 0);
    print_decimal(instructions);
    bench_print("\n");
}

void bench_main(void)
{
    const uint8_t *at = bench_plan;
    test_case given;
    for (memcpy(&given, at, sizeof given); given.plan_bytes != 0U; memcpy(&given, at, sizeof given)) {
        at += sizeof given;
        run_case(&given, at);
        at += padded(given.plan_bytes) + padded(given.input_bytes) + padded(given.output_bytes);
    }
    bench_exit();
}
