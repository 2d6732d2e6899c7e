/* The order of weights, and checks of rows, of recurrent layers, whose parameter records start like
 * tigris_recurrent_params up to `reverse`. */
#ifndef TIGRIS_RECURRENT_STEPS_H
#define TIGRIS_RECURRENT_STEPS_H

#include "access.h"
#include "check.h"

/* Whether sequence `b`, of `batch`, of a step reads its weights from the last to the first. Every second one does: it
 * starts with the weights that the one before read last, which a cache of flash still holds. */
static inline int tigris_is_turned(uint32_t batch, uint32_t past, uint32_t b)
{
    return (int)((past * batch + b) & 1U);
}

/* Whether a row of the input holds its steps, and a row of the output their states of `state` elements, or the last
 * state. A folded output stores its rows in one place; else a row has one step and its state. */
static inline int tigris_check_steps_layout(const tigris_check_call *call, uint32_t state)
{
    const tigris_recurrent_params *params = call->params;
    const tigris_tensor_record *out = call->output;
    const uint32_t row = tigris_row_elements(out);
    const int only_last = row == state;
    if (tigris_multiply(tigris_multiply(params->steps, params->batch), params->inputs) !=
            tigris_row_elements(call->inputs[0]) ||
        (!only_last && row != tigris_multiply(params->steps, state))) {
        return 0;
    }
    if (out->height == 1U || tigris_is_folded(out)) {
        return only_last || !tigris_is_folded(out);
    }
    return params->steps == 1U;
}

/* Whether an output of several rows is its own last operand, one row late: a step continues from the row before. */
static inline int tigris_check_own_operand(const tigris_check_call *call, uint32_t operands)
{
    const tigris_recurrent_params *params = call->params;
    const tigris_operand_record *own = &call->operands[operands];
    if (call->output->height != 1U && params->reverse != 0U) {
        return 0;
    }
    if (call->output->height == 1U || tigris_is_folded(call->output)) {
        return call->op->operand_count == operands;
    }
    return call->op->operand_count == operands + 1U && own->view == call->op->output_view && own->numerator == 1U &&
           own->denominator == 1U && own->first == -1 && own->last == -1;
}

static inline int tigris_check_initial(const tigris_check_call *call, uint32_t operands)
{
    const tigris_recurrent_params *params = call->params;
    for (uint32_t i = 1; i < operands; i++) {
        const tigris_tensor_record *initial = call->inputs[i];
        if (initial->height != 1U || initial->batch != 1U || !tigris_check_all_rows(call, i) ||
            tigris_row_elements(initial) != tigris_multiply(params->batch, params->units)) {
            return 0;
        }
    }
    return 1;
}

/* All checks of rows. `operands`: number of operands without the own one: the input, then the states before the first
 * step. */
static inline int tigris_check_recurrent(const tigris_check_call *call, uint32_t operands, uint32_t state)
{
    const tigris_recurrent_params *params = call->params;
    return tigris_check_own_operand(call, operands) && params->units - 1U < UINT16_MAX && params->steps != 0U &&
           call->op->images == 1U && call->output->batch == 1U && call->inputs[0]->batch == 1U &&
           tigris_check_same_rows(call, 0U) && tigris_check_steps_layout(call, state) &&
           tigris_check_initial(call, operands);
}

#endif
