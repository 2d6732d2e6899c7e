/* The interface of a placement: it decides addresses in place of the plan. placement_dynamic.c implements it. */
#ifndef TIGRIS_PLACEMENT_H
#define TIGRIS_PLACEMENT_H

#include "tigris.h"

/* The kinds of objects that a run needs an address for; each with the type of its record. */
typedef enum tigris_placed {
    TIGRIS_PLACED_HOME,    /* tigris_tensor_record: a whole tensor in an arena */
    TIGRIS_PLACED_IO,      /* tigris_io_record: an input before a run, an output after it */
    TIGRIS_PLACED_WINDOW,  /* tigris_view_record of the stage that runs */
    TIGRIS_PLACED_BLOCK,   /* tigris_stage_record: the stage's weights, copied or decompressed */
    TIGRIS_PLACED_SCRATCH  /* tigris_op_record that runs */
} tigris_placed;

/* memory.c asks `locate` for every address in the arenas above the run-time state, and keeps none of them. Objects move
 * during `enter_op` only. */
typedef struct tigris_placement {
    /* Proves that every run finds room in the session's arenas. If not, returns TIGRIS_ERR_FAST_TOO_SMALL or
     * TIGRIS_ERR_SLOW_TOO_SMALL and sets session->bytes_short. */
    tigris_status (*bind)(tigris_session *session);
    /* Called when a run starts. The caller has written the inputs where `locate` said. */
    void (*start_run)(tigris_session *session);
    /* Called before operator `op` of the plan, in `stage`, runs: in every band, and once before the first. */
    void (*enter_op)(tigris_session *session, const tigris_stage_record *stage, uint32_t op);
    /* The address of an object; `record` has the type that `what` names. */
    uint8_t *(*locate)(const tigris_session *session, tigris_placed what, const void *record);
} tigris_placement;

#endif
