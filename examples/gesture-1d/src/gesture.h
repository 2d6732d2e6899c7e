/* From an inertial sensor's samples to a gesture: a window, the network, and the mean of its latest answers. */
#ifndef GESTURE_H
#define GESTURE_H

#include <stdbool.h>
#include <stdint.h>

#include <tigris.h>

#ifdef __cplusplus
extern "C" {
#endif

#define GESTURE_AXES 6 /* accelerations x, y, z in 1/4096 g, then turning rates in 1/32.8 degrees a second */
#define GESTURE_SAMPLES 64
#define GESTURE_HOP 5
#define GESTURE_NAMES 4 /* the first is none */
#define GESTURE_ANSWERS 3

typedef struct {
    tigris_plan plan;
    tigris_session session;
    int8_t window[GESTURE_SAMPLES][GESTURE_AXES]; /* the latest samples, the newest last */
    uint32_t missing;                             /* samples until the network answers */
    int32_t recent[GESTURE_ANSWERS][GESTURE_NAMES];
    uint32_t answers; /* since the beginning */
    uint32_t rest;    /* answers in which nothing is told: a gesture stays in the window for a while */
    uint32_t told;    /* what the latest answer told: an index of a name, 0 most often */
} gesture;

/* Opens the network in flash; also to begin anew. */
tigris_status gesture_begin(gesture *state);

/* Takes a sample, 50 a second. Whether the network has answered, as it does ten times a second after the first 1.28 s;
 * then `told` is new. A gesture is told once. */
bool gesture_feel(gesture *state, const int16_t sample[GESTURE_AXES]);

const char *gesture_name(uint32_t told);

#ifdef __cplusplus
}
#endif

#endif
