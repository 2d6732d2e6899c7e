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

const tigris_tensor_record *tigris_tensor_of(const tigris_stage_bands *bands, uint32_t index)
{
    return tigris_view_tensor(bands->plan, &bands->views[index]);
}

static int32_t height_of(const tigris_stage_bands *bands, uint32_t view)
{
    return (int32_t)tigris_tensor_of(bands, view)->height;
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

void tigris_stage_begin(tigris_stage_bands *bands, const tigris_plan *plan, const tigris_stage_record *stage,
                        tigris_view_state *states)
{
    bands->plan = plan;
    bands->stage = stage;
    bands->views = &plan->views[stage->first_view];
    bands->ops = &plan->ops[stage->first_op];
    bands->states = states;
    memset(states, 0, stage->view_count * sizeof *states);
    for (uint32_t i = 0; i < stage->view_count; i++) {
        if (!tigris_is_window(&bands->views[i])) {
            states[i].held_end = height_of(bands, i);
        }
    }
    for (uint32_t i = 0; i < stage->op_count; i++) {
        states[bands->ops[i].output_view].held_end = 0;
    }
}

/* The rows a view must deliver in this band whoever reads it. */
static void set_own_need(const tigris_stage_bands *bands, uint32_t view, uint32_t band)
{
    const tigris_view_record *record = &bands->views[view];
    const int32_t height = height_of(bands, view);
    tigris_view_state *state = &bands->states[view];
    state->need_first = height;
    state->need_end = 0;
    if (record->pace_numerator != 0U) {
        state->need_first = tigris_paced_rows(record, band, height);
        state->need_end = tigris_paced_rows(record, band + 1U, height);
    }
}

/* First row of an output that this band computes. */
static int32_t produce_from(const tigris_view_record *view, const tigris_view_state *state)
{
    if (!tigris_is_window(view)) {
        return state->held_end;
    }
    if ((view->flags & TIGRIS_VIEW_FLAG_KEEP) != 0U && state->held_end > state->need_first) {
        return state->held_end;
    }
    return state->need_first;
}

static void need_operands(const tigris_stage_bands *bands, const tigris_op_record *op)
{
    const tigris_view_state *output = &bands->states[op->output_view];
    const int32_t first = produce_from(&bands->views[op->output_view], output);
    if (first >= height_of(bands, op->output_view)) {
        return;
    }
    /* An output that makes no row in this band still holds on to what it will read in a later one. */
    const int makes_rows = output->need_end > first;
    const tigris_operand_record *operands = &bands->plan->operands[op->first_operand];
    for (uint32_t i = 0; i < op->operand_count; i++) {
        tigris_view_state *input = &bands->states[operands[i].view];
        const tigris_input_rows rows = tigris_operand_rows(&operands[i], height_of(bands, operands[i].view), first,
                                                           makes_rows ? output->need_end : first + 1);
        if (rows.first < input->need_first) {
            input->need_first = rows.first;
        }
        if (makes_rows && rows.end > input->need_end) {
            input->need_end = rows.end;
        }
    }
}

void tigris_band_begin(const tigris_stage_bands *bands, uint32_t index)
{
    for (uint32_t i = 0; i < bands->stage->view_count; i++) {
        set_own_need(bands, i, index);
    }
    for (uint32_t i = bands->stage->op_count; i-- > 0U;) {
        need_operands(bands, &bands->ops[i]);
    }
}

tigris_window_move tigris_window_begin(const tigris_stage_bands *bands, uint32_t index)
{
    const tigris_view_record *view = &bands->views[index];
    tigris_view_state *state = &bands->states[index];
    tigris_window_move move = {0, 0};
    if (!tigris_is_window(view)) {
        return move;
    }
    if ((view->flags & TIGRIS_VIEW_FLAG_KEEP) != 0U && state->held_end > state->need_first) {
        move.from = state->need_first - state->held_first;
        move.rows = state->held_end - state->need_first;
    } else {
        state->held_end = state->need_first;
    }
    state->held_first = state->need_first;
    return move;
}
