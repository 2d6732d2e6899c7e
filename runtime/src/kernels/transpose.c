/* TRANSPOSE and related operators: output elements in order, input elements at any steps. If the first axis runs
 * over the rows of both tensors, the kernel works in bands; else it needs the whole input. */
#include "access.h"
#include "check.h"
#include "copy.h"
#include "tigris_kernels.h"

/* An index that counts through all output axes but the last; the axis before the last is fastest. */
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

/* Advances by `lines` lines of the last axis, which stay within the axis before it. */
static void advance(counter *c, uint32_t lines)
{
    for (uint32_t axis = c->params->rank - 1U; axis-- > 0U;) {
        c->input += lines * c->params->input_step[axis];
        c->index[axis] += lines;
        if (c->index[axis] < c->params->output_shape[axis]) {
            return;
        }
        c->input -= c->params->output_shape[axis] * c->params->input_step[axis];
        c->index[axis] = 0U;
        lines = 1U;
    }
}

/* Copies `count` bytes; `step`: their stride in the input. */
static inline void copy_bytes(uint8_t *to, const uint8_t *from, uint32_t step, uint32_t count)
{
    for (const uint8_t *const end = to + (count & ~3U); to != end; to += 4) {
        to[0] = *from;
        from += step;
        to[1] = *from;
        from += step;
        to[2] = *from;
        from += step;
        to[3] = *from;
        from += step;
    }
    for (count &= 3U; count != 0U; count--) {
        *to++ = *from;
        from += step;
    }
}

/* Copies `count` elements of `bytes` bytes; `step`: their stride in the input, in bytes. */
static void copy_elements(uint8_t *to, const uint8_t *from, uint32_t step, uint32_t count, uint32_t bytes)
{
    if (step == bytes) {
        tigris_copy(to, from, count * bytes);
        return;
    }
    for (; count != 0U; count--) {
        tigris_copy(to, from, bytes);
        to += bytes;
        from += step;
    }
}

/* Strides in bytes of elements of the last axis, and of lines of it, in the input. */
typedef struct line_steps {
    uint32_t step;
    uint32_t line_step;
    uint32_t count; /* elements a line */
    uint32_t bytes; /* an element */
} line_steps;

/* Copies whole lines. */
static void copy_lines(uint8_t *to, const uint8_t *from, const line_steps *along, uint32_t lines)
{
    const line_steps w = *along;
    const uint32_t line_bytes = w.count * w.bytes;
    for (; lines != 0U; lines--) {
        if (w.bytes == 1U && w.step != 1U) {
            copy_bytes(to, from, w.step, w.count);
        } else {
            copy_elements(to, from, w.step, w.count, w.bytes);
        }
        to += line_bytes;
        from += w.line_step;
    }
}

/* Whole lines from the counter on, at most up to the end of the axis before the last. */
static uint32_t lines_left(const counter *c, uint32_t elements)
{
    const uint32_t last = c->params->rank - 1U;
    const uint32_t whole = elements / c->params->output_shape[last];
    const uint32_t rest = last == 0U ? 1U : c->params->output_shape[last - 1U] - c->index[last - 1U];
    return whole < rest ? whole : rest;
}

static void run(const tigris_kernel_call *call)
{
    const tigris_transpose_params *params = tigris_params(call);
    const uint32_t bytes = params->element_bytes;
    const uint32_t last = params->rank - 1U;
    const tigris_band *in = tigris_input_band(call, 0);
    const uint32_t held =
        (uint32_t)tigris_first_row(in) * tigris_row_elements(tigris_tensor_of(in)); /* element at the band's start */
    uint32_t elements = tigris_band_elements(tigris_output_band(call));
    uint8_t *output = tigris_output_data(call);
    counter c = {params, {0U}, 0U};
    const uint32_t first = (uint32_t)tigris_output_first(call) * tigris_row_elements(tigris_output_tensor(call));
    start(&c, first);
    /* A band may begin and end amid the last axis. */
    uint32_t skipped = first % params->output_shape[last];
    c.input -= skipped * params->input_step[last];
    const line_steps along = {params->input_step[last] * bytes, last == 0U ? 0U : params->input_step[last - 1U] * bytes,
                              params->output_shape[last], bytes};
    while (elements != 0U) {
        const uint8_t *from = in->data + (c.input + skipped * params->input_step[last] - held) * bytes;
        const uint32_t lines = skipped != 0U ? 0U : lines_left(&c, elements);
        uint32_t count = lines * along.count;
        if (lines != 0U) {
            copy_lines(output, from, &along, lines);
        } else {
            const uint32_t rest = along.count - skipped;
            count = rest < elements ? rest : elements;
            copy_elements(output, from, along.step, count, bytes);
        }
        output += count * bytes;
        elements -= count;
        skipped = 0U;
        advance(&c, lines != 0U ? lines : 1U);
    }
}

/* Elements of the output under one index of the first axis, and the extent that they span in the input. */
static void inner_extent(const tigris_transpose_params *params, uint64_t *elements, uint64_t *reach)
{
    *elements = 1U;
    *reach = 1U;
    for (uint32_t axis = 1; axis < params->rank; axis++) {
        *elements *= params->output_shape[axis];
        *reach += (uint64_t)(params->output_shape[axis] - 1U) * params->input_step[axis];
    }
}

/* Every output row needs exactly the input rows of the row map. Either several indices of the first axis make one
 * output row from k input rows, or one index, which is one input row, makes m output rows. Call after is_inside. */
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

TIGRIS_KERNEL_ENTRY(tigris_transpose_int8, TRANSPOSE, INT8, tigris_transpose_params, run, check);
TIGRIS_KERNEL_ENTRY(tigris_transpose_int16, TRANSPOSE, INT16, tigris_transpose_params, run, check);
TIGRIS_KERNEL_ENTRY(tigris_transpose_float, TRANSPOSE, FLOAT32, tigris_transpose_params, run, check);
