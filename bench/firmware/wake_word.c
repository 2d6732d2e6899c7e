/* Listens to sound with a wake word's network in plain C, named `model`, and prints lines "name value": the most
 * instructions of a row of features and of a run, stack, and whether all answers are the expected ones.
 *
 * bench_samples: uint32 bytes of sound, uint32 answers, int16 samples, answers as the model stores them. */
#include "bench.h"

#include <speech_features.h>

#include "model.h"

static MODEL_ALIGNED uint8_t arena[MODEL_FAST_BYTES];
static speech_features front_end;

static uint32_t larger(uint32_t a, uint32_t b)
{
    return a > b ? a : b;
}

void bench_main(void)
{
    static int16_t samples[SPEECH_FEATURES_HOP];
    uint32_t bytes, answers, row = 0U, run = 0U, filled = 0U, answered = 0U, right = 1U;
    const uint8_t *sound = sample(0U, &bytes), *expected = sample(1U, &answers);
    speech_features_reset(&front_end);
    paint_stack();
    model_reset(arena);
    for (uint32_t at = 0U; at + sizeof samples <= bytes; at += (uint32_t)sizeof samples) {
        uint16_t levels[SPEECH_FEATURES_CHANNELS];
        memcpy(samples, sound + at, sizeof samples);
        uint32_t start = bench_instructions();
        speech_features_take(&front_end, samples, SPEECH_FEATURES_HOP);
        if (!speech_features_row(&front_end, levels)) {
            continue;
        }
        speech_features_int8(levels, MODEL_INPUT_IN(arena) + filled);
        row = larger(row, bench_instructions() - start);
        filled += SPEECH_FEATURES_CHANNELS;
        if (filled == MODEL_INPUT_BYTES) {
            filled = 0U;
            start = bench_instructions();
            right &= model_run(MODEL_INPUT_IN(arena), MODEL_OUTPUT_IN(arena), arena) == 0;
            run = larger(run, bench_instructions() - start);
            right &= answered < answers && MODEL_OUTPUT_IN(arena)[0] == ((const int8_t *)expected)[answered];
            answered++;
        }
    }
    print_number("row", row);
    print_number("run", run);
    print_number("stack", painted_bytes_used(__builtin_frame_address(0)));
    print_number("right", right && answered == answers);
    bench_exit();
}
