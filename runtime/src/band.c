#include "band.h"

#include <string.h>

#include "plan.h"

static int32_t clip(int32_t row, int32_t height)
{
    return row < 0 ? 0 : row > height ? height : row;
}

/* Nearly every map has denominator 1; the others are resampling operators. */
static int32_t floor_divide(int32_t a, int32_t b)
{
    if (b == 1) {
        return a;
    }
    const int32_t quotient = a / b;
    return quotient - (a % b < 0 ? 1 : 0);
}

void tigris_view_at(const tigris_stage_run *run, uint32_t index, tigris_view *view)
{
    const tigris_plan *plan = run->plan;
    view->record = &plan->views[run->stage->first_view + index];
    view->tensor = tigris_view_tensor(plan, view->record);
    view->state = (tigris_view_state *)(void *)run->session->fast + index;
}

int32_t tigris_paced_rows(const tigris_view_record *view, uint32_t bands, int32_t height)
{
    if (bands == 0U) {
        return 0; /* a positive offset brings more rows in the first band, none before it */
    }
    int32_t rows = (int32_t)(bands * view->pace_numerator) + view->pace_offset;
    /* Paces of whole and tiled stages have denominator 1: the division is for rolling stages only. */
    if (rows > 0 && view->pace_denominator != 1U) {
        rows /= (int32_t)view->pace_denominator;
    }
    return clip(rows, height);
}

tigris_input_rows tigris_operand_rows(const tigris_operand_record *operand, int32_t height, int32_t first,
                                      int32_t end)
{
    const int32_t asked_first = floor_divide(first * operand->numerator + operand->first, operand->denominator);
    const int32_t asked_end =
        floor_divide((end - 1) * operand->numerator + operand->last, operand->denominator) + 1;
    tigris_input_rows rows;
    rows.first = clip(asked_first, height);
    rows.end = clip(asked_end, height);
    /* A band that lies wholly in the padding counts all of it as rows above. */
    const int empty = rows.first == rows.end;
    rows.pad_top = empty ? asked_end - asked_first : rows.first - asked_first;
    rows.pad_bottom = empty ? 0 : asked_end - rows.end;
    return rows;
}

tigris_status tigris_stage_begin(const tigris_stage_run *run)
{
    const tigris_stage_record *stage = run->stage;
    tigris_view_state *states = (tigris_view_state *)(void *)run->session->fast;
    memset(states, 0, stage->view_count * sizeof *states);
    /* Until the first band, need_end is 1 where an operator writes. */
    for (uint32_t i = 0; i < stage->op_count; i++) {
        tigris_view_state *output = &states[run->plan->ops[stage->first_op + i].output_view];
        if (output->need_end != 0) {
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
            return TIGRIS_ERR_VIEW;
        }
        if (!tigris_is_window(view.record)) {
            view.state->held_end = (int32_t)view.tensor->height;
        }
    }
    return TIGRIS_OK;
}

/* The rows a view must deliver in this band whoever reads it. */
static void set_own_need(const tigris_view *view, uint32_t band)
{
    const int32_t height = (int32_t)view->tensor->height;
    view->state->need_first = height;
    view->state->need_end = 0;
    if (view->record->pace_numerator != 0U) {
        view->state->need_first = tigris_paced_rows(view->record, band, height);
        view->state->need_end = tigris_paced_rows(view->record, band + 1U, height);
    }
}

/* First row of an output that this band computes. */
static int32_t produce_from(const tigris_view *view)
{
    const tigris_view_state *state = view->state;
    if (!tigris_is_window(view->record)) {
        return state->held_end;
    }
    if ((view->record->flags & TIGRIS_VIEW_FLAG_KEEP) != 0U && state->held_end > state->need_first) {
        return state->held_end;
    }
    return state->need_first;
}

static void need_operands(const tigris_stage_run *run, const tigris_op_record *op)
{
    tigris_view output;
    tigris_view_at(run, op->output_view, &output);
    const int32_t first = produce_from(&output);
    if (first >= (int32_t)output.tensor->height) {
        return;
    }
    /* An output that makes no row in this band still holds on to what it will read in a later one. */
    const int makes_rows = output.state->need_end > first;
    const int32_t end = makes_rows ? output.state->need_end : first + 1;
    const tigris_operand_record *operand = &run->plan->operands[op->first_operand];
    for (uint32_t i = 0; i < op->operand_count; i++, operand++) {
        tigris_view input;
        tigris_view_at(run, operand->view, &input);
        const tigris_input_rows rows = tigris_operand_rows(operand, (int32_t)input.tensor->height, first, end);
        if (rows.first < input.state->need_first) {
            input.state->need_first = rows.first;
        }
        if (makes_rows && rows.end > input.state->need_end) {
            input.state->need_end = rows.end;
        }
    }
}

void tigris_band_begin(const tigris_stage_run *run, uint32_t index)
{
    for (uint32_t i = 0; i < run->stage->view_count; i++) {
        tigris_view view;
        tigris_view_at(run, i, &view);
        set_own_need(&view, index);
    }
    for (uint32_t i = run->stage->op_count; i-- > 0U;) {
        need_operands(run, &run->plan->ops[run->stage->first_op + i]);
    }
}
