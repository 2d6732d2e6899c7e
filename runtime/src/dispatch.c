/* Finds kernels in the backend and its fallbacks, and has them check operators and parameters. */
#include "dispatch.h"

#include "extents.h"

/* Whether a kind of operator may read (`is_input`) or write a folded tensor; all other kernels expect rows one after
 * the other. SUM_MAP (39) and SUM_PRODUCTS (47) write sums; MEAN_OF_SUMS (40) and SCALE_SUMS (48) read them. The
 * numbers of the two writers differ in one bit, and each reader's number is its writer's plus 1: smaller than a
 * switch. */
static int accepts_folded(uint32_t kind, int is_input)
{
    const uint32_t writer = kind - (uint32_t)is_input;
    const uint32_t bit = (uint32_t)TIGRIS_OP_KIND_SUM_PRODUCTS ^ TIGRIS_OP_KIND_SUM_MAP;
    return (writer & ~bit) == TIGRIS_OP_KIND_SUM_MAP || (!is_input && kind == TIGRIS_OP_KIND_RECURRENT);
}

/* Kind, type and packing of an operator or a kernel as one number. The fields are adjacent: GCC makes one load of
 * it. */
#define KEY(record) ((uint32_t)(record)->kind | (uint32_t)(record)->dtype << 16 | (uint32_t)(record)->packing << 24)

/* The first entry for an operator in the backend and its fallbacks; NULL when there is none. */
static const tigris_kernel_entry *find_entry(const tigris_backend *backend, uint32_t key)
{
    do {
        const tigris_kernel_entry *const *entry = backend->kernels;
        for (uint32_t left = backend->kernel_count; left > 0U; left--, entry++) {
            if (KEY(*entry) == key) {
                return *entry;
            }
        }
        backend = backend->fallback;
    } while (backend != NULL);
    return NULL;
}

const tigris_kernel_entry *tigris_kernel_of(const tigris_stage_run *run, const tigris_op_record *op)
{
    tigris_session *session = run->session;
    const uint32_t key = KEY(op);
    const tigris_kernel_entry **cached = &session->kernel_cache[key % TIGRIS_KERNEL_CACHE_ENTRIES];
    if (*cached == NULL || KEY(*cached) != key) {
        *cached = find_entry(session->backend, key);
    }
    return *cached;
}

static tigris_status check_op(const tigris_stage_run *run, const tigris_op_record *op, const uint8_t *weights)
{
    const tigris_kernel_entry *entry = tigris_kernel_of(run, op);
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
    const tigris_operand_record *operand = &run->plan->operands[op->first_operand];
    call.operands = operand;
    call.weights = weights;
    call.weights_bytes = run->stage->block_raw_bytes;
    const tigris_tensor_record **tensor = call.inputs;
    int left = op->operand_count;
    do { /* the output follows the last input */
        tigris_view_at(run, left > 0 ? (operand++)->view : op->output_view, &view);
        if (tigris_is_folded(view.tensor) && !accepts_folded(op->kind, left > 0)) {
            return TIGRIS_ERR_OP;
        }
        *tensor++ = view.tensor;
    } while (--left >= 0);
    call.output = view.tensor;
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
