/* Features of speech, as the networks of microWakeWord take them: of audio at 16 kHz, 40 numbers every 10 ms.
 *
 * A row is made of the latest 30 ms: Hann window, spectrum, 40 overlapping bands of equal width on the mel scale from
 * 125 to 7,500 Hz, then in each band noise reduction, automatic gain (PCAN) and a logarithm. All of it is in integers,
 * and equal to the bit to TensorFlow's "microfrontend" (github.com/tensorflow/tflite-micro,
 * tensorflow/lite/experimental/microfrontend) with the settings of microWakeWord, on every machine. There is no heap,
 * no floating point, no global state.
 *
 *     while (count > 0) {
 *         const size_t taken = speech_features_take(&front, samples, count);
 *         samples += taken;
 *         count -= taken;
 *         if (speech_features_row(&front, row))
 *             use(row);   every 160 samples, the first time after 480
 *     }
 */
#ifndef SPEECH_FEATURES_H
#define SPEECH_FEATURES_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SPEECH_FEATURES_RATE 16000  /* samples a second */
#ifndef SPEECH_FEATURES_HOP
#define SPEECH_FEATURES_HOP 160     /* samples from one row to the next: 10 ms; a build may define another */
#endif
#define SPEECH_FEATURES_WINDOW 480  /* samples that a row is made of: 30 ms */
#define SPEECH_FEATURES_CHANNELS 40 /* numbers of a row */

/* A bin of the spectrum: complex first, then its energy. */
typedef union {
    struct {
        int16_t re, im;
    } z;
    uint32_t energy;
} speech_bin;

/* One stream of audio, 2,148 bytes. Its fields belong to these functions. */
typedef struct {
    int16_t samples[SPEECH_FEATURES_WINDOW];
    uint32_t held; /* samples that are there */
    uint32_t noise[SPEECH_FEATURES_CHANNELS];
    speech_bin spectrum[256]; /* needed during speech_features_row only */
} speech_features;

/* A stream begins: no samples, no noise. */
void speech_features_reset(speech_features *front);

/* Takes samples up to the end of a window; returns how many, 0 when the window is complete and waits for its row.
 * Samples: mono, 16 bits, full scale. */
size_t speech_features_take(speech_features *front, const int16_t *samples, size_t count);

/* Whether the window is complete. If so, writes the row and moves on by SPEECH_FEATURES_HOP; if not, does nothing.
 * A number is about 64 times the natural logarithm of the band's amplitude: 0 for silence, 670 for loud speech. */
int speech_features_row(speech_features *front, uint16_t row[SPEECH_FEATURES_CHANNELS]);

/* The row as int8, as ESPHome gives it to these networks: round(256 * feature / 666) - 128, at most 127. Networks
 * quantised by TensorFlow Lite have the same step, 26 / 255 of a feature divided by 25.6, within half a percent. */
void speech_features_int8(const uint16_t row[SPEECH_FEATURES_CHANNELS], int8_t quantised[SPEECH_FEATURES_CHANNELS]);

#ifdef __cplusplus
}
#endif

#endif
