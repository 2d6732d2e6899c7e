/* TRANSPOSE and its relatives: output elements in order, input elements at any steps. Where the first axis walks
 * over the rows of both tensors it runs in bands, else it needs the whole input. */
#include "access.h"
#include "check.h"
#include "copy.h"
#include "tigris_kernels.h"

/* An index that counts through the output's elements but for the last axis, the one before it fastest. */
typedef struct counter {
    const tigris_transpose_params *params;
    uint32_t index[TIGRIS_MAX_RANK];
    uint32_t input; /* element of the input that belongs to the index */
} counter;

static void start(counter *c, uint32_t element)
{
    const tigris_transpose_params *params = c->params;
    for (uint32_t axis = params->rank; axis-- > 0U;) {
        c->index[axis] = element % params->output_shape[axis];
        c->input += c->index[axis] * params->input_step[axis];
        element /= params->output_shape[axis];
    }
}

static void advance(counter *c)
{
    for (uint32_t axis = c->params->rank - 1U; axis-- > 0U;) {
        c->input += c->params->input_step[axis];
        if (++c->index[axis] < c->params->output_shape[axis]) {
            return;
        }
        c->input -= c->params->output_shape[axis] * c->params->input_step[axis];
        c->index[axis] = 0U;
    }
}

/* `count` elements, in the input `step` bytes apart. */
static void take(uint8_t *to, const uint8_t *from, uint32_t step, uint32_t count, uint32_t bytes)
{
    if (step == bytes) {
        tigris_copy(to, from, count * bytes);
    } else if (bytes == 1U) {
        for (const uint8_t *const end = to + count; to != end; to++) {
            *to = *from;
            from += step;
        }
    } else {
        for (; count != 0U; count--) {
            tigris_copy(to, from, bytes);
            to += bytes;
            from += step;
        }
    }
}

static void run(const tigris_kernel_call *call)
{
    const tigris_transpose_params *params = call->params;
    const uint32_t bytes = params->element_bytes;
    const uint32_t last = params->rank - 1U;
    const tigris_band *in = &call->inputs[0];
    const uint32_t held = (uint32_t)in->first * tigris_row_elements(in->tensor); /* element at the band's start */
    uint32_t elements = tigris_band_elements(call->output);
    uint8_t *output = call->output->data;
    counter c = {params, {0U}, 0U};
    start(&c, (uint32_t)call->output->first * tigris_row_elements(call->output->tensor));
    /* A band may begin and end amid the last axis. */
    uint32_t skipped = c.index[last];
    c.input -= skipped * params->input_step[last];
    while (elements != 0U) {
        const uint32_t rest = params->output_shape[last] - skipped;
        const uint32_t count = rest < elements ? rest : elements;
        take(output, in->data + (c.input + skipped * params->input_step[last] - held) * bytes,
             params->input_step[last] * bytes, count, bytes);
        output += count * bytes;
        elements -= count;
        skipped = 0U;
        advance(&c);
    }
}

/* Elements of the output below one index of the first axis, and how far they reach in the input. */
static void inner_extent(const tigris_transpose_params *params, uint64_t *elements, uint64_t *reach)
{
    *elements = 1U;
    *reach = 1U;
    for (uint32_t axis = 1; axis < params->rank; axis++) {
        *elements *= params->output_shape[axis];
        *reach += (uint64_t)(params->output_shape[axis] - 1U) * params->input_step[axis];
    }
}

/* Every output row needs exactly the input rows that the row map gives: several indices of the first axis make
 * one output row of k input rows, or one index, one input row, makes m output rows. After is_inside. */
static int is_banded(const tigris_check_call *call)
{
    const tigris_transpose_params *params = call->params;
    const tigris_operand_record *rows = &call->operands[0];
    const uint64_t output_row = tigris_row_elements(call->output);
    const uint64_t input_row = tigris_row_elements(call->inputs[0]);
    uint64_t elements;
    uint64_t reach;
    if (params->rank == 0U || !tigris_check_per_image(call)) {
        return 0;
    }
    inner_extent(params, &elements, &reach);
    const uint64_t step = params->input_step[0];
    if (reach > step) {
        return 0;
    }
    if (output_row % elements == 0U) {
        return rows->denominator == 1U && rows->first == 0 && rows->last == (int32_t)rows->numerator - 1 &&
               output_row / elements * step == rows->numerator * input_row;
    }
    return elements % output_row == 0U && step == input_row && rows->numerator == 1U &&
           rows->denominator == elements / output_row && rows->first == 0 && rows->last == 0;
}

static int is_inside(const tigris_transpose_params *params, uint32_t inputs, uint32_t outputs)
{
    uint64_t elements = 1U;
    uint64_t last = 0U;
    for (uint32_t axis = 0; axis < params->rank; axis++) {
        if (params->output_shape[axis] == 0U) {
            return 0;
        }
        elements *= params->output_shape[axis];
        last += (uint64_t)(params->output_shape[axis] - 1U) * params->input_step[axis];
        if (elements > outputs || last >= inputs) {
            return 0;
        }
    }
    return elements == outputs && inputs != 0U;
}

static tigris_status check(const tigris_check_call *call)
{
    const tigris_transpose_params *params = call->params;
    const uint32_t dtype = call->op->dtype;
    return tigris_check_result(
        tigris_check_types(call, 1U, dtype, dtype) && params->rank >= 1U && params->rank <= TIGRIS_MAX_RANK &&
        params->element_bytes == tigris_dtype_bytes(dtype) &&
        is_inside(params, tigris_call_elements(call, call->inputs[0]), tigris_call_elements(call, call->output)) &&
        (tigris_check_all_rows(call, 0U) || is_banded(call)));
}

const tigris_kernel_entry tigris_transpose_int8 = {TIGRIS_OP_KIND_TRANSPOSE, TIGRIS_DTYPE_INT8,
                                                   sizeof(tigris_transpose_params), run, check};
const tigris_kernel_entry tigris_transpose_int16 = {TIGRIS_OP_KIND_TRANSPOSE, TIGRIS_DTYPE_INT16,
                                                    sizeof(tigris_transpose_params), run, check};
const tigris_kernel_entry tigris_transpose_float = {TIGRIS_OP_KIND_TRANSPOSE, TIGRIS_DTYPE_FLOAT32,
                                                    sizeof(tigris_transpose_params), run, check};
