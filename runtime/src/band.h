/* Band geometry: which rows of each view a band needs, holds and makes.
 *
 * All rows are indices of a tensor's height; intervals are half-open. */
#ifndef TIGRIS_BAND_H
#define TIGRIS_BAND_H

#include "tigris.h"

/* Rows of one view; one such record per view of the stage lies at the start of the fast arena. */
typedef struct tigris_view_state {
    int32_t need_first; /* first row that the next band or a later one reads; the height when there is none */
    int32_t need_end;   /* end of the rows that this band reads or must deliver */
    int32_t held_first; /* row at the start of the window; 0 for a direct view */
    int32_t held_end;   /* end of the rows that are valid now */
} tigris_view_state;

TIGRIS_STATIC_ASSERT(sizeof(tigris_view_state) == TIGRIS_VIEW_STATE_BYTES, view_state_size);

/* Whether a session was bound to a plan that is still open: tigris_model_close clears what the plan points to. */
static inline int tigris_is_bound(const tigris_session *session)
{
    return session != NULL && session->plan != NULL && session->plan->header != NULL;
}

/* One stage during its bands. */
typedef struct tigris_stage_run {
    tigris_session *session;
    const tigris_plan *plan;
    const tigris_stage_record *stage;
    int proving; /* no data is touched, no kernel called */
} tigris_stage_run;

/* One view of a stage. */
typedef struct tigris_view {
    const tigris_view_record *record;
    const tigris_tensor_record *tensor;
    tigris_view_state *state;
} tigris_view;

/* View `index` of the stage. In line where size does not count. */
inline void tigris_view_at(const tigris_stage_run *run, uint32_t index, tigris_view *view)
{
    const tigris_plan *plan = run->plan;
    view->record = &plan->views[run->stage->first_view + index];
    view->tensor = &plan->tensors[view->record->tensor];
    view->state = (tigris_view_state *)(void *)run->session->fast + index;
}

/* Rows that a paced view of `height` rows has after `bands` bands. */
int32_t tigris_paced_rows(const tigris_view_record *view, uint32_t bands, int32_t height);

/* Rows that output rows [first, end), not empty, read of an input of `height` rows: sets first, rows and padding of
 * `input`. */
void tigris_operand_rows(const tigris_operand_record *operand, int32_t height, int32_t first, int32_t end,
                         tigris_band *input);

/* Calls the yield hook; what the run's status is then, which a kernel may have changed before. */
tigris_status tigris_yields(tigris_session *session);

/* How many of `rows` output rows an operator makes in one call: all of them without a yield hook, and with a library's
 * scratch, which is sized for the calls that the plan has. */
int32_t tigris_rows_at_once(const tigris_stage_run *run, const tigris_op_record *op, const tigris_tensor_record *output,
                            int32_t rows);

#endif
