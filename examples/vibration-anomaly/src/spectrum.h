/* From accelerations to rows of features: power by frequency, whatever way the sensor lies.
 *
 * Four windows of 128 samples of three axes; of each, power at 62 frequencies from RATE / 64 to RATE * 63 / 128, added up
 * over windows and axes; its logarithm, 8 steps an octave, makes a byte. In integers, so train/spectrum.py has the same. */
#ifndef SPECTRUM_H
#define SPECTRUM_H

#include <stdbool.h>
#include <stdint.h>

#define SPECTRUM_AXES 3
#define SPECTRUM_WINDOW 128
#define SPECTRUM_WINDOWS 4
#define SPECTRUM_BANDS 62

typedef struct {
    int16_t samples[SPECTRUM_WINDOW][SPECTRUM_AXES];
    uint64_t power[SPECTRUM_BANDS];
    uint32_t held;    /* samples of the window */
    uint32_t windows; /* in `power` */
} spectrum;

void spectrum_reset(spectrum *row);

/* Takes a sample, any int16. Whether it completed a row: then `features` are new. */
bool spectrum_take(spectrum *row, const int16_t sample[SPECTRUM_AXES], uint8_t features[SPECTRUM_BANDS]);

#endif
