/* tigris_run: the one loop. Stages, their bands, and in each band every operator once.
 *
 * Nothing here knows whether a stage is normal, tiled, a chain or rolling: that is all in the views. Nor does it know
 * where anything lies: addresses come from memory.c and hold until the next `enter`. */
#include <string.h>

#include "lz4.h"
#include "memory.h"
#include "plan.h"

/* A stage being run. */
typedef struct stage_run {
    tigris_session *session;
    tigris_stage_bands bands;
} stage_run;

/* Copies rows [first, end) of every image between a view's window and its tensor's home. */
static void copy_rows(const stage_run *run, uint32_t view, int32_t first, int32_t end, tigris_access access)
{
    const tigris_tensor_record *tensor = tigris_tensor_of(&run->bands, view);
    const uint32_t image_bytes = tensor->height * tigris_row_bytes(tensor);
    const uint32_t bytes = tigris_rows_bytes(tensor, (uint32_t)(end - first));
    uint8_t *window = tigris_row_address(run->session, &run->bands, view, first);
    uint8_t *home = tigris_home_address(run->session, tensor) + (uint32_t)first * tigris_row_step(tensor);
    for (uint32_t image = 0; image < tensor->batch; image++) {
        memmove(access == TIGRIS_READ ? window : home, access == TIGRIS_READ ? home : window, bytes);
        tigris_count(run->session, home, bytes, access);
        window += image_bytes;
        home += image_bytes;
    }
}

/* Brings the rows that a view lacks of those it needs from its tensor's home. */
static void load_rows(const stage_run *run, uint32_t view)
{
    tigris_view_state *state = &run->bands.states[view];
    if ((run->bands.views[view].flags & TIGRIS_VIEW_FLAG_LOAD) != 0U && state->held_end < state->need_end) {
        copy_rows(run, view, state->held_end, state->need_end, TIGRIS_READ);
        state->held_end = state->need_end;
    }
}

/* Rows [first, end) of a view, which are held, without padding. Of no rows any address will do, so take a valid one. */
static void fill_band(const stage_run *run, const tigris_op_record *op, uint32_t view, int32_t first, int32_t end,
                      tigris_band *band)
{
    const int32_t valid = first == end ? run->bands.states[view].held_first : first;
    band->data = tigris_row_address(run->session, &run->bands, view, valid);
    band->tensor = tigris_tensor_of(&run->bands, view);
    band->first = first;
    band->rows = end - first;
    if (tigris_takes_batch_whole(op, band->tensor)) {
        band->rows *= (int32_t)band->tensor->batch;
    }
    band->pad_top = 0;
    band->pad_bottom = 0;
}

/* The rows of an operand that output rows [first, end) read. */
static void fill_input_band(const stage_run *run, const tigris_op_record *op, const tigris_operand_record *operand,
                            int32_t first, int32_t end, tigris_band *band)
{
    load_rows(run, operand->view);
    const tigris_tensor_record *tensor = tigris_tensor_of(&run->bands, operand->view);
    const tigris_input_rows rows = tigris_operand_rows(operand, (int32_t)tensor->height, first, end);
    fill_band(run, op, operand->view, rows.first, rows.end, band);
    band->pad_top = rows.pad_top;
    band->pad_bottom = rows.pad_bottom;
}

/* Counts an image of a band and goes on to the next. */
static void next_image(tigris_session *session, tigris_band *band, tigris_access access)
{
    tigris_count(session, band->data, tigris_rows_bytes(band->tensor, (uint32_t)band->rows), access);
    if (band->tensor->batch > 1U) {
        band->data += band->tensor->height * tigris_row_bytes(band->tensor);
    }
}

/* The stage's weight block, where its operators read it. */
static uint8_t *block_address(const tigris_session *session, const tigris_stage_record *stage)
{
    if (stage->weight_mode == TIGRIS_WEIGHT_MODE_IN_PLACE) {
        return (uint8_t *)(uintptr_t)(session->plan->weights + stage->block);
    }
    return tigris_fast_address(session, TIGRIS_PLACED_BLOCK, stage, stage->block_fast_offset);
}

/* Calls the kernel for each image; `bands` are the inputs' and, behind them, the output's. */
static void call_kernel(const stage_run *run, uint32_t op_index, tigris_band *bands)
{
    tigris_session *session = run->session;
    const tigris_op_record *op = &run->bands.plan->ops[op_index];
    tigris_kernel_call call;
    call.params = run->bands.plan->params + op->params;
    call.weights = block_address(session, run->bands.stage);
    call.inputs = bands;
    call.input_count = op->operand_count;
    call.output = &bands[op->operand_count];
    call.scratch = NULL;
    if (op->scratch_bytes != 0U) {
        call.scratch = tigris_fast_address(session, TIGRIS_PLACED_SCRATCH, op, op->scratch);
        tigris_count(session, call.scratch, op->scratch_bytes, TIGRIS_WRITE);
    }
    call.backend_scratch = session->backend_scratch;
    const tigris_kernel kernel = tigris_find_kernel(session->backend, op)->run;
    const uint32_t start = session->counter != NULL ? session->counter(session->profile_context) : 0U;
    for (uint32_t image = 0; image < op->images; image++) {
        kernel(&call);
        if (session->trace != NULL) {
            session->trace(session->trace_context, op_index, image, call.output);
        }
        for (uint32_t i = 0; i <= op->operand_count; i++) {
            next_image(session, &bands[i], i < op->operand_count ? TIGRIS_READ : TIGRIS_WRITE);
        }
    }
    if (session->counter != NULL && session->profile != NULL) {
        const uint32_t elapsed = session->counter(session->profile_context) - start;
        session->profile(session->profile_context, op_index, elapsed);
    }
}

/* Lets a placement make room for an operator. */
static void enter(const stage_run *run, uint32_t op_index)
{
    if (run->session->placement != NULL) {
        run->session->placement->enter(run->session, run->bands.stage, op_index);
    }
}

static tigris_status run_op(const stage_run *run, uint32_t op_index)
{
    tigris_session *session = run->session;
    const tigris_op_record *op = &run->bands.plan->ops[op_index];
    tigris_view_state *state = &run->bands.states[op->output_view];
    const int32_t first = state->held_end;
    const int32_t end = state->need_end;
    enter(run, op_index);
    if (end <= first) {
        return TIGRIS_OK;
    }
    tigris_band *bands = session->bands;
    for (uint32_t i = 0; i < op->operand_count; i++) {
        fill_input_band(run, op, &run->bands.plan->operands[op->first_operand + i], first, end, &bands[i]);
    }
    fill_band(run, op, op->output_view, first, end, &bands[op->operand_count]);
    call_kernel(run, op_index, bands);
    state->held_end = end;
    if ((run->bands.views[op->output_view].flags & TIGRIS_VIEW_FLAG_STORE) != 0U) {
        copy_rows(run, op->output_view, first, end, TIGRIS_WRITE);
    }
    const int stop = session->yield != NULL && session->yield(session->yield_context) != 0;
    return stop ? TIGRIS_ERR_CANCELLED : TIGRIS_OK;
}

static void begin_windows(const stage_run *run)
{
    for (uint32_t i = 0; i < run->bands.stage->view_count; i++) {
        const tigris_window_move move = tigris_window_begin(&run->bands, i);
        if (move.rows > 0 && move.from > 0) {
            const tigris_tensor_record *tensor = tigris_tensor_of(&run->bands, i);
            uint8_t *window = tigris_row_address(run->session, &run->bands, i, run->bands.states[i].held_first);
            memmove(window, window + (uint32_t)move.from * tigris_row_step(tensor),
                    tigris_rows_bytes(tensor, (uint32_t)move.rows));
        }
    }
}

/* Makes a stage's weight block readable. */
static tigris_status prepare_weights(const stage_run *run)
{
    tigris_session *session = run->session;
    const tigris_stage_record *stage = run->bands.stage;
    const uint8_t *stored = session->plan->weights + stage->block;
    uint8_t *block = block_address(session, stage);
    if (block == stored) {
        return TIGRIS_OK;
    }
    tigris_count(session, block, stage->block_raw_bytes, TIGRIS_WRITE);
    if (stage->weight_mode == TIGRIS_WEIGHT_MODE_COPY) {
        memcpy(block, stored, stage->block_raw_bytes);
        return TIGRIS_OK;
    }
    if (!tigris_lz4_decompress(stored, stage->block_stored_bytes, block, stage->block_raw_bytes)) {
        return TIGRIS_ERR_WEIGHT_BLOCK;
    }
    /* Values inside a compressed block could not be checked before. */
    return tigris_check_params(&run->bands, session->backend, block);
}

static tigris_status run_stage(tigris_session *session, const tigris_stage_record *stage)
{
    stage_run run;
    run.session = session;
    tigris_stage_begin(&run.bands, session->plan, stage, (tigris_view_state *)(void *)session->fast);
    enter(&run, stage->first_op);
    tigris_status status = prepare_weights(&run);
    for (uint32_t band = 0; status == TIGRIS_OK && band < stage->band_count; band++) {
        tigris_band_begin(&run.bands, band);
        begin_windows(&run);
        for (uint32_t i = 0; status == TIGRIS_OK && i < stage->op_count; i++) {
            status = run_op(&run, stage->first_op + i);
        }
    }
    return status;
}

tigris_status tigris_run(tigris_session *session)
{
    if (session == NULL || session->plan == NULL) {
        return TIGRIS_ERR_ARGUMENT;
    }
    session->usage = (tigris_usage){session->plan->header->state_bytes, 0U, 0U, 0U};
    if (session->placement != NULL) {
        session->placement->begin(session);
    }
    tigris_status status = TIGRIS_OK;
    for (uint32_t i = 0; status == TIGRIS_OK && i < session->plan->header->stage_count; i++) {
        status = run_stage(session, &session->plan->stages[i]);
    }
    return status;
}
