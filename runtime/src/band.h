/* Band geometry: which rows of each view a band needs, holds and makes.
 *
 * The loader proves a plan with these functions and the executor runs it with the same ones, so what
 * was proved is what happens. All rows are indices of a tensor's height; intervals are half-open. */
#ifndef TIGRIS_BAND_H
#define TIGRIS_BAND_H

#include "tigris.h"

/* Rows of one view; one such record per view of the stage lies at the start of the fast arena. */
typedef struct tigris_view_state {
    int32_t need_first; /* first row this band or a later one reads; the height when there is none */
    int32_t need_end;   /* end of the rows this band reads or must deliver */
    int32_t held_first; /* row at the start of the window; 0 for a direct view */
    int32_t held_end;   /* end of the rows that are valid now */
} tigris_view_state;

TIGRIS_STATIC_ASSERT(sizeof(tigris_view_state) == TIGRIS_VIEW_STATE_BYTES, view_state_size);

/* One stage during its bands. */
typedef struct tigris_stage_bands {
    const tigris_plan *plan;
    const tigris_stage_record *stage;
    const tigris_view_record *views; /* of the stage */
    const tigris_op_record *ops;     /* of the stage */
    tigris_view_state *states;       /* one per view */
} tigris_stage_bands;

/* Input rows [first, end) of the tensor, and the rows asked for outside it. */
typedef struct tigris_input_rows {
    int32_t first;
    int32_t end;
    int32_t pad_top;
    int32_t pad_bottom;
} tigris_input_rows;

/* Rows that stay in a window at the start of a band: `rows` of them, `from` rows above its start. */
typedef struct tigris_window_move {
    int32_t from;
    int32_t rows;
} tigris_window_move;

/* The tensor of view `index` of the stage. */
const tigris_tensor_record *tigris_tensor_of(const tigris_stage_bands *bands, uint32_t index);

/* Starts a stage: direct inputs are held whole, everything else holds nothing. */
void tigris_stage_begin(tigris_stage_bands *bands, const tigris_plan *plan, const tigris_stage_record *stage,
                        tigris_view_state *states);

/* Starts band `index`: fills in every view's needed rows, from the outputs back to the inputs. */
void tigris_band_begin(const tigris_stage_bands *bands, uint32_t index);

/* Starts view `index` in the band just begun: updates its held rows and says which ones to move. */
tigris_window_move tigris_window_begin(const tigris_stage_bands *bands, uint32_t index);

/* Rows that a paced view of `height` rows has after `bands` bands. */
int32_t tigris_paced_rows(const tigris_view_record *view, uint32_t bands, int32_t height);

/* Rows that output rows [first, end), not empty, read of an input of `height` rows. */
tigris_input_rows tigris_operand_rows(const tigris_operand_record *operand, int32_t height, int32_t first,
                                      int32_t end);

#endif
