#include "band.h"
#include "hot.h"

#include "extents.h"
#include "kinds.h"
#include "tigris_kernel.h"

TIGRIS_HOT
static int32_t clip(int32_t row, int32_t height)
{
    return row < 0 ? 0 : row > height ? height : row;
}

TIGRIS_HOT
static int32_t floor_divide(int32_t a, int32_t b)
{
    const int32_t quotient = a / b;
    return quotient - (a % b < 0 ? 1 : 0);
}

extern inline void tigris_view_at(const tigris_stage_run *run, uint32_t index, tigris_view *view);

TIGRIS_HOT
int32_t tigris_paced_rows(const tigris_view_record *view, uint32_t bands, int32_t height)
{
    if (bands == 0U) {
        return 0; /* a positive offset adds rows to the first band, not before it */
    }
    int32_t rows = (int32_t)(bands * view->pace_numerator) + view->pace_offset;
    /* Only rolling stages need the division: paces of whole and tiled stages have denominator 1. */
    if (rows > 0 && view->pace_denominator != 1U) {
        rows /= (int32_t)view->pace_denominator;
    }
    return clip(rows, height);
}

void tigris_operand_rows(const tigris_operand_record *operand, int32_t height, int32_t first, int32_t end,
                         tigris_band *input)
{
    int32_t asked_first = first * operand->numerator + operand->first;
    int32_t asked_end = (end - 1) * operand->numerator + operand->last;
    const int32_t denominator = operand->denominator;
    if (denominator != 1) { /* resampling operators only */
        asked_first = floor_divide(asked_first, denominator);
        asked_end = floor_divide(asked_end, denominator);
    }
    asked_end++;
    input->first = clip(asked_first, height);
    input->rows = clip(asked_end, height) - input->first;
    const int32_t outside = asked_end - asked_first - input->rows;
    /* If the whole band lies in the padding, all its rows count as padding above. */
    input->pad_top = input->rows == 0 ? outside : input->first - asked_first;
    input->pad_bottom = outside - input->pad_top;
}

/* The factors whose product is the number of multiplications for one output element: the kernel's height and width, the
 * input's channels, the vector's length. */
enum { KERNEL = 1U, CHANNELS = 2U, VECTOR = 4U };

/* The factors of each kind of operator; 0: one call makes all rows of a band. */
static const uint8_t factors[] = {TIGRIS_FACTORS_OF_KINDS};

int32_t tigris_rows_per_call(const tigris_stage_run *run, const tigris_op_record *op,
                             const tigris_tensor_record *output, int32_t rows)
{
    const tigris_session *session = run->session;
    if (run->proving || session->hooks.yield == NULL || session->backend_scratch != NULL ||
        op->kind >= sizeof factors || factors[op->kind] == 0U || tigris_is_whole_batch(op, output)) {
        return rows;
    }
    /* Records with KERNEL begin with its height and width, records with VECTOR with the count of vectors and their
     * length. */
    const uint8_t *params = run->plan->params + op->params;
    uint32_t row = tigris_row_elements(output); /* becomes the multiplications of one output row */
    if ((factors[op->kind] & KERNEL) != 0U) {
        const uint16_t *kernel = (const uint16_t *)(const void *)params;
        row = tigris_multiply(row, (uint32_t)kernel[0] * kernel[1]);
    }
    if ((factors[op->kind] & CHANNELS) != 0U) {
        const uint32_t view = run->stage->first_view + run->plan->operands[op->first_operand].view;
        row = tigris_multiply(row, tigris_view_tensor(run->plan, &run->plan->views[view])->channels);
    }
    if ((factors[op->kind] & VECTOR) != 0U) {
        row = tigris_multiply(row, ((const uint32_t *)(const void *)params)[1]);
    }
    const uint32_t most = row - 1U < TIGRIS_YIELD_STEPS ? TIGRIS_YIELD_STEPS / row : 1U;
    return (uint32_t)rows > most ? (int32_t)most : rows;
}

TIGRIS_HOT
tigris_status tigris_call_yield_hook(tigris_session *session)
{
    if (session->hooks.yield != NULL && session->hooks.yield(session->hooks.yield_context) != 0) {
        session->fault.status = TIGRIS_ERR_CANCELLED;
    }
    return session->fault.status;
}

TIGRIS_HOT
int tigris_yield_from_kernel(const tigris_kernel_call *call)
{
    return tigris_call_yield_hook(call->session) != TIGRIS_OK;
}
