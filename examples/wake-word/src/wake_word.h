/* From sound to "heard": features, the network, and the mean of its latest answers. */
#ifndef WAKE_WORD_H
#define WAKE_WORD_H

#include <stdbool.h>
#include <stdint.h>

#include <speech_features.h>
#include <tigris.h>

/* Of each network these are others: "sliding_window_size" and "probability_cutoff" in the .json of microWakeWord. */
#ifndef WAKE_WORD_WINDOW
#define WAKE_WORD_WINDOW 5
#endif
#ifndef WAKE_WORD_CUTOFF
#define WAKE_WORD_CUTOFF 0.7
#endif

#define WAKE_WORD_SAMPLES SPEECH_FEATURES_HOP /* 10 ms */

typedef struct {
    tigris_plan plan;
    tigris_session session;
    speech_features front;
    uint32_t row;                     /* of the network's next input */
    int32_t recent[WAKE_WORD_WINDOW]; /* the network's latest answers, the oldest at `next` */
    uint32_t next;
    int32_t answer; /* the latest of them: the probability in steps of the output's scale, most often 1/256 */
    bool heard;     /* whether it made their mean more than WAKE_WORD_CUTOFF */
} wake_word;

/* Opens the network in flash; also to begin anew. */
tigris_status wake_word_begin(wake_word *word);

/* Listens to 10 ms more: 16 kHz, mono, 16 bits. Whether the network has answered, as it does every few rows of
 * features; then `answer` and `heard` are new. A word that was heard is forgotten, so it is heard once. */
bool wake_word_listen(wake_word *word, const int16_t samples[WAKE_WORD_SAMPLES]);

#endif
