#include "vibration.h"

#include <string.h>

#include <tigris_models.h>

#include "threshold.h"

#if TIGRIS_MODEL_VIBRATION_INPUT0_BYTES != SPECTRUM_BANDS || TIGRIS_MODEL_VIBRATION_OUTPUT0_BYTES != SPECTRUM_BANDS
#error "this network does not take 62 int8 and give 62"
#endif

/* What a step of the output is in 16ths of a feature's, in 65536ths: a feature's step is 1/255 of the network's unit. */
static const int32_t step = (int32_t)(TIGRIS_MODEL_VIBRATION_OUTPUT0_SCALE * 255 * 16 * 65536 + 0.5);

TIGRIS_MODEL_VIBRATION_ARENAS(arenas);

tigris_status vibration_begin(vibration *state)
{
    memset(state, 0, sizeof *state);
    spectrum_reset(&state->row);
    const tigris_status status = tigris_model_open(&TIGRIS_MODEL_VIBRATION, &state->plan);
    if (status != TIGRIS_OK)
        return status;
    return tigris_session_init(&state->session, &state->plan, &arenas, NULL);
}

/* Of the row that the network has just reconstructed. */
static int32_t score(const int8_t *output, const uint8_t features[SPECTRUM_BANDS])
{
    int64_t sum = 0;
    for (int i = 0; i < SPECTRUM_BANDS; i++) {
        const int64_t made = (int64_t)(output[i] - TIGRIS_MODEL_VIBRATION_OUTPUT0_ZERO_POINT) * step / 65536;
        sum += (made - 16 * features[i]) * (made - 16 * features[i]);
    }
    return (int32_t)(sum / SPECTRUM_BANDS);
}

bool vibration_feel(vibration *state, const int16_t sample[SPECTRUM_AXES])
{
    uint8_t features[SPECTRUM_BANDS];
    if (!spectrum_take(&state->row, sample, features))
        return false;
    int8_t *input = tigris_input(&state->session, 0);
    for (int i = 0; i < SPECTRUM_BANDS; i++)
        input[i] = (int8_t)(features[i] + TIGRIS_MODEL_VIBRATION_INPUT0_ZERO_POINT);
    if (tigris_run(&state->session) != TIGRIS_OK)
        return false;
    state->score = score(tigris_output(&state->session, 0), features);
    state->suspects = state->score > THRESHOLD ? state->suspects + 1 : 0;
    state->alarm = state->suspects >= ALARM_ROWS;
    return true;
}
