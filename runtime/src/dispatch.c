/* Finds kernels in the backend and its fallbacks, and has them check operators and parameters. */
#include "dispatch.h"

#include "extents.h"

/* The operators that know of folded tensors; any other kernel, of any backend, takes a band for rows that lie behind each
 * other. SUM_MAP and SUM_PRODUCTS, whose numbers differ in one bit, make sums; those of the next numbers read them. */
static int knows_folded(uint32_t kind, int is_input)
{
    const uint32_t makes = kind - (uint32_t)is_input;
    const uint32_t differs = (uint32_t)TIGRIS_OP_KIND_SUM_PRODUCTS ^ TIGRIS_OP_KIND_SUM_MAP;
    return (makes & ~differs) == TIGRIS_OP_KIND_SUM_MAP || (!is_input && kind == TIGRIS_OP_KIND_RECURRENT);
}

/* What names a kernel, as one number; the fields lie side by side, so that it is one load. */
#define KEY(record) ((uint32_t)(record)->kind | (uint32_t)(record)->dtype << 16 | (uint32_t)(record)->packing << 24)

const tigris_kernel_entry *tigris_find_kernel(const tigris_backend *backend, const tigris_op_record *op)
{
    const uint32_t key = KEY(op);
    for (; backend != NULL; backend = backend->fallback) {
        const tigris_kernel_entry *const *entry = backend->kernels;
        for (uint32_t left = backend->kernel_count; left > 0U; left--, entry++) {
            if (KEY(*entry) == key) {
                return *entry;
            }
        }
    }
    return NULL;
}

static tigris_status check_op(const tigris_stage_run *run, const tigris_op_record *op, const uint8_t *weights)
{
    const tigris_kernel_entry *entry = tigris_find_kernel(run->session->backend, op);
    if (entry == NULL) {
        return op->packing == TIGRIS_PACKING_PORTABLE ? TIGRIS_ERR_UNKNOWN_OP : TIGRIS_ERR_PACKING;
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
    tigris_fault *fault = &run->session->fault;
    const uint32_t first = run->stage->first_op, end = first + run->stage->op_count;
    for (fault->op = first; fault->op < end; fault->op++) {
        const tigris_status status = check_op(run, &run->plan->ops[fault->op], weights);
        if (status != TIGRIS_OK) {
            return status;
        }
    }
    fault->op = TIGRIS_NOWHERE;
    return TIGRIS_OK;
}
