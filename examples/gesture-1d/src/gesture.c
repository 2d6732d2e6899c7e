#include "gesture.h"

#include <string.h>

#include <tigris_models.h>

#define STEP_BITS 6 /* of the sensor's steps, which the network does not see */
#define REST 10
#define CUTOFF 0.7

#if TIGRIS_MODEL_GESTURE_INPUT0_BYTES != GESTURE_SAMPLES * GESTURE_AXES || \
    TIGRIS_MODEL_GESTURE_OUTPUT0_BYTES != GESTURE_NAMES
#error "this network does not take 64 samples of 6 int8, or does not know 4 names"
#endif

/* What the sum of the latest answers must exceed, in the output's steps. */
static const int32_t cutoff = (int32_t)(CUTOFF * GESTURE_ANSWERS / TIGRIS_MODEL_GESTURE_OUTPUT0_SCALE);

TIGRIS_MODEL_GESTURE_ARENAS(arenas);

tigris_status gesture_begin(gesture *state)
{
    memset(state, 0, sizeof *state);
    state->missing = GESTURE_SAMPLES;
    const tigris_status status = tigris_model_open(&TIGRIS_MODEL_GESTURE, &state->plan);
    if (status != TIGRIS_OK)
        return status;
    return tigris_session_init(&state->session, &state->plan, &arenas, NULL);
}

static void push(gesture *state, const int16_t sample[GESTURE_AXES])
{
    memmove(state->window[0], state->window[1], sizeof state->window - sizeof state->window[0]);
    for (int axis = 0; axis < GESTURE_AXES; axis++) {
        /* Rounded to the nearest; a quotient of numbers above zero is rounded down on every machine. */
        const int32_t steps = (sample[axis] + 32768 + (1 << STEP_BITS) / 2) / (1 << STEP_BITS) - (32768 >> STEP_BITS);
        state->window[GESTURE_SAMPLES - 1][axis] =
            (int8_t)(steps < INT8_MIN ? INT8_MIN : steps > INT8_MAX ? INT8_MAX : steps);
    }
}

/* The name whose answers are above the cutoff, which at most one's are; 0 while a gesture rests. */
static uint32_t tell(gesture *state, const int8_t *output)
{
    uint32_t told = 0;
    for (uint32_t name = 0; name < GESTURE_NAMES; name++)
        state->recent[state->answers % GESTURE_ANSWERS][name] = output[name] - TIGRIS_MODEL_GESTURE_OUTPUT0_ZERO_POINT;
    state->answers++;
    for (uint32_t name = 1; name < GESTURE_NAMES; name++) {
        int32_t sum = 0;
        for (int i = 0; i < GESTURE_ANSWERS; i++)
            sum += state->recent[i][name];
        told = sum > cutoff ? name : told;
    }
    if (state->rest > 0) {
        state->rest--;
        return 0;
    }
    state->rest = told > 0 ? REST : 0;
    return told;
}

bool gesture_feel(gesture *state, const int16_t sample[GESTURE_AXES])
{
    push(state, sample);
    if (--state->missing > 0)
        return false;
    state->missing = GESTURE_HOP;
    memcpy(tigris_input(&state->session, 0), state->window, sizeof state->window);
    if (tigris_run(&state->session) != TIGRIS_OK)
        return false;
    state->told = tell(state, tigris_output(&state->session, 0));
    return true;
}

const char *gesture_name(uint32_t told)
{
    static const char *const names[GESTURE_NAMES] = {"none", "circle", "swing", "tap"};
    return told < GESTURE_NAMES ? names[told] : "?";
}
