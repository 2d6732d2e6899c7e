#include "wake_word.h"

#include <string.h>

#include <tigris_models.h>

#define CHANNELS SPEECH_FEATURES_CHANNELS
#define ROWS (TIGRIS_MODEL_WAKE_INPUT0_BYTES / CHANNELS)

#if TIGRIS_MODEL_WAKE_INPUT0_BYTES % SPEECH_FEATURES_CHANNELS != 0 || TIGRIS_MODEL_WAKE_OUTPUT0_BYTES != 1
#error "this network does not take rows of 40 int8, or does not answer with one probability"
#endif

/* What the sum of the window must exceed. */
static const int32_t cutoff = (int32_t)(WAKE_WORD_CUTOFF * WAKE_WORD_WINDOW / TIGRIS_MODEL_WAKE_OUTPUT0_SCALE);

TIGRIS_MODEL_WAKE_ARENAS(arenas);

tigris_status wake_word_begin(wake_word *word)
{
    memset(word, 0, sizeof *word);
    speech_features_reset(&word->front);
    const tigris_status status = tigris_model_open(&TIGRIS_MODEL_WAKE, &word->plan);
    if (status != TIGRIS_OK)
        return status;
    return tigris_session_init(&word->session, &word->plan, &arenas, NULL);
}

/* The network answers the rows in its input. */
static bool ask(wake_word *word)
{
    word->row = 0;
    if (tigris_run(&word->session) != TIGRIS_OK)
        return false;
    word->answer = *(const int8_t *)tigris_output(&word->session, 0) - TIGRIS_MODEL_WAKE_OUTPUT0_ZERO_POINT;
    word->recent[word->next] = word->answer;
    word->next = (word->next + 1) % WAKE_WORD_WINDOW;

    int32_t sum = 0;
    for (int i = 0; i < WAKE_WORD_WINDOW; i++)
        sum += word->recent[i];
    word->heard = sum > cutoff;
    if (word->heard) {
        memset(word->recent, 0, sizeof word->recent);
        return tigris_session_reset(&word->session) == TIGRIS_OK;
    }
    return true;
}

bool wake_word_listen(wake_word *word, const int16_t samples[WAKE_WORD_SAMPLES])
{
    uint16_t row[CHANNELS];
    speech_features_take(&word->front, samples, WAKE_WORD_SAMPLES);
    if (!speech_features_row(&word->front, row))
        return false;
    int8_t *input = tigris_input(&word->session, 0);
    speech_features_int8(row, input + word->row * CHANNELS);
    return ++word->row == ROWS && ask(word);
}
