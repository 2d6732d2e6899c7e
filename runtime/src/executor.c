/* The executor: runs the stages of a plan, the bands of each stage, and in each band every operator once.
 *
 * tigris_session_bind runs the same loop without data to prove a plan; tigris_run runs it with data. A run therefore
 * takes exactly the steps that were proved. SPEC.md, section 4, defines the four steps of a band. The calls, in order:
 *
 *     tigris_run_stages
 *       run_stage              once per image, or once for a batch that runs whole
 *         begin_stage, prepare_weights
 *         run_band             the look-ahead (band 0), then each band
 *           begin_view         Start, for every view
 *           require_operands   Propagate, from the last operator to the first
 *           run_op             Run, from the first operator to the last
 *             fill_bands       checks that the rows are there, loads missing ones
 *             call_kernel
 *           park_operands      Park, after each run_op
 *         check_complete
 *
 * The loop does not know a stage's strategy (normal, tiled, chain, rolling): flags and paces of the views decide.
 * Addresses come from memory.c and stay valid until the next enter_op(). */
#include "executor.h"
#include "hot.h"

#include <string.h>

#include "dispatch.h"
#include "extents.h"
#include "lz4.h"
#include "memory.h"
#include "move.h"

/* Starts a stage: views without a window hold their whole tensor, unless an operator writes them; all others hold no
 * rows. Refuses a view that two operators write, and a stored or paced view that no operator writes. */
TIGRIS_HOT
static tigris_status begin_stage(const tigris_stage_run *run)
{
    const tigris_stage_record *stage = run->stage;
    tigris_view_state *states = (tigris_view_state *)(void *)run->session->fast;
    memset(states, 0, stage->view_count * sizeof *states);
    /* Until the first band, need_end == 1 marks a view that an operator of the stage writes. */
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

/* Whether each band computes or loads the window's rows again instead of keeping them. */
TIGRIS_HOT
static int is_refilled(const tigris_view_record *view)
{
    return (view->flags & (TIGRIS_VIEW_FLAG_WINDOW | TIGRIS_VIEW_FLAG_KEEP)) == TIGRIS_VIEW_FLAG_WINDOW;
}

/* Start: prepares view `index` for band `band`, counted from 1; 0 is the look-ahead before the first band. A window
 * that keeps nothing becomes empty at need_first, which the band before computed. Then need_first and need_end start
 * anew: a paced view needs the rows of its pace, every other view none. */
TIGRIS_HOT
static void begin_view(const tigris_stage_run *run, uint32_t index, uint32_t band)
{
    tigris_view view;
    tigris_view_at(run, index, &view);
    tigris_view_state *state = view.state;
    if (is_refilled(view.record) ||
        (tigris_is_window(view.record) && state->held_end <= state->need_first)) {
        state->held_first = state->need_first;
        state->held_end = state->need_first;
    }
    const int32_t height = (int32_t)view.tensor->height;
    state->need_first = height;
    state->need_end = 0;
    if (view.record->pace_numerator != 0U) {
        state->need_end = tigris_paced_rows(view.record, band, height);
        state->need_first = state->need_end;
    }
}

/* Propagate: widens the needed rows of an operator's operands. need_end grows to the last row that this band reads,
 * need_first falls to the first row that the operator's next output row, made in a later band, reads. */
TIGRIS_HOT
static void require_operands(const tigris_stage_run *run, const tigris_op_record *op)
{
    tigris_view output;
    tigris_view_at(run, op->output_view, &output);
    const int32_t end = output.state->need_end;
    const int makes_rows = end > output.state->held_end;
    const int32_t made = makes_rows ? end : output.state->held_end;
    int32_t next = output.state->need_first;
    if (!tigris_is_window(output.record) || (next < made && !is_refilled(output.record))) {
        next = made;
    }
    const tigris_operand_record *operand = &run->plan->operands[op->first_operand];
    tigris_band *rows = run->session->bands;
    for (uint32_t left = op->operand_count; left > 0U; left--, operand++) {
        tigris_view input;
        tigris_view_at(run, operand->view, &input);
        /* One call, two answers: `next` gives rows->first, `end` gives the end of the rows. */
        tigris_operand_rows(operand, (int32_t)input.tensor->height, next, end, rows);
        if (next < (int32_t)output.tensor->height && rows->first < input.state->need_first) {
            input.state->need_first = rows->first;
        }
        if (makes_rows && rows->first + rows->rows > input.state->need_end) {
            input.state->need_end = rows->first + rows->rows;
        }
    }
}

/* Copies rows [first, held_end) of a view from offset `source` to offset `target`; either may be TIGRIS_AT_HOME. Copies
 * the current image, or all images of a batch that runs whole. A proof copies nothing. */
TIGRIS_HOT
static void copy_rows(const tigris_stage_run *run, const tigris_view *view, int32_t first, uint32_t source,
                      uint32_t target)
{
    if (run->proving) {
        return;
    }
    /* From here on `first` is row 0 of the window and of its parked copy. */
    const int32_t start = ((source | target) & TIGRIS_AT_HOME) != 0U ? first : view->state->held_first;
    const uint8_t *from = tigris_row_address(run->session, view, first, source);
    uint8_t *to = tigris_row_address(run->session, view, start, target);
    if (from != to) {
        const uint32_t images = tigris_window_images(run->stage, view->tensor);
        const uint32_t bytes = tigris_rows_bytes(view->tensor, (uint32_t)(view->state->held_end - first)) * images;
        tigris_move(to, from, bytes);
        tigris_count_access(run->session, from, bytes, TIGRIS_READ);
        tigris_count_access(run->session, to, bytes, TIGRIS_WRITE);
    }
}

/* Park: moves the rows of a window that a later band reads to the view's `parked` offset, which may be the window's own
 * start. If the window holds none of those rows, the next band empties it. */
TIGRIS_HOT
static void park_window(const tigris_stage_run *run, uint32_t index)
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

/* Parks the operands that no later operator of the stage reads. */
TIGRIS_HOT
static void park_operands(const tigris_stage_run *run, const tigris_op_record *op)
{
    const tigris_operand_record *operand = &run->plan->operands[op->first_operand];
    for (uint32_t left = op->operand_count; left > 0U; left--, operand++) {
        if ((operand->flags & TIGRIS_OPERAND_FLAG_LAST) != 0U) {
            park_window(run, operand->view);
        }
    }
}

/* Refuses the band: a view does not hold rows that an operator reads or writes. */
static tigris_status report_missing_rows(const tigris_stage_run *run, const tigris_view *view)
{
    run->session->fault.tensor = view->record->tensor;
    return TIGRIS_ERR_BANDS;
}

/* Checks that `view` holds the rows of `band`, then sets the band's tensor and address. A run that takes the batch
 * whole gets the rows of all images. */
TIGRIS_HOT
static tigris_status fill_band(const tigris_stage_run *run, const tigris_op_record *op, const tigris_view *view,
                               tigris_band *band)
{
    const tigris_tensor_record *tensor = view->tensor;
    const tigris_view_state *state = view->state;
    const int32_t first = band->rows != 0 ? band->first : state->held_first; /* an empty band may lie anywhere */
    if (first < state->held_first || first + band->rows > state->held_end ||
        (uint32_t)(state->held_end - state->held_first) > view->record->capacity_rows) {
        return report_missing_rows(run, view);
    }
    band->tensor = tensor;
    if (tigris_is_whole_batch(op, tensor)) {
        if (band->rows != (int32_t)tensor->height) {
            return report_missing_rows(run, view);
        }
        band->rows *= (int32_t)tensor->batch;
    }
    if (!run->proving) {
        band->data = run->session->band_data = tigris_row_address(run->session, view, first, view->record->offset);
    }
    return TIGRIS_OK;
}

/* Fills `band` with the operand's rows that output rows [first, end) read; loads missing rows from the tensor's
 * home. */
TIGRIS_HOT
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

/* Where operators read the stage's weight block: in the plan or in the fast arena. */
TIGRIS_HOT
static uint8_t *block_address(const tigris_session *session, const tigris_stage_record *stage)
{
    const int in_place = stage->weight_mode == TIGRIS_WEIGHT_MODE_IN_PLACE;
    return tigris_address(session, in_place ? TIGRIS_HOME_FLASH : TIGRIS_HOME_FAST, TIGRIS_PLACED_BLOCK, stage,
                          in_place ? stage->block : stage->block_fast_offset);
}

/* Fills session->bands for output rows [first, end): one band per operand, then the output's. */
TIGRIS_HOT
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
    band->first = first; /* no kernel reads the padding of an output */
    band->rows = end - first;
    return fill_band(run, op, output, band);
}

/* Calls the kernel for output rows [first, end), whose bands are filled, and the yield hook between pieces of them. */
TIGRIS_HOT
static void make_rows(const tigris_stage_run *run, const tigris_op_record *op, tigris_kernel_call *call,
                      const tigris_view *output, int32_t first, int32_t end)
{
    tigris_session *session = run->session;
    const tigris_kernel kernel = tigris_kernel_of(run, op)->run;
    const int32_t rows_per_call = tigris_rows_per_call(run, op, output->tensor, end - first);
    const int is_one_call = rows_per_call >= end - first;
    for (int32_t made = first, stop; made < end; made = stop) {
        stop = end - made > rows_per_call ? made + rows_per_call : end;
        if (!is_one_call) {
            if (made != first && tigris_call_yield_hook(session)) {
                return;
            }
            (void)fill_bands(run, op, output, made, stop);
        }
        call->output_data = session->band_data;
        if (session->split != NULL) {
            session->split(session, op, call, kernel);
        } else {
            kernel(call);
        }
    }
    if (!is_one_call) {
        (void)fill_bands(run, op, output, first, end); /* the whole band again, for traces and counts */
    }
}

/* Computes output rows [first, end), whose bands are filled; counts traffic, calls the trace and profile hooks. */
TIGRIS_HOT
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
        tigris_count_access(session, call.scratch, op->scratch_bytes, TIGRIS_WRITE);
    }
    call.backend_scratch = session->backend_scratch;
    call.backend_scratch_bytes = session->backend_scratch_bytes;
    call.session = session;
    const uint32_t start = session->hooks.counter != NULL ? session->hooks.counter(session->hooks.profile_context) : 0U;
    make_rows(run, op, &call, output, first, end);
    if (session->hooks.trace != NULL) {
        session->hooks.trace(session->hooks.trace_context, op_index, session->image, made);
    }
    for (const tigris_band *band = session->bands; band <= made; band++) {
        tigris_count_access(session, band->data, tigris_rows_bytes(band->tensor, (uint32_t)band->rows),
                            band != made ? TIGRIS_READ : TIGRIS_WRITE);
    }
    if (session->hooks.counter != NULL && session->hooks.profile != NULL) {
        const uint32_t elapsed = session->hooks.counter(session->hooks.profile_context) - start;
        session->hooks.profile(session->hooks.profile_context, op_index, elapsed);
    }
}

/* Lets a dynamic placement make room for an operator; addresses may change here, and nowhere else. */
TIGRIS_HOT
static void enter_op(const tigris_stage_run *run, uint32_t op_index)
{
    const tigris_placement *placement = run->session->placement;
    if (!run->proving && placement != NULL) {
        placement->enter_op(run->session, run->stage, op_index);
    }
}

/* Run: computes the operator's output rows up to need_end, and stores them at home if the view says so. */
TIGRIS_HOT
static tigris_status run_op(const tigris_stage_run *run, uint32_t op_index, const tigris_op_record *op)
{
    tigris_session *session = run->session;
    tigris_view output;
    tigris_view_at(run, op->output_view, &output);
    const int32_t first = output.state->held_end;
    const int32_t end = output.state->need_end;
    enter_op(run, op_index);
    if (output.record->parked != output.record->offset) { /* kept rows return to the window's start */
        copy_rows(run, &output, output.state->held_first, output.record->parked, output.record->offset);
    }
    if (end <= first) {
        return TIGRIS_OK;
    }
    output.state->held_end = end; /* before the operands: a recurrent operator reads its own earlier rows */
    const tigris_status status = fill_bands(run, op, &output, first, end);
    if (status != TIGRIS_OK || run->proving) {
        return status;
    }
    call_kernel(run, op_index, op, &output, first, end);
    if (session->fault.status != TIGRIS_OK) { /* the yield hook and the kernels of FETCH and TAKE may stop a run */
        return session->fault.status;
    }
    if ((output.record->flags & TIGRIS_VIEW_FLAG_STORE) != 0U) {
        copy_rows(run, &output, first, output.record->offset, TIGRIS_AT_HOME);
    }
    /* A run must not stop between two COMMITs or after the last: it writes all states or none. */
    return op->kind == TIGRIS_OP_KIND_COMMIT ? session->fault.status : tigris_call_yield_hook(session);
}

/* Copies or decompresses the stage's weight block if it is not read in place. Kernels check their parameters during the
 * proof; for a compressed block they check again here, because its bytes were unreadable then. */
TIGRIS_HOT
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
    tigris_count_access(session, block, stage->block_raw_bytes, TIGRIS_WRITE);
    if (!compressed) {
        tigris_move(block, stored, stage->block_raw_bytes);
        return TIGRIS_OK;
    }
    if (!tigris_lz4_decompress(stored, stage->block_stored_bytes, block, stage->block_raw_bytes)) {
        return TIGRIS_ERR_WEIGHT_BLOCK;
    }
    return tigris_check_params(run, block);
}

/* Runs band `band`, counted from 1, in the steps of SPEC.md, section 4: Start, Propagate, Run, Park. Band 0 takes the
 * first two steps only: they find the first row that band 1 needs of each view. */
TIGRIS_HOT
static tigris_status run_band(const tigris_stage_run *run, uint32_t band)
{
    const tigris_stage_record *stage = run->stage;
    for (uint32_t i = 0; i < stage->view_count; i++) {
        begin_view(run, i, band);
    }
    const tigris_op_record *op = &run->plan->ops[stage->first_op + stage->op_count];
    for (uint32_t i = 0; i < stage->op_count; i++) {
        require_operands(run, --op);
    }
    for (uint32_t i = 0; band > 0U && i < stage->op_count; i++, op++) {
        const tigris_status status = run_op(run, stage->first_op + i, op);
        if (status != TIGRIS_OK) {
            run->session->fault.op = stage->first_op + i;
            return status;
        }
        park_operands(run, op);
    }
    return TIGRIS_OK;
}

/* Refuses a paced view whose rows go to the tensor's home, for later stages, and are not all there. */
static tigris_status check_complete(const tigris_stage_run *run, uint32_t index)
{
    tigris_view view;
    tigris_view_at(run, index, &view);
    const int at_home = !tigris_is_window(view.record) || (view.record->flags & TIGRIS_VIEW_FLAG_STORE) != 0U;
    if (view.record->pace_numerator == 0U || !at_home || view.state->held_end == (int32_t)view.tensor->height) {
        return TIGRIS_OK;
    }
    return report_missing_rows(run, &view);
}

/* Runs the stage for session->image, or once for the whole batch. */
TIGRIS_HOT
static tigris_status run_stage(const tigris_stage_run *run)
{
    tigris_status status = begin_stage(run);
    if (status == TIGRIS_OK && run->session->image == 0U) {
        enter_op(run, run->stage->first_op);
        status = prepare_weights(run);
    }
    for (uint32_t band = 0; status == TIGRIS_OK && band <= run->stage->band_count; band++) {
        status = run_band(run, band);
    }
    for (uint32_t i = 0; status == TIGRIS_OK && i < run->stage->view_count; i++) {
        status = check_complete(run, i);
    }
    return status;
}

tigris_status tigris_run_stages(tigris_session *session, int proving)
{
    tigris_stage_run run = {session, session->plan, session->plan->stages, proving};
    tigris_status status = TIGRIS_OK;
    session->fault.stage = 0U;
    session->fault.op = session->fault.tensor = TIGRIS_NOWHERE;
    session->image = 0U;
    while (status == TIGRIS_OK && session->fault.stage < session->plan->header->stage_count) {
        status = run_stage(&run);
        /* The proof of one image holds for all images. */
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
    if (((flags & TIGRIS_HEADER_FLAG_FETCHES) != 0U && session->hooks.fetch_rows == NULL) ||
        ((flags & TIGRIS_HEADER_FLAG_TAKES) != 0U && session->hooks.take_rows == NULL)) {
        return TIGRIS_ERR_NO_ROWS_HOOK;
    }
    session->runs++;
    session->usage = (tigris_usage){session->plan->header->state_bytes, 0U, 0U, 0U};
    session->fault.status = TIGRIS_OK;
    session->checked_multipliers = 0U;
    if (session->placement != NULL) {
        session->placement->start_run(session);
    }
    return tigris_run_stages(session, 0);
}
