/* Audio on the standard input, 16 bits a sample, to rows of features on the standard output: 40 of 16 bits, 40 of 8. */
#include <stdio.h>

#include "speech_features.h"

enum { PIECE = 333 }; /* neither a window nor a hop */

int main(void)
{
    static speech_features front;
    static int16_t samples[PIECE];
    uint16_t row[SPEECH_FEATURES_CHANNELS];
    int8_t quantised[SPEECH_FEATURES_CHANNELS];
    size_t count;
    speech_features_reset(&front);
    while ((count = fread(samples, sizeof *samples, PIECE, stdin)) > 0U) {
        for (const int16_t *next = samples; next < samples + count;) {
            next += speech_features_take(&front, next, (size_t)(samples + count - next));
            if (speech_features_row(&front, row)) {
                speech_features_int8(row, quantised);
                fwrite(row, sizeof row, 1, stdout);
                fwrite(quantised, sizeof quantised, 1, stdout);
            }
        }
    }
    return 0;
}
