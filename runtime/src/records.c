/* Structural checks of every record, in the order of the file's references: a record is only followed
 * to records that have been checked, and every placement is compared with the region it lies in. */
#include "records.h"

#include "band.h"
#include "plan.h"
#include "tigris_kernel.h"

/* Row maps are computed in 32 bits; this bounds numerator * row, first and last so that no sum overflows. */
#define LARGEST_ROW_TERM (INT32_MAX / 4)
/* The same for paces: bounds band_count * numerator and offset. */
#define LARGEST_PACE_TERM (INT32_MAX / 2)
/* The proof walks every band, so a hostile plan must not ask for billions. */
#define MOST_BANDS (UINT32_C(1) << 20)

static int placed_in_fast(const tigris_header_record *header, uint32_t offset, uint32_t bytes)
{
    return offset % header->alignment == 0U && offset >= header->state_bytes &&
           tigris_fits(offset, bytes, header->fast_bytes);
}

/* Non-negative and finite, compared by bits: no floating-point code in the loader. */
static int is_scale(const float *scale)
{
    const union {
        float value;
        uint32_t bits;
    } word = {*scale};
    return word.bits < 0x7F800000U;
}

static int is_home(const tigris_header_record *header, const tigris_tensor_record *tensor, uint32_t bytes)
{
    switch (tensor->home) {
    case TIGRIS_HOME_NONE:
        return tensor->home_offset == 0U;
    case TIGRIS_HOME_FAST:
        return placed_in_fast(header, tensor->home_offset, bytes);
    case TIGRIS_HOME_SLOW:
        return tensor->home_offset % header->alignment == 0U &&
               tigris_fits(tensor->home_offset, bytes, header->slow_bytes);
    case TIGRIS_HOME_FLASH:
        return tensor->home_offset % TIGRIS_SECTION_ALIGNMENT == 0U &&
               tigris_fits(tensor->home_offset, bytes, header->weights_bytes);
    default:
        return 0;
    }
}

/* Rows of one image may be folded, and only where they can be written. */
static int is_storable(const tigris_tensor_record *tensor)
{
    return tensor->flags == 0U || (tensor->flags == TIGRIS_TENSOR_FLAG_FOLDED && tensor->batch == 1U &&
                                   tensor->height <= INT32_MAX && tensor->home != TIGRIS_HOME_FLASH);
}

static tigris_status check_tensor(const tigris_plan *plan, const tigris_tensor_record *tensor)
{
    const tigris_header_record *header = plan->header;
    const uint32_t bytes = tigris_tensor_bytes(tensor);
    if (tensor->name >= header->strings_bytes) {
        return TIGRIS_ERR_STRING;
    }
    if (bytes == 0U || bytes > INT32_MAX || !is_storable(tensor) || !is_scale(&tensor->scale) ||
        !is_home(header, tensor, bytes)) {
        return TIGRIS_ERR_TENSOR;
    }
    return TIGRIS_OK;
}

/* `rank` entries and only zeros behind them: the shape of `bytes` bytes of this type. */
static int is_shape(const uint32_t *shape, uint32_t rank, uint32_t dtype, uint32_t bytes)
{
    uint32_t product = tigris_dtype_bytes(dtype);
    for (uint32_t i = 0; i < TIGRIS_MAX_RANK; i++) {
        if (i < rank) {
            product = tigris_multiply(product, shape[i]);
        } else if (shape[i] != 0U) {
            return 0;
        }
    }
    return product == bytes;
}

static int is_permutation(const uint8_t *permutation, uint32_t rank)
{
    uint32_t seen = 0U;
    for (uint32_t i = 0; i < TIGRIS_MAX_RANK; i++) {
        if (permutation[i] > (i < rank ? TIGRIS_MAX_RANK : 0U)) {
            return 0;
        }
        seen |= i < rank ? 1U << permutation[i] : 0U;
    }
    return seen == (1U << rank) - 1U;
}

static tigris_status check_io(const tigris_plan *plan, uint32_t index)
{
    const tigris_header_record *header = plan->header;
    const tigris_io_record *io = &plan->io[index];
    if (io->name >= header->strings_bytes) {
        return TIGRIS_ERR_STRING;
    }
    if (io->tensor >= header->tensor_count || tigris_dtype_bytes(io->model_dtype) == 0U ||
        io->rank > TIGRIS_MAX_RANK || io->stored_rank > TIGRIS_MAX_RANK ||
        (io->reserved[0] | io->reserved[1] | io->reserved[2]) != 0U) {
        return TIGRIS_ERR_IO;
    }
    const tigris_tensor_record *tensor = &plan->tensors[io->tensor];
    const uint32_t bytes = tigris_tensor_bytes(tensor);
    if (!is_shape(io->shape, io->rank, tensor->dtype, bytes) ||
        !is_shape(io->stored_shape, io->stored_rank, tensor->dtype, bytes) ||
        !is_permutation(io->permutation, io->stored_rank)) {
        return TIGRIS_ERR_IO;
    }
    /* An input is written by the caller, so it must lie in an arena; an output may also be a constant. */
    if (tensor->home == TIGRIS_HOME_NONE || (tensor->home == TIGRIS_HOME_FLASH && index < header->input_count)) {
        return TIGRIS_ERR_IO;
    }
    return TIGRIS_OK;
}

static int is_block(const tigris_header_record *header, const tigris_stage_record *stage)
{
    if (stage->block % TIGRIS_SECTION_ALIGNMENT != 0U ||
        !tigris_fits(stage->block, stage->block_stored_bytes, header->weights_bytes)) {
        return 0;
    }
    if (stage->weight_mode != TIGRIS_WEIGHT_MODE_LZ4 && stage->block_stored_bytes != stage->block_raw_bytes) {
        return 0;
    }
    if (stage->weight_mode == TIGRIS_WEIGHT_MODE_IN_PLACE) {
        return 1;
    }
    return (header->flags & TIGRIS_HEADER_FLAG_XIP) == 0U &&
           placed_in_fast(header, stage->block_fast_offset, stage->block_raw_bytes);
}

static tigris_status check_window(const tigris_header_record *header, const tigris_view_record *view,
                                  const tigris_tensor_record *tensor)
{
    /* Images of a batch lie a whole image apart, so their rows cannot move in a shorter window. */
    const int whole = view->capacity_rows == tensor->height && (view->flags & TIGRIS_VIEW_FLAG_KEEP) == 0U;
    if (tensor->batch != 1U && !whole) {
        return TIGRIS_ERR_VIEW;
    }
    const uint32_t image_bytes = tigris_rows_bytes(tensor, view->capacity_rows);
    if (view->capacity_rows == 0U ||
        !placed_in_fast(header, view->offset, tigris_multiply(image_bytes, tensor->batch))) {
        return TIGRIS_ERR_VIEW;
    }
    if ((view->flags & TIGRIS_VIEW_FLAG_LOAD) != 0U && tensor->home == TIGRIS_HOME_NONE) {
        return TIGRIS_ERR_VIEW;
    }
    const int writable = tensor->home == TIGRIS_HOME_FAST || tensor->home == TIGRIS_HOME_SLOW;
    if ((view->flags & TIGRIS_VIEW_FLAG_STORE) != 0U && !writable) {
        return TIGRIS_ERR_VIEW;
    }
    return TIGRIS_OK;
}

static tigris_status check_view(const tigris_plan *plan, const tigris_view_record *view)
{
    if (view->tensor >= plan->header->tensor_count || (view->flags & ~(uint32_t)TIGRIS_VIEW_FLAGS) != 0U) {
        return TIGRIS_ERR_VIEW;
    }
    const tigris_tensor_record *tensor = tigris_view_tensor(plan, view);
    if (tigris_is_window(view)) {
        return check_window(plan->header, view, tensor);
    }
    if (view->flags != 0U || view->offset != 0U || view->capacity_rows != tensor->height ||
        tensor->home == TIGRIS_HOME_NONE || (view->pace_numerator != 0U && tensor->home == TIGRIS_HOME_FLASH)) {
        return TIGRIS_ERR_VIEW;
    }
    return TIGRIS_OK;
}

static tigris_status check_operand(const tigris_plan *plan, const tigris_stage_record *stage,
                                   const tigris_op_record *op, const tigris_operand_record *operand)
{
    if (operand->view >= stage->view_count || operand->view == op->output_view || operand->denominator == 0U ||
        operand->reserved != 0U) {
        return TIGRIS_ERR_OPERAND;
    }
    const tigris_view_record *views = &plan->views[stage->first_view];
    const tigris_tensor_record *output = tigris_view_tensor(plan, &views[op->output_view]);
    const tigris_tensor_record *input = tigris_view_tensor(plan, &views[operand->view]);
    if (tigris_multiply(output->height - 1U, operand->numerator) > LARGEST_ROW_TERM || operand->first < -LARGEST_ROW_TERM || operand->last > LARGEST_ROW_TERM ||
        operand->first > operand->last) {
        return TIGRIS_ERR_OPERAND;
    }
    if (op->images > 1U && input->batch != op->images && input->batch != 1U) {
        return TIGRIS_ERR_OPERAND;
    }
    return TIGRIS_OK;
}

static tigris_status check_op(const tigris_plan *plan, const tigris_stage_record *stage, const tigris_op_record *op)
{
    const tigris_header_record *header = plan->header;
    if (op->name >= header->strings_bytes) {
        return TIGRIS_ERR_STRING;
    }
    if (op->flags != 0U || op->operand_count == 0U || op->operand_count > TIGRIS_MAX_OPERANDS ||
        op->output_view >= stage->view_count || op->images == 0U || op->params % sizeof(uint32_t) != 0U ||
        !tigris_fits(op->params, op->params_bytes, header->params_bytes)) {
        return TIGRIS_ERR_OP;
    }
    if (op->scratch_bytes != 0U && !placed_in_fast(header, op->scratch, op->scratch_bytes)) {
        return TIGRIS_ERR_OP;
    }
    const tigris_view_record *view = &plan->views[stage->first_view + op->output_view];
    const tigris_tensor_record *output = tigris_view_tensor(plan, view);
    if ((op->images != 1U && op->images != output->batch) || (view->flags & TIGRIS_VIEW_FLAG_LOAD) != 0U) {
        return TIGRIS_ERR_OP;
    }
    /* Written in place, so it must lie in an arena. */
    if (!tigris_is_window(view) && output->home == TIGRIS_HOME_FLASH) {
        return TIGRIS_ERR_OP;
    }
    return TIGRIS_OK;
}

static int is_pace(const tigris_view_record *view, uint32_t band_count)
{
    if (view->pace_numerator == 0U) {
        return view->pace_denominator == 0U && view->pace_offset == 0;
    }
    return tigris_multiply(view->pace_numerator, band_count) <= LARGEST_PACE_TERM && view->pace_denominator != 0U &&
           view->pace_denominator <= INT32_MAX && view->pace_offset >= -LARGEST_PACE_TERM &&
           view->pace_offset <= LARGEST_PACE_TERM;
}

/* Some rows of a paced view come with the last band. */
static int needs_last_band(const tigris_plan *plan, const tigris_view_record *view, uint32_t band_count)
{
    const int32_t height = (int32_t)tigris_view_tensor(plan, view)->height;
    return view->pace_numerator != 0U && tigris_paced_rows(view, band_count - 1U, height) < height;
}

static tigris_status check_views(const tigris_plan *plan, const tigris_stage_record *stage)
{
    int last_band_useful = stage->band_count == 1U;
    for (uint32_t i = 0; i < stage->view_count; i++) {
        const tigris_view_record *view = &plan->views[stage->first_view + i];
        if (!is_pace(view, stage->band_count)) {
            return TIGRIS_ERR_VIEW;
        }
        const tigris_status status = check_view(plan, view);
        if (status != TIGRIS_OK) {
            return status;
        }
        last_band_useful = last_band_useful || needs_last_band(plan, view, stage->band_count);
    }
    return last_band_useful ? TIGRIS_OK : TIGRIS_ERR_STAGE;
}

static tigris_status check_ops(const tigris_plan *plan, const tigris_stage_record *stage, uint32_t *next_operand)
{
    for (uint32_t i = 0; i < stage->op_count; i++) {
        const tigris_op_record *op = &plan->ops[stage->first_op + i];
        tigris_status status = check_op(plan, stage, op);
        if (status != TIGRIS_OK) {
            return status;
        }
        if (op->first_operand != *next_operand ||
            op->operand_count > plan->header->operand_count - *next_operand) {
            return TIGRIS_ERR_OP;
        }
        for (uint32_t j = 0; j < op->operand_count; j++) {
            status = check_operand(plan, stage, op, &plan->operands[op->first_operand + j]);
            if (status != TIGRIS_OK) {
                return status;
            }
        }
        *next_operand += op->operand_count;
    }
    return TIGRIS_OK;
}

static tigris_status check_stage(const tigris_plan *plan, const tigris_stage_record *stage)
{
    const tigris_header_record *header = plan->header;
    if (stage->op_count == 0U || stage->view_count > header->state_bytes / TIGRIS_VIEW_STATE_BYTES ||
        stage->band_count == 0U || stage->band_count > MOST_BANDS || stage->strategy > TIGRIS_STRATEGY_ROLLING ||
        stage->weight_mode > TIGRIS_WEIGHT_MODE_LZ4 || stage->reserved != 0U || !is_block(header, stage)) {
        return TIGRIS_ERR_STAGE;
    }
    return check_views(plan, stage);
}

/* Stages follow one another without gaps, and use up all operators, views and operands. */
static tigris_status check_stages(const tigris_plan *plan)
{
    const tigris_header_record *header = plan->header;
    uint32_t next_op = 0U;
    uint32_t next_view = 0U;
    uint32_t next_operand = 0U;
    for (uint32_t i = 0; i < header->stage_count; i++) {
        const tigris_stage_record *stage = &plan->stages[i];
        if (stage->first_op != next_op || stage->op_count > header->op_count - next_op ||
            stage->first_view != next_view || stage->view_count > header->view_count - next_view) {
            return TIGRIS_ERR_STAGE;
        }
        tigris_status status = check_stage(plan, stage);
        if (status == TIGRIS_OK) {
            status = check_ops(plan, stage, &next_operand);
        }
        if (status != TIGRIS_OK) {
            return status;
        }
        next_op += stage->op_count;
        next_view += stage->view_count;
    }
    const int all = next_op == header->op_count && next_view == header->view_count &&
                    next_operand == header->operand_count;
    return all ? TIGRIS_OK : TIGRIS_ERR_STAGE;
}

tigris_status tigris_check_records(const tigris_plan *plan)
{
    const tigris_header_record *header = plan->header;
    for (uint32_t i = 0; i < header->tensor_count; i++) {
        const tigris_status status = check_tensor(plan, &plan->tensors[i]);
        if (status != TIGRIS_OK) {
            return status;
        }
    }
    for (uint32_t i = 0; i < (uint32_t)header->input_count + header->output_count; i++) {
        const tigris_status status = check_io(plan, i);
        if (status != TIGRIS_OK) {
            return status;
        }
    }
    return check_stages(plan);
}
