/* Where things lie when it is not where the plan says. */
#ifndef TIGRIS_PLACEMENT_H
#define TIGRIS_PLACEMENT_H

#include "tigris.h"

/* What a run needs an address for, and the record that names it. */
typedef enum tigris_placed {
    TIGRIS_PLACED_HOME,    /* tigris_tensor_record: a whole tensor in an arena */
    TIGRIS_PLACED_IO,      /* tigris_io_record: an input before a run, an output after it */
    TIGRIS_PLACED_WINDOW,  /* tigris_view_record of the stage that runs */
    TIGRIS_PLACED_BLOCK,   /* tigris_stage_record: the stage's weights, copied or decompressed */
    TIGRIS_PLACED_SCRATCH  /* tigris_op_record that runs */
} tigris_placed;

/* A policy. The core asks it for every address in the arenas above the run-time state, each time anew: between two
 * calls of `enter` nothing moves, during one anything may. */
typedef struct tigris_placement {
    /* Proves before a run that every run will find its room; TIGRIS_ERR_FAST_TOO_SMALL or SLOW_TOO_SMALL and
     * session->bytes_short when not. */
    tigris_status (*bind)(tigris_session *session);
    /* A run starts; the inputs are where `locate` says. */
    void (*begin)(tigris_session *session);
    /* Operator `op` of the plan, of `stage`, is about to run. Called in every band, and once before the first. */
    void (*enter)(tigris_session *session, const tigris_stage_record *stage, uint32_t op);
    uint8_t *(*locate)(const tigris_session *session, tigris_placed what, const void *record);
} tigris_placement;

#endif
