/* Runs one model that is plain C and prints, a line each, "name value": instructions, stack, and whether the output is
 * the expected one. The model is called `model`.
 *
 * bench_samples: uint32 input bytes, uint32 output bytes, input, output. */
#include "bench.h"

#include <string.h>

#include "model.h"

#define STACK_PAINT 0x5A17AB1EU

static MODEL_ALIGNED uint8_t fast[MODEL_FAST_BYTES];
#if MODEL_SLOW_BYTES > 0U
static MODEL_ALIGNED uint8_t slow[MODEL_SLOW_BYTES];
#define ARENAS fast, slow
#else
#define ARENAS fast
#endif

static void print_number(const char *name, uint32_t value)
{
    char text[12];
    size_t at = sizeof text - 1U;
    text[at] = '\0';
    do {
        text[--at] = (char)('0' + value % 10U);
        value /= 10U;
    } while (value != 0U);
    bench_print(name);
    bench_print(" ");
    bench_print(text + at);
    bench_print("\n");
}

/* Its own frame, so that it paints below its caller's. */
__attribute__((noinline)) static void paint_stack(void)
{
    volatile uint32_t *here = (volatile uint32_t *)__builtin_frame_address(0) - 16;
    for (volatile uint32_t *word = bench_stack_low; word < here; word++) {
        *word = STACK_PAINT;
    }
}

static uint32_t painted_bytes_used(const void *from)
{
    const uint32_t *word = bench_stack_low;
    while (*word == STACK_PAINT) {
        word++;
    }
    return (uint32_t)((const uint8_t *)from - (const uint8_t *)word);
}

void bench_main(void)
{
    const uint8_t *input = bench_samples + 2U * sizeof(uint32_t);
    uint32_t sizes[2];
    memcpy(sizes, bench_samples, sizeof sizes);
    memcpy(MODEL_INPUT_IN(ARENA_OF_INPUT), input, MODEL_INPUT_BYTES);
    paint_stack();
    const uint32_t start = bench_instructions();
    const int status = model_run(MODEL_INPUT_IN(ARENA_OF_INPUT), MODEL_OUTPUT_IN(ARENA_OF_OUTPUT), ARENAS);
    print_number("run", bench_instructions() - start);
    print_number("stack_run", painted_bytes_used(__builtin_frame_address(0)));
    print_number("right", status == 0 && sizes[0] == MODEL_INPUT_BYTES && sizes[1] == MODEL_OUTPUT_BYTES &&
                              memcmp(MODEL_OUTPUT_IN(ARENA_OF_OUTPUT), input + sizes[0], sizes[1]) == 0);
    bench_exit();
}
