/* COMMIT: writes the value that a state has in the next run. The executor never stops between two of them, nor
 * behind the last, so either all states of a plan have their new values or none has. */
#include <string.h>

#include "../memory.h"
#include "../move.h"
#include "check.h"
#include "tigris_kernels.h"

static void run(const tigris_kernel_call *call)
{
    const tigris_commit_params *params = call->params;
    const tigris_band *state = call->output;
    const uint32_t new_bytes = tigris_tensor_bytes(state->tensor) - params->kept_bytes;
    if ((uint32_t)state->rows == state->tensor->batch * state->tensor->height) {
        tigris_move(call->output_data, call->output_data + new_bytes, params->kept_bytes);
        tigris_move(call->output_data + params->kept_bytes, call->inputs[0].data, new_bytes);
    }
}

/* Writes the state's first value: a check runs before the first run, and the state keeps its place from then on. */
static void init_state(const tigris_check_call *call)
{
    const tigris_commit_params *params = call->params;
    const tigris_tensor_record *state = call->output;
    const tigris_session *session = call->session;
    uint8_t *data = tigris_address(session, state->home, TIGRIS_PLACED_HOME, state, state->home_offset);
    const uint32_t bytes = tigris_tensor_bytes(state);
    if (call->op->operand_count == 1U) {
        memset(data, params->fill, bytes);
        return;
    }
    const uint32_t first = tigris_tensor_bytes(call->inputs[1]);
    for (uint32_t at = 0U; at < bytes; at += first) {
        memcpy(data + at, session->plan->weights + call->inputs[1]->home_offset, first);
    }
}

/* Operand `index` has the state's type and is read whole. */
static int is_source(const tigris_check_call *call, uint32_t index)
{
    return call->inputs[index]->dtype == call->output->dtype && tigris_check_all_rows(call, index);
}

static tigris_status check(const tigris_check_call *call)
{
    const tigris_commit_params *params = call->params;
    const tigris_tensor_record *state = call->output;
    const uint32_t bytes = tigris_tensor_bytes(state);
    const uint32_t count = call->op->operand_count;
    if ((state->flags & TIGRIS_TENSOR_FLAG_STATE) == 0U || !tigris_is_writable(state) || call->op->images != 1U ||
        call->session == NULL || call->weights == NULL || params->kept_bytes >= bytes ||
        tigris_tensor_bytes(call->inputs[0]) != bytes - params->kept_bytes || !is_source(call, 0U)) {
        return TIGRIS_ERR_PARAMS;
    }
    if (count > 2U || (count == 2U && (bytes % tigris_tensor_bytes(call->inputs[1]) != 0U || !is_source(call, 1U) ||
                                       call->inputs[1]->home != TIGRIS_HOME_FLASH))) {
        return TIGRIS_ERR_PARAMS;
    }
    init_state(call);
    return TIGRIS_OK;
}

TIGRIS_KERNEL_ENTRY(tigris_commit_int8, COMMIT, INT8, tigris_commit_params, run, check);
