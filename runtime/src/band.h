/* Band geometry: which rows of each view a band needs and holds. The executor, dispatch and memory share these types.
 *
 * All rows are indices of a tensor's height; intervals are half-open. */
#ifndef TIGRIS_BAND_H
#define TIGRIS_BAND_H

#include "tigris.h"

/* The rows of one view. The run-time state at the start of the fast arena is an array of these, one per view of the
 * stage. */
typedef struct tigris_view_state {
    int32_t need_first; /* first row that a later band reads; the tensor's height if none does */
    int32_t need_end;   /* end of the rows that this band reads or must make */
    int32_t held_first; /* row at the start of the window; 0 without a window */
    int32_t held_end;   /* end of the rows that are valid now */
} tigris_view_state;

TIGRIS_STATIC_ASSERT(sizeof(tigris_view_state) == TIGRIS_VIEW_STATE_BYTES, view_state_size);

/* Whether a session is bound to a plan that is still open; tigris_model_close sets plan->header to NULL. */
static inline int tigris_is_bound(const tigris_session *session)
{
    return session != NULL && session->plan != NULL && session->plan->header != NULL;
}

/* The stage that runs, and the records it belongs to. */
typedef struct tigris_stage_run {
    tigris_session *session;
    const tigris_plan *plan;
    const tigris_stage_record *stage;
    int proving; /* 1: no data is touched and no kernel called */
} tigris_stage_run;

/* One view of a stage: its record, its tensor and its rows. */
typedef struct tigris_view {
    const tigris_view_record *record;
    const tigris_tensor_record *tensor;
    tigris_view_state *state;
} tigris_view;

/* Sets *view to view `index` of the stage. Inlined except at -Os. */
inline void tigris_view_at(const tigris_stage_run *run, uint32_t index, tigris_view *view)
{
    const tigris_plan *plan = run->plan;
    view->record = &plan->views[run->stage->first_view + index];
    view->tensor = &plan->tensors[view->record->tensor];
    view->state = (tigris_view_state *)(void *)run->session->fast + index;
}

/* Rows that a paced view of a tensor with `height` rows has after `bands` bands. */
int32_t tigris_paced_rows(const tigris_view_record *view, uint32_t bands, int32_t height);

/* Sets first, rows and padding of `input` to the rows that output rows [first, end) read. `height` is the input's; the
 * range must not be empty. */
void tigris_operand_rows(const tigris_operand_record *operand, int32_t height, int32_t first, int32_t end,
                         tigris_band *input);

/* Calls the yield hook. Returns session->fault.status, which becomes TIGRIS_ERR_CANCELLED if the hook stops the run. */
tigris_status tigris_call_yield_hook(tigris_session *session);

/* How many of `rows` output rows one kernel call makes, so that it takes at most TIGRIS_YIELD_STEPS multiplications.
 * All rows if there is no yield hook or the backend has scratch of its own, which is sized for whole bands. */
int32_t tigris_rows_per_call(const tigris_stage_run *run, const tigris_op_record *op,
                             const tigris_tensor_record *output, int32_t rows);

#endif
