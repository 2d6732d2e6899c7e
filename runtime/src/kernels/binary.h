/* Element-wise operators of two inputs: the positions of elements, with broadcasting. */
#ifndef TIGRIS_BINARY_H
#define TIGRIS_BINARY_H

#include "access.h"
#include "check.h"

/* Elements from the start of input `band` to column 0 of its row for output row `row`. */
static inline int32_t tigris_binary_row(const tigris_band *band, int32_t row, int32_t row_step)
{
    return row_step == 0 ? 0 : (row - tigris_first_row(band)) * row_step;
}

/* Whether the steps of input `index` stay inside it for every output element. A row step of 0 reads one row for all. */
static inline int tigris_check_steps(const tigris_check_call *call, uint32_t index, int32_t row_step,
                                     int32_t column_step, int32_t channel_step)
{
    const tigris_tensor_record *input = call->inputs[index];
    const tigris_tensor_record *output = call->output;
    const uint32_t row = tigris_row_elements(input);
    if (column_step < 0 || channel_step < 0) {
        return 0;
    }
    const uint64_t last = (uint64_t)(output->width - 1U) * (uint32_t)column_step +
                          (uint64_t)(output->channels - 1U) * (uint32_t)channel_step;
    if (last >= row) {
        return 0;
    }
    if (row_step == 0) {
        return (call->op->images > 1U || input->batch == 1U) && tigris_check_all_rows(call, index);
    }
    return (uint32_t)row_step == row && (call->op->images > 1U || input->batch == output->batch) &&
           tigris_check_same_rows(call, index);
}

#endif
