/* Runs one model that onnx2c wrote as peer_model.c, and prints, a line each, "name value": instructions, stack, and
 * whether the output is near the expected one.
 *
 * bench_samples: uint32 input bytes, uint32 output bytes, input, output. */
#include "bench.h"

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
    uint32_t input_bytes, output_bytes;
    const uint8_t *input = sample(0U, &input_bytes), *expected = sample(1U, &output_bytes);
    paint_stack();
    const uint32_t start = bench_instructions();
    entry((const void *)input, (void *)output);
    print_number("run", bench_instructions() - start);
    print_number("stack_run", painted_bytes_used(__builtin_frame_address(0)));
    print_number("right", output_bytes <= sizeof output && is_near(expected, output_bytes / sizeof(float)));
    bench_exit();
}
