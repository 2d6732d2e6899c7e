/* From a camera's lines to whether there is a person: the camera adapter and the network, whose input is never whole in
 * memory. */
#ifndef PERSON_H
#define PERSON_H

#include <stdbool.h>
#include <stdint.h>

#include <tigris.h>
#include <tigris_camera.h>

#define PERSON_SIDE 96 /* of the network's square input */

typedef struct {
    tigris_plan plan;
    tigris_session session;
    tigris_camera_adapter rows;
    tigris_camera_line_hook next;
    void *next_context;
    int32_t score; /* of the latest picture, 0 to 256: how likely there is a person, in 256ths */
    bool seen;     /* whether that is more than PERSON_CUTOFF */
} person;

#define PERSON_CUTOFF 128

/* Opens the network in flash, for pictures of that format and size, whose square in the middle is looked at; also to begin
 * anew. */
tigris_status person_begin(person *state, tigris_pixels format, uint32_t width, uint32_t height);

/* Looks at a picture, whose lines come from `next` while the network runs: none of them is kept. Then `score` and `seen` are
 * new. TIGRIS_ERR_ROWS when `next` has no line. */
tigris_status person_look(person *state, tigris_camera_line_hook next, void *context);

#endif
