/* tigris_session_bind: arenas, and the checks that need kernels. */
#include <string.h>

#include "executor.h"
#include "memory.h"
#include "plan.h"

/* The operators that know of folded tensors; any other kernel, of any backend, takes a band for rows that lie behind each
 * other. */
static int knows_folded(uint32_t kind, int is_input)
{
    return is_input ? kind == TIGRIS_OP_KIND_MEAN_OF_SUMS
                    : kind == TIGRIS_OP_KIND_SUM_MAP || kind == TIGRIS_OP_KIND_RECURRENT;
}

const tigris_kernel_entry *tigris_find_kernel(const tigris_backend *backend, const tigris_op_record *op)
{
    for (; backend != NULL; backend = backend->fallback) {
        for (uint32_t i = 0; i < backend->kernel_count; i++) {
            const tigris_kernel_entry *entry = backend->kernels[i];
            if (entry->kind == op->kind && entry->dtype == op->dtype) {
                return entry;
            }
        }
    }
    return NULL;
}

static tigris_status check_op(const tigris_stage_run *run, const tigris_op_record *op, const uint8_t *weights)
{
    const tigris_kernel_entry *entry = tigris_find_kernel(run->session->backend, op);
    if (entry == NULL) {
        return TIGRIS_ERR_UNKNOWN_OP;
    }
    if (entry->params_bytes != op->params_bytes) {
        return TIGRIS_ERR_PARAMS;
    }
    tigris_check_call call;
    tigris_view view;
    call.op = op;
    call.params = run->plan->params + op->params;
    call.operands = &run->plan->operands[op->first_operand];
    for (uint32_t i = 0; i <= op->operand_count; i++) {
        const int is_input = i < op->operand_count;
        tigris_view_at(run, is_input ? call.operands[i].view : op->output_view, &view);
        call.inputs[i] = view.tensor; /* the output follows the last input */
        if (tigris_is_folded(view.tensor) && !knows_folded(op->kind, is_input)) {
            return TIGRIS_ERR_OP;
        }
    }
    call.output = view.tensor;
    call.weights = weights;
    call.weights_bytes = run->stage->block_raw_bytes;
    call.session = run->session;
    return entry->check(&call);
}

tigris_status tigris_check_params(const tigris_stage_run *run, const uint8_t *weights)
{
    tigris_status status = TIGRIS_OK;
    for (uint32_t i = 0; status == TIGRIS_OK && i < run->stage->op_count; i++) {
        status = check_op(run, &run->plan->ops[run->stage->first_op + i], weights);
        if (status != TIGRIS_OK) {
            run->session->fault.op = run->stage->first_op + i;
        }
    }
    return status;
}

static uint32_t backend_scratch_bytes(const tigris_plan *plan, const tigris_backend *backend)
{
    uint32_t bytes = 0U;
    for (; backend != NULL; backend = backend->fallback) {
        const uint32_t wanted = backend->prepare != NULL ? backend->prepare(plan) : 0U;
        bytes = wanted > bytes ? wanted : bytes;
    }
    return bytes;
}

static uint32_t limit_to_32_bits(size_t bytes)
{
    return bytes > UINT32_MAX ? UINT32_MAX : (uint32_t)bytes;
}

/* Carves the backend's scratch from the top of the fast arena, and compares sizes and alignment. */
static tigris_status bind_arenas(tigris_session *session, const tigris_header_record *header,
                                 const tigris_placement *placement)
{
    const uint32_t mask = header->alignment - 1U;
    if ((((uintptr_t)session->fast | (uintptr_t)session->slow) & mask) != 0U) {
        return TIGRIS_ERR_ARENA_ALIGNMENT;
    }
    const uint32_t scratch = backend_scratch_bytes(session->plan, session->backend);
    uint32_t lacking = 0U;
    if (scratch != 0U) {
        const uint32_t given = session->fast_bytes;
        lacking = scratch > given ? scratch - given : 0U;
        session->fast_bytes = (given + lacking - scratch) & ~mask;
        session->backend_scratch = session->fast + session->fast_bytes;
        session->backend_scratch_bytes = scratch;
    }
    if (placement != NULL && lacking == 0U) {
        session->placement = placement;
        return TIGRIS_OK;
    }
    if (lacking != 0U || session->fast_bytes < header->fast_bytes) {
        session->bytes_short = lacking + ((header->fast_bytes - session->fast_bytes + mask) & ~mask);
        return TIGRIS_ERR_FAST_TOO_SMALL;
    }
    if (session->slow_bytes < header->slow_bytes) {
        session->bytes_short = header->slow_bytes - session->slow_bytes;
        return TIGRIS_ERR_SLOW_TOO_SMALL;
    }
    return TIGRIS_OK;
}

static tigris_status bind_and_prove(tigris_session *session, const tigris_placement *placement)
{
    tigris_status status = bind_arenas(session, session->plan->header, placement);
    if (status == TIGRIS_OK && session->placement != NULL) {
        status = session->placement->bind(session);
    }
    return status == TIGRIS_OK ? tigris_walk(session, 1) : status;
}

tigris_status tigris_session_bind(tigris_session *session, const tigris_plan *plan, void *fast, size_t fast_bytes,
                                  void *slow, size_t slow_bytes, const tigris_backend *backend,
                                  const tigris_placement *placement)
{
    if (session == NULL) {
        return TIGRIS_ERR_ARGUMENT;
    }
    memset(session, 0, sizeof *session);
    session->fault = (tigris_fault){TIGRIS_ERR_ARGUMENT, TIGRIS_NOWHERE, TIGRIS_NOWHERE, TIGRIS_NOWHERE};
    if (plan == NULL || plan->header == NULL || backend == NULL || (fast == NULL && plan->header->fast_bytes != 0U)) {
        return TIGRIS_ERR_ARGUMENT;
    }
    session->plan = plan;
    session->backend = backend;
    session->fast = fast;
    session->slow = slow;
    session->fast_bytes = fast != NULL ? limit_to_32_bits(fast_bytes) : 0U;
    session->slow_bytes = slow != NULL ? limit_to_32_bits(slow_bytes) : 0U;
    const tigris_status status = bind_and_prove(session, placement);
    session->fault.status = status;
    if (status != TIGRIS_OK) {
        session->plan = NULL; /* refused by tigris_run; without inputs and outputs */
    }
    return status;
}
