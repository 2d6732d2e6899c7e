/* From a camera's lines to whether there is a person: the row adapter and the network. */
#ifndef PERSON_H
#define PERSON_H

#include <stdbool.h>
#include <stdint.h>

#include <tigris.h>
#include <tigris_rows.h>

#define PERSON_SIDE 96 /* of the network's square input */

typedef struct {
    tigris_plan plan;
    tigris_session session;
    tigris_rows_adapter rows;
    int32_t score; /* of the latest picture, 0 to 256: how likely there is a person, in 256ths */
    bool seen;     /* whether that is more than PERSON_CUTOFF */
} person;

#define PERSON_CUTOFF 128

/* Opens the network in flash, for pictures of that format and size, whose square in the middle is looked at; also to begin
 * anew. */
tigris_status person_begin(person *state, tigris_pixels format, uint32_t width, uint32_t height);

/* Takes the next line of a picture. Whether that made the network answer; then `score` and `seen` are new. Lines that are
 * too short are none. */
bool person_line(person *state, const uint8_t *line, size_t bytes);

#endif
