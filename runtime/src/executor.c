/* The one loop. Stages, their bands, and in each band every operator once: to prove a plan, without data, and to run
 * it. What was proved is what happens.
 *
 * Nothing here knows whether a stage is normal, tiled, a chain or rolling: that is all in the views. Nor does it know
 * where anything lies: addresses come from memory.c and hold until the next `enter`. */
#include "executor.h"

#include <string.h>

#include "dispatch.h"
#include "extents.h"
#include "lz4.h"
#include "memory.h"
#include "move.h"

/* Starts a stage: direct inputs are held whole, everything else holds nothing. Refuses a view that two operators write,
 * and rows that are to be stored or paced of a view that none writes. */
static tigris_status begin_stage(const tigris_stage_run *run)
{
    const tigris_stage_record *stage = run->stage;
    tigris_view_state *states = (tigris_view_state *)(void *)run->session->fast;
    memset(states, 0, stage->view_count * sizeof *states);
    /* Until the first band, need_end is 1 where an operator writes. */
    const tigris_op_record *op = &run->plan->ops[stage->first_op];
    for (uint32_t left = stage->op_count; left > 0U; left--, op++) {
        tigris_view_state *output = &states[op->output_view];
        if (output->need_end != 0) {
            run->session->fault.op = stage->first_op + stage->op_count - left;
            return TIGRIS_ERR_OP;
        }
        output->need_end = 1;
    }
    for (uint32_t i = 0; i < stage->view_count; i++) {
        tigris_view view;
        tigris_view_at(run, i, &view);
        if (view.state->need_end != 0) {
            continue;
        }
        if ((view.record->flags & TIGRIS_VIEW_FLAG_STORE) != 0U || view.record->pace_numerator != 0U) {
            run->session->fault.tensor = view.record->tensor;
            return TIGRIS_ERR_VIEW;
        }
        if (!tigris_is_window(view.record)) {
            view.state->held_end = (int32_t)view.tensor->height;
        }
    }
    return TIGRIS_OK;
}

/* A window whose rows the next band makes or loads again rather than keeps. */
static int is_made_again(const tigris_view_record *view)
{
    return (view->flags & (TIGRIS_VIEW_FLAG_WINDOW | TIGRIS_VIEW_FLAG_KEEP)) == TIGRIS_VIEW_FLAG_WINDOW;
}

/* Begins a view in a band, by whose end it must have the rows of `bands` bands whoever reads it. need_first is as the band
 * before found it; from here on it is found out for the next band. */
static void begin_view(const tigris_stage_run *run, uint32_t index, uint32_t bands)
{
    tigris_view view;
    tigris_view_at(run, index, &view);
    tigris_view_state *state = view.state;
    if (is_made_again(view.record) ||
        (tigris_is_window(view.record) && state->held_end <= state->need_first)) {
        state->held_first = state->need_first;
        state->held_end = state->need_first;
    }
    const int32_t height = (int32_t)view.tensor->height;
    state->need_first = height;
    state->need_end = 0;
    if (view.record->pace_numerator != 0U) {
        state->need_end = tigris_paced_rows(view.record, bands, height);
        state->need_first = state->need_end;
    }
}

/* Widens what is needed of an operator's operands: to the end of what the rows that it makes in this band read, and from
 * the beginning of what the first row that it makes in a later band reads. */
static void need_operands(const tigris_stage_run *run, const tigris_op_record *op)
{
    tigris_view output;
    tigris_view_at(run, op->output_view, &output);
    const int32_t end = output.state->need_end;
    const int makes_rows = end > output.state->held_end;
    const int32_t made = makes_rows ? end : output.state->held_end;
    int32_t next = output.state->need_first;
    if (!tigris_is_window(output.record) || (next < made && !is_made_again(output.record))) {
        next = made;
    }
    const tigris_operand_record *operand = &run->plan->operands[op->first_operand];
    tigris_band *rows = run->session->bands;
    for (uint32_t left = op->operand_count; left > 0U; left--, operand++) {
        tigris_view input;
        tigris_view_at(run, operand->view, &input);
        /* The first row follows from the one number, the end from the other. */
        tigris_operand_rows(operand, (int32_t)input.tensor->height, next, end, rows);
        if (next < (int32_t)output.tensor->height && rows->first < input.state->need_first) {
            input.state->need_first = rows->first;
        }
        if (makes_rows && rows->first + rows->rows > input.state->need_end) {
            input.state->need_end = rows->first + rows->rows;
        }
    }
}

/* Copies rows of a view, from `first` to the last that is held, from one place to another: of the image that runs, or of the
 * whole batch, all of whose rows are copied then (fill_band refuses others). A proof copies nothing. */
static void copy_rows(const tigris_stage_run *run, const tigris_view *view, int32_t first, uint32_t source, uint32_t target)
{
    if (run->proving) {
        return;
    }
    /* Within a window and where it is parked rows begin with `first` from now on. */
    const int32_t start = ((source | target) & TIGRIS_AT_HOME) != 0U ? first : view->state->held_first;
    const uint8_t *from = tigris_row_address(run->session, view, first, source);
    uint8_t *to = tigris_row_address(run->session, view, start, target);
    if (from != to) {
        const uint32_t images = tigris_window_images(run->stage, view->tensor);
        const uint32_t bytes = tigris_rows_bytes(view->tensor, (uint32_t)(view->state->held_end - first)) * images;
        tigris_move(to, from, bytes);
        tigris_count(run->session, from, bytes, TIGRIS_READ);
        tigris_count(run->session, to, bytes, TIGRIS_WRITE);
    }
}

/* Parks the rows of a window that the next band reads until its maker's turn: elsewhere, or at its start. Where it keeps
 * none of these rows, the next band empties it. */
static void park(const tigris_stage_run *run, uint32_t index)
{
    tigris_view view;
    tigris_view_at(run, index, &view);
    tigris_view_state *state = view.state;
    const int32_t first = state->need_first;
    if ((view.record->flags & TIGRIS_VIEW_FLAG_KEEP) != 0U && first >= state->held_first && first < state->held_end) {
        copy_rows(run, &view, first, view.record->offset, view.record->parked);
        state->held_first = first;
    }
}

/* What no operator reads behind this one in the band. */
static void park_operands(const tigris_stage_run *run, const tigris_op_record *op)
{
    const tigris_operand_record *operand = &run->plan->operands[op->first_operand];
    for (uint32_t left = op->operand_count; left > 0U; left--, operand++) {
        if (operand->flags != 0U) {
            park(run, operand->view);
        }
    }
}

/* Rows of a view are not where they must be. */
static tigris_status lacks_rows(const tigris_stage_run *run, const tigris_view *view)
{
    run->session->fault.tensor = view->record->tensor;
    return TIGRIS_ERR_BANDS;
}

/* Fills in where the rows of `band` lie, which an operator reads or writes: they must be held. */
static tigris_status fill_band(const tigris_stage_run *run, const tigris_op_record *op, const tigris_view *view,
                               tigris_band *band)
{
    const tigris_tensor_record *tensor = view->tensor;
    const tigris_view_state *state = view->state;
    int32_t valid = band->first;
    if (band->rows == 0) {
        valid = state->held_first; /* of no rows any address will do */
    }
    if (valid < state->held_first || valid + band->rows > state->held_end ||
        (uint32_t)(state->held_end - state->held_first) > view->record->capacity_rows) {
        return lacks_rows(run, view);
    }
    band->tensor = tensor;
    if (tigris_takes_batch_whole(op, tensor)) {
        if (band->rows != (int32_t)tensor->height) {
            return lacks_rows(run, view);
        }
        band->rows *= (int32_t)tensor->batch;
    }
    if (!run->proving) {
        band->data = run->session->rows = tigris_row_address(run->session, view, valid, view->record->offset);
    }
    return TIGRIS_OK;
}

/* The rows of an operand that output rows [first, end) read. */
static tigris_status fill_input_band(const tigris_stage_run *run, const tigris_op_record *op,
                                     const tigris_operand_record *operand, int32_t first, int32_t end,
                                     tigris_band *band)
{
    tigris_view view;
    tigris_view_at(run, operand->view, &view);
    tigris_view_state *state = view.state;
    if ((view.record->flags & TIGRIS_VIEW_FLAG_LOAD) != 0U && state->held_end < state->need_end) {
        const int32_t loaded = state->held_end;
        state->held_end = state->need_end;
        copy_rows(run, &view, loaded, TIGRIS_AT_HOME, view.record->offset);
    }
    tigris_operand_rows(operand, (int32_t)view.tensor->height, first, end, band);
    return fill_band(run, op, &view, band);
}

/* The stage's weight block, where its operators read it. */
static uint8_t *block_address(const tigris_session *session, const tigris_stage_record *stage)
{
    const int in_place = stage->weight_mode == TIGRIS_WEIGHT_MODE_IN_PLACE;
    return tigris_address(session, in_place ? TIGRIS_HOME_FLASH : TIGRIS_HOME_FAST, TIGRIS_PLACED_BLOCK, stage,
                          in_place ? stage->block : stage->block_fast_offset);
}

/* Where the rows lie that output rows [first, end) are made of, and they themselves: in session->bands, the output's last. */
static tigris_status fill_bands(const tigris_stage_run *run, const tigris_op_record *op, const tigris_view *output,
                                int32_t first, int32_t end)
{
    tigris_band *band = run->session->bands;
    const tigris_operand_record *operand = &run->plan->operands[op->first_operand];
    for (uint32_t i = 0; i < op->operand_count; i++) {
        const tigris_status status = fill_input_band(run, op, operand++, first, end, band++);
        if (status != TIGRIS_OK) {
            return status;
        }
    }
    band->first = first; /* of an output nobody asks for padding */
    band->rows = end - first;
    return fill_band(run, op, output, band);
}

/* Has the kernel make output rows [first, end), whose bands are filled, in pieces between which the yield hook is called. */
static void make_rows(const tigris_stage_run *run, const tigris_op_record *op, tigris_kernel_call *call,
                      const tigris_view *output, int32_t first, int32_t end)
{
    tigris_session *session = run->session;
    const tigris_kernel kernel = tigris_kernel_of(run, op)->run;
    const int32_t most = tigris_rows_at_once(run, op, output->tensor, end - first);
    const int is_whole = most >= end - first;
    for (int32_t made = first, stop; made < end; made = stop) {
        stop = end - made > most ? made + most : end;
        if (!is_whole) {
            if (made != first && tigris_yields(session)) {
                return;
            }
            (void)fill_bands(run, op, output, made, stop);
        }
        call->output_data = session->rows;
        if (session->split != NULL) {
            session->split(session, op, call, kernel);
        } else {
            kernel(call);
        }
    }
    if (!is_whole) {
        (void)fill_bands(run, op, output, first, end);
    }
}

/* Makes output rows [first, end), whose bands are filled. */
static void call_kernel(const tigris_stage_run *run, uint32_t op_index, const tigris_op_record *op,
                        const tigris_view *output, int32_t first, int32_t end)
{
    tigris_session *session = run->session;
    const tigris_band *made = &session->bands[op->operand_count];
    tigris_kernel_call call;
    call.params = run->plan->params + op->params;
    call.weights_in_ram = run->stage->weight_mode != TIGRIS_WEIGHT_MODE_IN_PLACE;
    call.weights = block_address(session, run->stage);
    call.inputs = session->bands;
    call.input_count = op->operand_count;
    call.output = made;
    call.scratch = NULL;
    if (op->scratch_bytes != 0U) {
        call.scratch = tigris_address(session, TIGRIS_HOME_FAST, TIGRIS_PLACED_SCRATCH, op, op->scratch);
        tigris_count(session, call.scratch, op->scratch_bytes, TIGRIS_WRITE);
    }
    call.backend_scratch = session->backend_scratch;
    call.backend_scratch_bytes = session->backend_scratch_bytes;
    call.session = session;
    const uint32_t start = session->counter != NULL ? session->counter(session->profile_context) : 0U;
    make_rows(run, op, &call, output, first, end);
    if (session->trace != NULL) {
        session->trace(session->trace_context, op_index, session->image, made);
    }
    for (const tigris_band *band = session->bands; band <= made; band++) {
        tigris_count(session, band->data, tigris_rows_bytes(band->tensor, (uint32_t)band->rows),
                     band != made ? TIGRIS_READ : TIGRIS_WRITE);
    }
    if (session->counter != NULL && session->profile != NULL) {
        const uint32_t elapsed = session->counter(session->profile_context) - start;
        session->profile(session->profile_context, op_index, elapsed);
    }
}

/* Lets a placement make room for an operator. */
static void enter(const tigris_stage_run *run, uint32_t op_index)
{
    const tigris_placement *placement = run->session->placement;
    if (!run->proving && placement != NULL) {
        placement->enter(run->session, run->stage, op_index);
    }
}

static tigris_status run_op(const tigris_stage_run *run, uint32_t op_index, const tigris_op_record *op)
{
    tigris_session *session = run->session;
    tigris_view output;
    tigris_view_at(run, op->output_view, &output);
    const int32_t first = output.state->held_end;
    const int32_t end = output.state->need_end;
    enter(run, op_index);
    if (output.record->parked != output.record->offset) { /* what it keeps comes back */
        copy_rows(run, &output, output.state->held_first, output.record->parked, output.record->offset);
    }
    if (end <= first) {
        return TIGRIS_OK;
    }
    output.state->held_end = end; /* of what it makes it may read what it made before */
    const tigris_status status = fill_bands(run, op, &output, first, end);
    if (status != TIGRIS_OK || run->proving) {
        return status;
    }
    call_kernel(run, op_index, op, &output, first, end);
    if (session->fault.status != TIGRIS_OK) { /* the yield hook, FETCH and TAKE may stop a run */
        return session->fault.status;
    }
    if ((output.record->flags & TIGRIS_VIEW_FLAG_STORE) != 0U) {
        copy_rows(run, &output, first, output.record->offset, TIGRIS_AT_HOME);
    }
    /* All states or none: between them, and behind them, a run is not stopped. */
    return op->kind == TIGRIS_OP_KIND_COMMIT ? session->fault.status : tigris_yields(session);
}

/* Makes a stage's weight block readable, and has the kernels check what they could not before. */
static tigris_status prepare_weights(const tigris_stage_run *run)
{
    tigris_session *session = run->session;
    const tigris_stage_record *stage = run->stage;
    const uint8_t *stored = run->plan->weights + stage->block;
    const int compressed = stage->weight_mode == TIGRIS_WEIGHT_MODE_LZ4;
    if (run->proving) {
        return tigris_check_params(run, compressed ? NULL : stored);
    }
    uint8_t *block = block_address(session, stage);
    if (block == stored) {
        return TIGRIS_OK;
    }
    tigris_count(session, block, stage->block_raw_bytes, TIGRIS_WRITE);
    if (!compressed) {
        tigris_move(block, stored, stage->block_raw_bytes);
        return TIGRIS_OK;
    }
    if (!tigris_lz4_decompress(stored, stage->block_stored_bytes, block, stage->block_raw_bytes)) {
        return TIGRIS_ERR_WEIGHT_BLOCK;
    }
    return tigris_check_params(run, block);
}

/* Runs a band, the last of `bands`. From the last operator to the first it is found out which rows of which view are
 * needed; then the operators run, from the first to the last. With no band it is only found out where the first begins. */
static tigris_status run_band(const tigris_stage_run *run, uint32_t bands)
{
    const tigris_stage_record *stage = run->stage;
    for (uint32_t i = 0; i < stage->view_count; i++) {
        begin_view(run, i, bands);
    }
    const tigris_op_record *op = &run->plan->ops[stage->first_op + stage->op_count];
    for (uint32_t i = 0; i < stage->op_count; i++) {
        need_operands(run, --op);
    }
    for (uint32_t i = 0; bands > 0U && i < stage->op_count; i++, op++) {
        const tigris_status status = run_op(run, stage->first_op + i, op);
        if (status != TIGRIS_OK) {
            run->session->fault.op = stage->first_op + i;
            return status;
        }
        park_operands(run, op);
    }
    return TIGRIS_OK;
}

/* Rows made for later stages must all be made. Of other tensors those that an operator reads will do. */
static tigris_status check_complete(const tigris_stage_run *run, uint32_t index)
{
    tigris_view view;
    tigris_view_at(run, index, &view);
    const int at_home = !tigris_is_window(view.record) || (view.record->flags & TIGRIS_VIEW_FLAG_STORE) != 0U;
    if (view.record->pace_numerator == 0U || !at_home || view.state->held_end == (int32_t)view.tensor->height) {
        return TIGRIS_OK;
    }
    return lacks_rows(run, &view);
}

/* Runs the stage for one image, or for all at once. */
static tigris_status run_stage(const tigris_stage_run *run)
{
    tigris_status status = begin_stage(run);
    if (status == TIGRIS_OK && run->session->image == 0U) {
        enter(run, run->stage->first_op);
        status = prepare_weights(run);
    }
    for (uint32_t bands = 0; status == TIGRIS_OK && bands <= run->stage->band_count; bands++) {
        status = run_band(run, bands);
    }
    for (uint32_t i = 0; status == TIGRIS_OK && i < run->stage->view_count; i++) {
        status = check_complete(run, i);
    }
    return status;
}

tigris_status tigris_walk(tigris_session *session, int proving)
{
    tigris_stage_run run = {session, session->plan, session->plan->stages, proving};
    tigris_status status = TIGRIS_OK;
    session->fault.stage = 0U;
    session->fault.op = session->fault.tensor = TIGRIS_NOWHERE;
    session->image = 0U;
    while (status == TIGRIS_OK && session->fault.stage < session->plan->header->stage_count) {
        status = run_stage(&run);
        /* What is proved of one image holds for all. */
        if (status == TIGRIS_OK && (proving || ++session->image == run.stage->images)) {
            session->image = 0U;
            session->fault.stage++;
            run.stage++;
        }
    }
    session->fault.status = status;
    return status;
}

tigris_status tigris_run(tigris_session *session)
{
    if (!tigris_is_bound(session)) {
        return TIGRIS_ERR_ARGUMENT;
    }
    const uint32_t flags = session->plan->header->flags;
    if (((flags & TIGRIS_HEADER_FLAG_FETCHES) != 0U && session->fetch_rows == NULL) ||
        ((flags & TIGRIS_HEADER_FLAG_TAKES) != 0U && session->take_rows == NULL)) {
        return TIGRIS_ERR_NO_ROWS_HOOK;
    }
    session->runs++;
    session->usage = (tigris_usage){session->plan->header->state_bytes, 0U, 0U, 0U};
    session->fault.status = TIGRIS_OK;
    session->checked = 0U;
    if (session->placement != NULL) {
        session->placement->begin(session);
    }
    return tigris_walk(session, 0);
}
