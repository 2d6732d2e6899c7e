/* Half of an operator's rows for each of two cores. Linked only when tigris_split is named.
 *
 * A kernel knows nothing of it: a half is a band like any other, whose inputs follow from the operands' row maps. The
 * halves have nothing in common but what they read. Where that is not so, one core makes all rows: the results
 * are the same bytes. */
#include "band.h"
#include "extents.h"
#include "tigris_kernel.h"

#define WORKERS 2U
/* Those with more only copy, which is over before another core has begun. */
#define MOST_OPERANDS 3U

/* What both workers need; they write none of it. */
typedef struct split_call {
    const tigris_kernel_call *call;
    const tigris_operand_record *operands;
    tigris_kernel kernel;
    uint32_t scratch_bytes; /* of each; the second's lies behind the first's */
} split_call;

/* Kernels that keep nothing from row to row, know no folded tensors, check their scratch by tigris_scratch_of_a_core, and
 * read and write at places that follow from their parameters alone, not from what they read: those a worker may run while
 * the other one writes. */
static int makes_rows_alone(uint32_t kind)
{
    switch (kind) {
    case TIGRIS_OP_KIND_CONV_2D:
    case TIGRIS_OP_KIND_DEPTHWISE_CONV_2D:
    case TIGRIS_OP_KIND_FULLY_CONNECTED:
    case TIGRIS_OP_KIND_AVERAGE_POOL:
    case TIGRIS_OP_KIND_MAX_POOL:
    case TIGRIS_OP_KIND_ADD:
    case TIGRIS_OP_KIND_SUB:
    case TIGRIS_OP_KIND_MUL:
    case TIGRIS_OP_KIND_SOFTMAX:
    case TIGRIS_OP_KIND_LOOKUP:
    case TIGRIS_OP_KIND_UNARY:
    case TIGRIS_OP_KIND_RESAMPLE:
    case TIGRIS_OP_KIND_TRANSPOSE_CONV:
    case TIGRIS_OP_KIND_PLAIN_CONV_2D:
    case TIGRIS_OP_KIND_PLAIN_DEPTHWISE_CONV_2D:
    case TIGRIS_OP_KIND_PLAIN_FULLY_CONNECTED:
    case TIGRIS_OP_KIND_EXTREME:
    case TIGRIS_OP_KIND_PRELU:
    case TIGRIS_OP_KIND_ASYMMETRIC_CONV_2D:
    case TIGRIS_OP_KIND_ASYMMETRIC_DEPTHWISE_CONV_2D:
    case TIGRIS_OP_KIND_ASYMMETRIC_FULLY_CONNECTED:
    case TIGRIS_OP_KIND_RESCALE:
    case TIGRIS_OP_KIND_LOGISTIC:
        return 1;
    default:
        return 0;
    }
}

/* Kernels of a backend that asks for scratch have but one, and libraries keep where it lies in variables of their own. */
static int shares_nothing(const tigris_backend *backend, tigris_kernel kernel)
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
static int32_t middle(const tigris_band *output)
{
    return output->first + output->rows / 2;
}

/* A worker's rows of the output. The first worker is the caller, who has more to do than this: it gets the smaller half. */
static void part_of_output(const tigris_band *output, uint32_t worker, tigris_band *part)
{
    *part = *output;
    part->rows = output->rows / 2;
    if (worker != 0U) {
        part->first = middle(output);
        part->data = output->data + (uint32_t)part->rows * tigris_row_step(output->tensor);
        part->rows = output->rows - part->rows;
    }
}

/* The rows of an input that a worker reads; `output`: its part. */
static void part_of_input(const tigris_band *input, const tigris_operand_record *operand, const tigris_band *output,
                          tigris_band *part)
{
    *part = *input;
    tigris_operand_rows(operand, (int32_t)input->tensor->height, output->first, output->first + output->rows, part);
    if (part->rows != 0) { /* of no rows any address will do */
        part->data += (uint32_t)(part->first - input->first) * tigris_row_step(input->tensor);
    }
}

static int overlap(const tigris_band *a, const tigris_band *b)
{
    const uintptr_t a_first = (uintptr_t)a->data;
    const uintptr_t b_first = (uintptr_t)b->data;
    return a_first < b_first + tigris_rows_bytes(b->tensor, (uint32_t)b->rows) &&
           b_first < a_first + tigris_rows_bytes(a->tensor, (uint32_t)a->rows);
}

/* What one worker reads the other does not write: where an output lies over an input, in its place or grown over it, that
 * depends on the band. */
static int parts_are_apart(const tigris_op_record *op, const split_call *split)
{
    const tigris_kernel_call *call = split->call;
    tigris_band outputs[WORKERS];
    part_of_output(call->output, 0U, &outputs[0]);
    part_of_output(call->output, 1U, &outputs[1]);
    for (uint32_t i = 0; i < call->input_count; i++) {
        const tigris_band *input = &call->inputs[i];
        if (tigris_takes_batch_whole(op, input->tensor)) {
            return 0;
        }
        for (uint32_t worker = 0; worker < WORKERS; worker++) {
            tigris_band read;
            part_of_input(input, &split->operands[i], &outputs[worker], &read);
            if (overlap(&read, &outputs[1U - worker])) {
                return 0;
            }
        }
    }
    return 1;
}

static int is_split(const tigris_session *session, const tigris_op_record *op, const split_call *split)
{
    return session->parallel != NULL && (op->flags & TIGRIS_OP_FLAG_SPLIT) != 0U && makes_rows_alone(op->kind) &&
           split->scratch_bytes % session->plan->header->alignment == 0U && op->operand_count <= MOST_OPERANDS &&
           split->call->output->rows > 1 &&
           !tigris_takes_batch_whole(op, split->call->output->tensor) &&
           shares_nothing(session->backend, split->kernel) &&
           parts_are_apart(op, split);
}

static void run_part(void *argument, uint32_t worker)
{
    const split_call *split = argument;
    tigris_kernel_call call = *split->call;
    tigris_band bands[MOST_OPERANDS + 1U];
    tigris_band *output = &bands[call.input_count];
    part_of_output(split->call->output, worker, output);
    call.output_data += output->data - split->call->output->data;
    for (uint32_t i = 0; i < call.input_count; i++) {
        part_of_input(&call.inputs[i], &split->operands[i], output, &bands[i]);
    }
    call.inputs = bands;
    call.output = output;
    if (call.scratch != NULL && worker != 0U) {
        call.scratch += split->scratch_bytes;
    }
    split->kernel(&call);
}

void tigris_split(tigris_session *session, const tigris_op_record *op, const tigris_kernel_call *call,
                  tigris_kernel kernel)
{
    split_call split = {call, &session->plan->operands[op->first_operand], kernel, op->scratch_bytes / 2U};
    if (is_split(session, op, &split)) {
        session->parallel(session->parallel_context, run_part, &split);
    } else {
        kernel(call);
    }
}
