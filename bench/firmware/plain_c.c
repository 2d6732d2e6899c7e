/* Runs one model in plain C, named `model`, and prints lines "name value": instructions, stack, whether the output is
 * the expected one, and its hash.
 *
 * bench_samples: uint32 input bytes, uint32 output bytes, input, output. */
#include "bench.h"

#include "model.h"

static MODEL_ALIGNED uint8_t fast[MODEL_FAST_BYTES];
#if MODEL_SLOW_BYTES > 0U
static MODEL_ALIGNED uint8_t slow[MODEL_SLOW_BYTES];
#define ARENAS fast, slow
#else
#define ARENAS fast
#endif

void bench_main(void)
{
    uint32_t input_bytes, output_bytes;
    const uint8_t *input = sample(0U, &input_bytes), *expected = sample(1U, &output_bytes);
    memcpy(MODEL_INPUT_IN(ARENA_OF_INPUT), input, MODEL_INPUT_BYTES);
    paint_stack();
    const uint32_t start = bench_instructions();
    const int status = model_run(MODEL_INPUT_IN(ARENA_OF_INPUT), MODEL_OUTPUT_IN(ARENA_OF_OUTPUT), ARENAS);
    print_number("run", bench_instructions() - start);
    print_number("stack_run", painted_bytes_used(__builtin_frame_address(0)));
    print_number("right", status == 0 && input_bytes == MODEL_INPUT_BYTES && output_bytes == MODEL_OUTPUT_BYTES &&
                              memcmp(MODEL_OUTPUT_IN(ARENA_OF_OUTPUT), expected, output_bytes) == 0);
    print_number("output", hash_of(MODEL_OUTPUT_IN(ARENA_OF_OUTPUT), MODEL_OUTPUT_BYTES));
    bench_exit();
}
