/* tigris_split_rows: gives each of two cores half of an operator's rows. Linked only if firmware names it.
 *
 * A kernel sees a half as a band like any other; its inputs follow from the operands' row maps. The two halves must
 * not touch each other's memory, except that both may read the same rows. If they would, one core makes all rows. The
 * result is the same bytes. */
#include "band.h"
#include "extents.h"
#include "kinds.h"
#include "tigris_kernel.h"

#define WORKERS 2U
/* Operators with more operands only copy, which takes less time than starting the other core. */
#define MAX_SPLIT_OPERANDS 3U

/* The call to split; both workers read it, none writes it. */
typedef struct split_call {
    const tigris_kernel_call *call;
    const tigris_operand_record *operands;
    tigris_kernel kernel;
    uint32_t scratch_bytes; /* of each worker; the second worker's scratch follows the first's */
} split_call;

/* Whether two workers may run the kernel at once. Such a kernel keeps nothing from row to row, accepts no folded
 * tensor, and checks its scratch by tigris_scratch_of_a_core. Its addresses depend on its parameters only, not on
 * data. */
static int is_row_parallel(uint32_t kind)
{
    static const uint8_t kinds[] = {TIGRIS_KINDS_THAT_SPLIT};
    for (uint32_t i = 0; i < sizeof kinds; i++) {
        if (kinds[i] == kind) {
            return 1;
        }
    }
    return 0;
}

/* Whether a kernel's backend asks for no scratch. A backend has one scratch for all calls, and libraries keep its
 * address in global variables. */
static int has_no_shared_scratch(const tigris_backend *backend, tigris_kernel kernel)
{
    for (; backend != NULL; backend = backend->fallback) {
        for (uint32_t i = 0; i < backend->kernel_count; i++) {
            if (backend->kernels[i]->run == kernel) {
                return backend->prepare == NULL;
            }
        }
    }
    return 0;
}

/* The first row of the second half. */
static int32_t first_of_second_half(const tigris_band *output)
{
    return output->first + output->rows / 2;
}

/* Sets *part to a worker's rows of the output. Worker 0, the caller, has more work besides, so it gets the smaller
 * half. */
static void set_output_part(const tigris_band *output, uint32_t worker, tigris_band *part)
{
    *part = *output;
    part->rows = output->rows / 2;
    if (worker != 0U) {
        part->first = first_of_second_half(output);
        part->data = output->data + (uint32_t)part->rows * tigris_row_step(output->tensor);
        part->rows = output->rows - part->rows;
    }
}

/* Sets *part to the rows of an input that a worker reads; `output` is the worker's part of the output. */
static void set_input_part(const tigris_band *input, const tigris_operand_record *operand, const tigris_band *output,
                           tigris_band *part)
{
    *part = *input;
    tigris_operand_rows(operand, (int32_t)input->tensor->height, output->first, output->first + output->rows, part);
    if (part->rows != 0) { /* an empty band may have any address */
        part->data += (uint32_t)(part->first - input->first) * tigris_row_step(input->tensor);
    }
}

static int do_overlap(const tigris_band *a, const tigris_band *b)
{
    const uintptr_t a_first = (uintptr_t)a->data;
    const uintptr_t b_first = (uintptr_t)b->data;
    return a_first < b_first + tigris_rows_bytes(b->tensor, (uint32_t)b->rows) &&
           b_first < a_first + tigris_rows_bytes(a->tensor, (uint32_t)a->rows);
}

/* Whether neither worker writes rows that the other reads. If the output overlaps an input (in place, or as an
 * overlay), that differs from band to band. */
static int are_parts_disjoint(const tigris_op_record *op, const split_call *split)
{
    const tigris_kernel_call *call = split->call;
    tigris_band outputs[WORKERS];
    set_output_part(call->output, 0U, &outputs[0]);
    set_output_part(call->output, 1U, &outputs[1]);
    for (uint32_t i = 0; i < call->input_count; i++) {
        const tigris_band *input = &call->inputs[i];
        if (tigris_is_whole_batch(op, input->tensor)) {
            return 0;
        }
        for (uint32_t worker = 0; worker < WORKERS; worker++) {
            tigris_band read;
            set_input_part(input, &split->operands[i], &outputs[worker], &read);
            if (do_overlap(&read, &outputs[1U - worker])) {
                return 0;
            }
        }
    }
    return 1;
}

static int may_split(const tigris_session *session, const tigris_op_record *op, const split_call *split)
{
    return session->hooks.parallel != NULL && (op->flags & TIGRIS_OP_FLAG_SPLIT) != 0U && is_row_parallel(op->kind) &&
           split->scratch_bytes % session->plan->header->alignment == 0U && op->operand_count <= MAX_SPLIT_OPERANDS &&
           split->call->output->rows > 1 &&
           !tigris_is_whole_batch(op, split->call->output->tensor) &&
           has_no_shared_scratch(session->backend, split->kernel) &&
           are_parts_disjoint(op, split);
}

static void run_part(void *argument, uint32_t worker)
{
    const split_call *split = argument;
    tigris_kernel_call call = *split->call;
    tigris_band bands[MAX_SPLIT_OPERANDS + 1U];
    tigris_band *output = &bands[call.input_count];
    set_output_part(split->call->output, worker, output);
    call.output_data += output->data - split->call->output->data;
    for (uint32_t i = 0; i < call.input_count; i++) {
        set_input_part(&call.inputs[i], &split->operands[i], output, &bands[i]);
    }
    call.inputs = bands;
    call.output = output;
    if (call.scratch != NULL && worker != 0U) {
        call.scratch += split->scratch_bytes;
    }
    split->kernel(&call);
}

void tigris_split_rows(tigris_session *session, const tigris_op_record *op, const tigris_kernel_call *call,
                       tigris_kernel kernel)
{
    split_call split = {call, &session->plan->operands[op->first_operand], kernel, op->scratch_bytes / 2U};
    if (may_split(session, op, &split)) {
        session->hooks.parallel(session->hooks.parallel_context, run_part, &split);
    } else {
        kernel(call);
    }
}
