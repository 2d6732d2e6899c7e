#include "proof.h"

#include "plan.h"

static int32_t height_of(const tigris_stage_bands *bands, uint32_t view)
{
    return (int32_t)tigris_tensor_of(bands, view)->height;
}

/* Every view is written by at most one operator, and rows are stored only of views that are written. */
static tigris_status check_producers(const tigris_stage_bands *bands)
{
    for (uint32_t i = 0; i < bands->stage->op_count; i++) {
        tigris_view_state *output = &bands->states[bands->ops[i].output_view];
        if (output->need_end != 0) {
            return TIGRIS_ERR_OP;
        }
        output->need_end = 1;
    }
    for (uint32_t i = 0; i < bands->stage->view_count; i++) {
        const int stores = (bands->views[i].flags & TIGRIS_VIEW_FLAG_STORE) != 0;
        if (bands->states[i].need_end == 0 && (stores || bands->views[i].pace_numerator != 0U)) {
            return TIGRIS_ERR_VIEW;
        }
    }
    return TIGRIS_OK;
}

static tigris_status prove_windows(const tigris_stage_bands *bands)
{
    for (uint32_t i = 0; i < bands->stage->view_count; i++) {
        const tigris_view_record *view = &bands->views[i];
        const tigris_view_state *state = &bands->states[i];
        /* Rows above the kept ones are gone. */
        if ((view->flags & TIGRIS_VIEW_FLAG_KEEP) != 0U && state->need_first < state->held_first) {
            return TIGRIS_ERR_BANDS;
        }
        (void)tigris_window_begin(bands, i);
        if (state->need_end > state->held_first &&
            (uint32_t)(state->need_end - state->held_first) > view->capacity_rows) {
            return TIGRIS_ERR_BANDS;
        }
    }
    return TIGRIS_OK;
}

static tigris_status prove_operand(const tigris_stage_bands *bands, const tigris_op_record *op,
                                   const tigris_operand_record *operand, int32_t first, int32_t end)
{
    const tigris_view_record *view = &bands->views[operand->view];
    const tigris_tensor_record *tensor = tigris_tensor_of(bands, operand->view);
    tigris_view_state *state = &bands->states[operand->view];
    if ((view->flags & TIGRIS_VIEW_FLAG_LOAD) != 0U && state->held_end < state->need_end) {
        state->held_end = state->need_end;
    }
    const tigris_input_rows rows = tigris_operand_rows(operand, (int32_t)tensor->height, first, end);
    const int empty = rows.first == rows.end;
    if (!empty && (rows.first < state->held_first || rows.end > state->held_end)) {
        return TIGRIS_ERR_BANDS;
    }
    const int whole = rows.first == 0 && rows.end == (int32_t)tensor->height;
    return tigris_takes_batch_whole(op, tensor) && !whole ? TIGRIS_ERR_BANDS : TIGRIS_OK;
}

static tigris_status prove_op(const tigris_stage_bands *bands, const tigris_op_record *op)
{
    tigris_view_state *output = &bands->states[op->output_view];
    const int32_t first = output->held_end;
    const int32_t end = output->need_end;
    if (end <= first) {
        return TIGRIS_OK;
    }
    const tigris_tensor_record *tensor = tigris_tensor_of(bands, op->output_view);
    if (tigris_takes_batch_whole(op, tensor) && (first != 0 || end != (int32_t)tensor->height)) {
        return TIGRIS_ERR_BANDS;
    }
    for (uint32_t i = 0; i < op->operand_count; i++) {
        const tigris_operand_record *operand = &bands->plan->operands[op->first_operand + i];
        const tigris_status status = prove_operand(bands, op, operand, first, end);
        if (status != TIGRIS_OK) {
            return status;
        }
    }
    output->held_end = end;
    return TIGRIS_OK;
}

static tigris_status prove_band(const tigris_stage_bands *bands, uint32_t index)
{
    tigris_band_begin(bands, index);
    tigris_status status = prove_windows(bands);
    for (uint32_t i = 0; status == TIGRIS_OK && i < bands->stage->op_count; i++) {
        status = prove_op(bands, &bands->ops[i]);
    }
    return status;
}

/* Whether a view's rows are made for later stages: then all of them must be made. Other tensors need only
 * the rows that an operator reads. */
static int outlives(const tigris_view_record *view)
{
    const int at_home = !tigris_is_window(view) || (view->flags & TIGRIS_VIEW_FLAG_STORE) != 0U;
    return view->pace_numerator != 0U && at_home;
}

tigris_status tigris_prove_stage(const tigris_stage_bands *bands)
{
    tigris_status status = check_producers(bands);
    for (uint32_t band = 0; status == TIGRIS_OK && band < bands->stage->band_count; band++) {
        status = prove_band(bands, band);
    }
    for (uint32_t i = 0; status == TIGRIS_OK && i < bands->stage->view_count; i++) {
        if (outlives(&bands->views[i]) && bands->states[i].held_end != height_of(bands, i)) {
            status = TIGRIS_ERR_BANDS;
        }
    }
    return status;
}
