/* tigris_session_bind: the checks that need arenas and kernels. */
#include <string.h>

#include "memory.h"
#include "plan.h"
#include "proof.h"

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

/* Any other kernel, of any backend, takes a band for rows that lie behind each other. */
static int folds_as_it_may(const tigris_check_call *call)
{
    for (uint32_t i = 0; i < call->op->operand_count; i++) {
        if (tigris_is_folded(call->inputs[i]) != (call->op->kind == TIGRIS_OP_KIND_MEAN_OF_SUMS)) {
            return 0;
        }
    }
    return tigris_is_folded(call->output) == (call->op->kind == TIGRIS_OP_KIND_SUM_MAP);
}

static tigris_status check_op_params(const tigris_plan *plan, const tigris_stage_record *stage,
                                     const tigris_op_record *op, const tigris_backend *backend,
                                     const uint8_t *weights)
{
    const tigris_kernel_entry *entry = tigris_find_kernel(backend, op);
    if (entry == NULL) {
        return TIGRIS_ERR_UNKNOWN_OP;
    }
    if (entry->params_bytes != op->params_bytes) {
        return TIGRIS_ERR_PARAMS;
    }
    const tigris_view_record *views = &plan->views[stage->first_view];
    tigris_check_call call;
    memset(&call, 0, sizeof call);
    call.op = op;
    call.params = plan->params + op->params;
    call.operands = &plan->operands[op->first_operand];
    for (uint32_t i = 0; i < op->operand_count; i++) {
        call.inputs[i] = tigris_view_tensor(plan, &views[call.operands[i].view]);
    }
    call.output = tigris_view_tensor(plan, &views[op->output_view]);
    if (!folds_as_it_may(&call)) {
        return TIGRIS_ERR_OP;
    }
    call.weights = weights;
    call.weights_bytes = stage->block_raw_bytes;
    return entry->check(&call);
}

tigris_status tigris_check_stage_params(const tigris_plan *plan, const tigris_stage_record *stage,
                                        const tigris_backend *backend, const uint8_t *weights)
{
    for (uint32_t i = 0; i < stage->op_count; i++) {
        const tigris_op_record *op = &plan->ops[stage->first_op + i];
        const tigris_status status = check_op_params(plan, stage, op, backend, weights);
        if (status != TIGRIS_OK) {
            return status;
        }
    }
    return TIGRIS_OK;
}

static tigris_status check_all_params(const tigris_plan *plan, const tigris_backend *backend)
{
    for (uint32_t i = 0; i < plan->header->stage_count; i++) {
        const tigris_stage_record *stage = &plan->stages[i];
        const int readable = stage->weight_mode != TIGRIS_WEIGHT_MODE_LZ4;
        const uint8_t *weights = readable ? plan->weights + stage->block : NULL;
        const tigris_status status = tigris_check_stage_params(plan, stage, backend, weights);
        if (status != TIGRIS_OK) {
            return status;
        }
    }
    return TIGRIS_OK;
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

/* Carves the backend's scratch from the top of the fast arena and compares sizes and alignment. */
static tigris_status bind_arenas(tigris_session *session, const tigris_header_record *header)
{
    const uintptr_t misaligned = ((uintptr_t)session->fast | (uintptr_t)session->slow) % header->alignment;
    if (misaligned != 0U) {
        return TIGRIS_ERR_ARENA_ALIGNMENT;
    }
    if (session->slow_bytes < header->slow_bytes || (session->slow == NULL && header->slow_bytes != 0U)) {
        return TIGRIS_ERR_SLOW_TOO_SMALL;
    }
    const uint32_t scratch = backend_scratch_bytes(session->plan, session->backend);
    if (!tigris_fits(header->fast_bytes, scratch, session->fast_bytes)) {
        return TIGRIS_ERR_FAST_TOO_SMALL;
    }
    if (scratch != 0U) {
        const uint32_t top = (session->fast_bytes - scratch) & ~(header->alignment - 1U);
        if (top < header->fast_bytes) {
            return TIGRIS_ERR_FAST_TOO_SMALL;
        }
        session->backend_scratch = session->fast + top;
    }
    return TIGRIS_OK;
}

tigris_status tigris_session_bind(tigris_session *session, const tigris_plan *plan, void *fast, size_t fast_bytes,
                                  void *slow, size_t slow_bytes, const tigris_backend *backend)
{
    if (session == NULL || plan == NULL || plan->header == NULL || backend == NULL ||
        (fast == NULL && plan->header->fast_bytes != 0U)) {
        return TIGRIS_ERR_ARGUMENT;
    }
    memset(session, 0, sizeof *session);
    session->plan = plan;
    session->backend = backend;
    session->fast = fast;
    session->slow = slow;
    session->fast_bytes = limit_to_32_bits(fast_bytes);
    session->slow_bytes = limit_to_32_bits(slow_bytes);
    tigris_status status = bind_arenas(session, plan->header);
    if (status == TIGRIS_OK) {
        status = check_all_params(plan, backend);
    }
    if (status == TIGRIS_OK) {
        status = tigris_prove_bands(plan, (tigris_view_state *)(void *)session->fast);
    }
    if (status != TIGRIS_OK) {
        memset(session, 0, sizeof *session);
    }
    return status;
}
