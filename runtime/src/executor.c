/* tigris_run: the one loop. Stages, their bands, and in each band every operator once.
 *
 * Nothing here knows whether a stage is normal, tiled, a chain or rolling: that is all in the views. */
#include <string.h>

#include "lz4.h"
#include "memory.h"
#include "plan.h"

/* What an operator needs from the stage it runs in. */
typedef struct stage_run {
    tigris_session *session;
    tigris_stage_bands bands;
    const uint8_t *weights;
} stage_run;

static uint32_t kernel_rows(const tigris_op_record *op, const tigris_tensor_record *tensor, int32_t rows)
{
    return (uint32_t)rows * (tigris_takes_batch_whole(op, tensor) ? tensor->batch : 1U);
}

/* Counts the bytes that the kernel calls of one operator move through a direct view. */
static void count_direct(stage_run *run, const tigris_op_record *op, uint32_t view, int32_t first, int32_t rows,
                         tigris_access access)
{
    const tigris_view_record *record = &run->bands.views[view];
    const tigris_tensor_record *tensor = tigris_view_tensor(run->bands.plan, record);
    const uint32_t row_bytes = tigris_row_bytes(tensor);
    const uint32_t last_image = (tensor->batch - 1U) * tensor->height * row_bytes;
    if (tigris_is_window(record)) {
        const uint32_t end = tigris_rows_bytes(tensor, (uint32_t)(first + rows - run->bands.states[view].held_first));
        tigris_use_fast(run->session, record->offset + last_image + end);
        return;
    }
    const uint32_t images = tensor->batch > 1U ? tensor->batch : op->images;
    tigris_use_home(run->session, tensor, tigris_rows_bytes(tensor, (uint32_t)rows) * images,
                    last_image + tigris_rows_bytes(tensor, (uint32_t)(first + rows)), access);
}

/* Copies rows [first, end) of every image between a view's window and its tensor's home. */
static void copy_rows(stage_run *run, uint32_t view, int32_t first, int32_t end, tigris_access access)
{
    const tigris_tensor_record *tensor = tigris_view_tensor(run->bands.plan, &run->bands.views[view]);
    const uint32_t image_bytes = tensor->height * tigris_row_bytes(tensor);
    const uint32_t bytes = tigris_rows_bytes(tensor, (uint32_t)(end - first));
    uint8_t *window = tigris_row_address(run->session, &run->bands, view, first);
    uint8_t *home = tigris_home_address(run->session, tensor) + (uint32_t)first * tigris_row_step(tensor);
    for (uint32_t image = 0; image < tensor->batch; image++) {
        memmove(access == TIGRIS_READ ? window : home, access == TIGRIS_READ ? home : window, bytes);
        window += image_bytes;
        home += image_bytes;
    }
    const uint32_t last_image = (tensor->batch - 1U) * image_bytes;
    tigris_use_home(run->session, tensor, bytes * tensor->batch, last_image + tigris_rows_bytes(tensor, (uint32_t)end),
                    access);
}

/* Brings the rows that a view lacks of those it needs from its tensor's home. */
static void load_rows(stage_run *run, uint32_t view)
{
    tigris_view_state *state = &run->bands.states[view];
    if ((run->bands.views[view].flags & TIGRIS_VIEW_FLAG_LOAD) != 0U && state->held_end < state->need_end) {
        copy_rows(run, view, state->held_end, state->need_end, TIGRIS_READ);
        state->held_end = state->need_end;
    }
}

/* Takes new rows of a view to its tensor's home, if they are to outlive the stage. */
static void store_rows(stage_run *run, uint32_t view, int32_t first, int32_t end)
{
    if ((run->bands.views[view].flags & TIGRIS_VIEW_FLAG_STORE) != 0U) {
        copy_rows(run, view, first, end, TIGRIS_WRITE);
    }
}

static tigris_band input_band(stage_run *run, const tigris_op_record *op, const tigris_operand_record *operand,
                              int32_t first, int32_t end)
{
    load_rows(run, operand->view);
    const tigris_tensor_record *tensor = tigris_view_tensor(run->bands.plan, &run->bands.views[operand->view]);
    const tigris_input_rows rows = tigris_operand_rows(operand, (int32_t)tensor->height, first, end);
    const int32_t held_first = run->bands.states[operand->view].held_first;
    tigris_band band;
    /* An empty band may lie outside the rows held: any address will do, so take a valid one. */
    band.data = tigris_row_address(run->session, &run->bands, operand->view,
                                   rows.first == rows.end ? held_first : rows.first);
    band.tensor = tensor;
    band.first = rows.first;
    band.rows = (int32_t)kernel_rows(op, tensor, rows.end - rows.first);
    band.pad_top = rows.pad_top;
    band.pad_bottom = rows.pad_bottom;
    if (rows.end > rows.first) {
        count_direct(run, op, operand->view, rows.first, rows.end - rows.first, TIGRIS_READ);
    }
    return band;
}

static tigris_band output_band(stage_run *run, const tigris_op_record *op, int32_t first, int32_t end)
{
    const tigris_tensor_record *tensor = tigris_view_tensor(run->bands.plan, &run->bands.views[op->output_view]);
    tigris_band band;
    band.data = tigris_row_address(run->session, &run->bands, op->output_view, first);
    band.tensor = tensor;
    band.first = first;
    band.rows = (int32_t)kernel_rows(op, tensor, end - first);
    band.pad_top = 0;
    band.pad_bottom = 0;
    count_direct(run, op, op->output_view, first, end - first, TIGRIS_WRITE);
    return band;
}

static void next_image(tigris_band *band)
{
    if (band->tensor->batch > 1U) {
        band->data += band->tensor->height * tigris_row_bytes(band->tensor);
    }
}

/* Calls the kernel for each image; `bands` are the inputs' and, behind them, the output's. */
static void call_kernel(stage_run *run, uint32_t op_index, tigris_band *bands)
{
    tigris_session *session = run->session;
    const tigris_op_record *op = &run->bands.plan->ops[op_index];
    tigris_band *output = &bands[op->operand_count];
    tigris_kernel_call call;
    call.params = run->bands.plan->params + op->params;
    call.weights = run->weights;
    call.inputs = bands;
    call.input_count = op->operand_count;
    call.output = output;
    call.scratch = op->scratch_bytes != 0U ? session->fast + op->scratch : NULL;
    call.backend_scratch = session->backend_scratch;
    const tigris_kernel kernel = tigris_find_kernel(session->backend, op)->run;
    const uint32_t start = session->counter != NULL ? session->counter(session->profile_context) : 0U;
    for (uint32_t image = 0; image < op->images; image++) {
        kernel(&call);
        if (session->trace != NULL) {
            session->trace(session->trace_context, op_index, image, output);
        }
        for (uint32_t i = 0; i <= op->operand_count; i++) {
            next_image(&bands[i]);
        }
    }
    if (session->counter != NULL && session->profile != NULL) {
        const uint32_t elapsed = session->counter(session->profile_context) - start;
        session->profile(session->profile_context, op_index, elapsed);
    }
}

static tigris_status run_op(stage_run *run, uint32_t op_index)
{
    tigris_session *session = run->session;
    const tigris_op_record *op = &run->bands.plan->ops[op_index];
    tigris_view_state *state = &run->bands.states[op->output_view];
    const int32_t first = state->held_end;
    const int32_t end = state->need_end;
    if (end <= first) {
        return TIGRIS_OK;
    }
    tigris_band *bands = session->bands;
    for (uint32_t i = 0; i < op->operand_count; i++) {
        const tigris_operand_record *operand = &run->bands.plan->operands[op->first_operand + i];
        bands[i] = input_band(run, op, operand, first, end);
    }
    bands[op->operand_count] = output_band(run, op, first, end);
    if (op->scratch_bytes != 0U) {
        tigris_use_fast(session, op->scratch + op->scratch_bytes);
    }
    call_kernel(run, op_index, bands);
    state->held_end = end;
    store_rows(run, op->output_view, first, end);
    if (session->yield != NULL && session->yield(session->yield_context) != 0) {
        return TIGRIS_ERR_CANCELLED;
    }
    return TIGRIS_OK;
}

static void begin_windows(stage_run *run)
{
    for (uint32_t i = 0; i < run->bands.stage->view_count; i++) {
        const tigris_window_move move = tigris_window_begin(&run->bands, i);
        if (move.rows > 0 && move.from > 0) {
            const tigris_view_record *view = &run->bands.views[i];
            const tigris_tensor_record *tensor = tigris_view_tensor(run->bands.plan, view);
            uint8_t *window = run->session->fast + view->offset;
            memmove(window, window + (uint32_t)move.from * tigris_row_step(tensor),
                    tigris_rows_bytes(tensor, (uint32_t)move.rows));
        }
    }
}

/* Makes a stage's weight block readable. */
static tigris_status prepare_weights(stage_run *run, const tigris_stage_record *stage)
{
    tigris_session *session = run->session;
    const uint8_t *stored = session->plan->weights + stage->block;
    if (stage->weight_mode == TIGRIS_WEIGHT_MODE_IN_PLACE) {
        run->weights = stored;
        return TIGRIS_OK;
    }
    uint8_t *block = session->fast + stage->block_fast_offset;
    run->weights = block;
    tigris_use_fast(session, stage->block_fast_offset + stage->block_raw_bytes);
    if (stage->weight_mode == TIGRIS_WEIGHT_MODE_COPY) {
        memcpy(block, stored, stage->block_raw_bytes);
        return TIGRIS_OK;
    }
    if (!tigris_lz4_decompress(stored, stage->block_stored_bytes, block, stage->block_raw_bytes)) {
        return TIGRIS_ERR_WEIGHT_BLOCK;
    }
    /* Values inside a compressed block could not be checked before. */
    return tigris_check_stage_params(session->plan, stage, session->backend, block);
}

static tigris_status run_stage(tigris_session *session, const tigris_stage_record *stage)
{
    stage_run run;
    run.session = session;
    tigris_stage_begin(&run.bands, session->plan, stage, (tigris_view_state *)(void *)session->fast);
    tigris_status status = prepare_weights(&run, stage);
    for (uint32_t band = 0; status == TIGRIS_OK && band < stage->band_count; band++) {
        tigris_band_begin(&run.bands, band);
        begin_windows(&run);
        for (uint32_t i = 0; status == TIGRIS_OK && i < stage->op_count; i++) {
            status = run_op(&run, stage->first_op + i);
        }
    }
    return status;
}

/* Inputs and outputs take their memory whatever the stages do with it. */
static void begin_usage(tigris_session *session)
{
    const tigris_plan *plan = session->plan;
    memset(&session->usage, 0, sizeof session->usage);
    tigris_use_fast(session, plan->header->state_bytes);
    for (uint32_t i = 0; i < (uint32_t)plan->header->input_count + plan->header->output_count; i++) {
        const tigris_tensor_record *tensor = &plan->tensors[plan->io[i].tensor];
        tigris_use_home(session, tensor, 0U, tigris_tensor_bytes(tensor), TIGRIS_READ);
    }
}

tigris_status tigris_run(tigris_session *session)
{
    if (session == NULL || session->plan == NULL) {
        return TIGRIS_ERR_ARGUMENT;
    }
    begin_usage(session);
    tigris_status status = TIGRIS_OK;
    for (uint32_t i = 0; status == TIGRIS_OK && i < session->plan->header->stage_count; i++) {
        status = run_stage(session, &session->plan->stages[i]);
    }
    return status;
}
