/* From accelerations to an alarm: features, the network, and how far its reconstruction is from them. */
#ifndef VIBRATION_H
#define VIBRATION_H

#include <stdbool.h>
#include <stdint.h>

#include <tigris.h>

#include "spectrum.h"

typedef struct {
    tigris_plan plan;
    tigris_session session;
    spectrum row;
    int32_t score;     /* of the latest row: the mean square of what was not reconstructed, in 16ths of a feature's step */
    uint32_t suspects; /* rows above the threshold, up to the latest */
    bool alarm;        /* ALARM_ROWS of them, or more */
} vibration;

/* Opens the network in flash; also to begin anew. */
tigris_status vibration_begin(vibration *state);

/* Takes a sample of three axes, 256 steps to a g, 800 a second. Whether it completed a row, one in 0.64 s: then `score`,
 * `suspects` and `alarm` are new. */
bool vibration_feel(vibration *state, const int16_t sample[SPECTRUM_AXES]);

#endif
