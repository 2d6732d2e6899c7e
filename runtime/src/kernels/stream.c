/* FETCH and TAKE: rows that firmware delivers or receives during a run, each once, in order, up to the last. The check
 * admits only views for which the executor computes rows in that order. */
#include "../band.h"
#include "check.h"
#include "tigris_kernels.h"

static void run_fetch(const tigris_kernel_call *call)
{
    const tigris_rows_params *params = call->params;
    const tigris_band *rows = call->output;
    const tigris_hooks *hooks = &call->session->hooks;
    if (hooks->fetch_rows(hooks->rows_context, params->port, (uint32_t)rows->first, (uint32_t)rows->rows,
                          call->output_data) != 0) {
        call->session->fault.status = TIGRIS_ERR_ROWS;
    }
}

static void run_take(const tigris_kernel_call *call)
{
    const tigris_rows_params *params = call->params;
    const tigris_band *rows = call->inputs;
    const tigris_hooks *hooks = &call->session->hooks;
    if (hooks->take_rows(hooks->rows_context, params->port, (uint32_t)rows->first, (uint32_t)rows->rows,
                         rows->data) != 0) {
        call->session->fault.status = TIGRIS_ERR_ROWS;
    }
}

/* The stage that operator `op` belongs to. */
static const tigris_stage_record *stage_of(const tigris_plan *plan, uint32_t op)
{
    uint32_t first = 0U;
    uint32_t end = plan->header->stage_count;
    while (end - first > 1U) {
        const uint32_t middle = first + (end - first) / 2U;
        if (plan->stages[middle].first_op <= op) {
            first = middle;
        } else {
            end = middle;
        }
    }
    return &plan->stages[first];
}

/* Checks the operator that moves the rows of I/O record `index`, whose tensor is `tensor`; `flag`: the header's flag
 * for such operators. */
static tigris_status check_mover(const tigris_check_call *call, uint32_t index, uint32_t flag,
                                 const tigris_tensor_record *tensor)
{
    const tigris_plan *plan = call->session->plan;
    const uint32_t op = (uint32_t)(call->op - plan->ops);
    const tigris_stage_record *stage = stage_of(plan, op);
    const tigris_view_record *view = &plan->views[stage->first_view + call->op->output_view];
    const int32_t height = (int32_t)call->output->height;
    const tigris_io_record *io = &plan->io[index];
    /* A window that keeps no rows may compute rows again; only a pace computes rows that no operator reads. */
    const int once = (view->flags & TIGRIS_VIEW_FLAG_WINDOW) == 0U || (view->flags & TIGRIS_VIEW_FLAG_KEEP) != 0U;
    const int fits = (plan->header->flags & flag) != 0U && io->mover == op + 1U && &plan->tensors[io->tensor] == tensor &&
                     tensor->batch == 1U && call->op->images == 1U && once && view->pace_numerator != 0U &&
                     tigris_paced_rows(view, stage->band_count, height) == height;
    return fits ? TIGRIS_OK : TIGRIS_ERR_PARAMS;
}

static tigris_status check_fetch(const tigris_check_call *call)
{
    const tigris_rows_params *params = call->params;
    if (call->session == NULL || call->op->operand_count != 0U ||
        params->port >= call->session->plan->header->input_count) {
        return TIGRIS_ERR_PARAMS;
    }
    return check_mover(call, params->port, TIGRIS_HEADER_FLAG_FETCHES, call->output);
}

static tigris_status check_take(const tigris_check_call *call)
{
    const tigris_rows_params *params = call->params;
    const tigris_operand_record *rows = call->operands;
    if (call->session == NULL || call->op->operand_count != 1U ||
        params->port >= call->session->plan->header->output_count || rows->numerator != 1U || rows->denominator != 1U ||
        rows->first != 0 || rows->last != 0 || call->output->height != call->inputs[0]->height) {
        return TIGRIS_ERR_PARAMS;
    }
    const uint32_t index = call->session->plan->header->input_count + params->port;
    return check_mover(call, index, TIGRIS_HEADER_FLAG_TAKES, call->inputs[0]);
}

TIGRIS_KERNEL_ENTRY(tigris_fetch_int8, FETCH, INT8, tigris_rows_params, run_fetch, check_fetch);
TIGRIS_KERNEL_ENTRY(tigris_take_int8, TAKE, INT8, tigris_rows_params, run_take, check_take);
