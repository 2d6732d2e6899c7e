/* Runs one model that onnx2c wrote as peer_model.c, and prints, a line each, "name value": instructions, stack, and
 * whether the output is near the expected one.
 *
 * bench_samples: uint32 input bytes, uint32 output bytes, input, output. */
#include "bench.h"
#include "measured.h"

#include <string.h>

#include "peer_model.c"

#define LARGEST_OUTPUT 1024U

static float output[LARGEST_OUTPUT];

static uint32_t is_near(const uint8_t *expected, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        float wanted;
        memcpy(&wanted, expected + i * sizeof wanted, sizeof wanted);
        const float apart = output[i] > wanted ? output[i] - wanted : wanted - output[i];
        if (!(apart <= 1e-4F)) {
            return 0;
        }
    }
    return 1;
}

void bench_main(void)
{
    const uint8_t *input = bench_samples + 2U * sizeof(uint32_t);
    uint32_t sizes[2];
    memcpy(sizes, bench_samples, sizeof sizes);
    paint_stack();
    const uint32_t start = bench_instructions();
    entry((const void *)input, (void *)output);
    print_number("run", bench_instructions() - start);
    print_number("stack_run", painted_bytes_used(__builtin_frame_address(0)));
    print_number("right", sizes[1] <= sizeof output && is_near(input + sizes[0], sizes[1] / sizeof(float)));
    bench_exit();
}
