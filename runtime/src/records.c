/* Structural checks of every record. The order follows the references in the file: an index is used only after the
 * record that it names was checked. Every offset is compared with the region that it lies in. The calls, in order:
 *
 *     tigris_check_records
 *       check_tensor, check_io   each record
 *       check_stages             each stage, in the file's order
 *         is_valid_stage, check_views
 *         check_ops              each operator: check_op
 *
 * Unsigned differences wrap, so one comparison checks both ends of a range: `count - 1U < limit` means 1 … limit. */
#include "records.h"

#include "band.h"
#include "extents.h"
#include "tigris_kernel.h"

/* Bounds numerator * row, first and last of a row map, so that no sum of them overflows 32 bits. */
#define MAX_ROW_TERM (INT32_MAX / 4)
/* Bounds band_count * numerator and the offset of a pace, so that their sum fits 32 bits. */
#define MAX_PACE_TERM (INT32_MAX / 2)
/* Bounds the steps of the proof, one for each view and operand of each band of all stages. Nothing can stop the
 * proof, and a hostile plan must not run until the watchdog resets the board. Real plans take fewer than 10,000. */
#define MAX_STEPS (UINT32_C(1) << 20)

/* Whether a buffer is aligned and lies in the fast arena above the run-time state. */
static int fits_in_fast(const tigris_header_record *header, uint32_t offset, uint32_t bytes)
{
    return offset % header->alignment == 0U && offset >= header->state_bytes &&
           tigris_fits(offset, bytes, header->fast_bytes);
}

/* Whether a scale is finite and not negative; compares bits, so that opening a plan needs no floating-point code. */
static int is_scale(const float *scale)
{
    const union {
        float value;
        uint32_t bits;
    } word = {*scale};
    return word.bits < 0x7F800000U;
}

static int has_valid_home(const tigris_header_record *header, const tigris_tensor_record *tensor, uint32_t bytes)
{
    const uint32_t offset = tensor->home_offset;
    uint32_t alignment = header->alignment;
    uint32_t limit = header->slow_bytes;
    switch (tensor->home) {
    case TIGRIS_HOME_NONE:
        return offset == 0U;
    case TIGRIS_HOME_FAST:
        return fits_in_fast(header, offset, bytes);
    case TIGRIS_HOME_SLOW:
        break;
    case TIGRIS_HOME_FLASH:
        alignment = TIGRIS_SECTION_ALIGNMENT;
        limit = header->weights_bytes;
        break;
    default:
        return 0;
    }
    return offset % alignment == 0U && tigris_fits(offset, bytes, limit);
}

/* A folded tensor must lie in an arena. Its height is bounded here, because its bytes are those of one row. */
static int has_valid_flags(const tigris_tensor_record *tensor)
{
    return (tensor->flags & ~(uint32_t)TIGRIS_TENSOR_FLAG_STATE) == 0U ||
           (tensor->flags == TIGRIS_TENSOR_FLAG_FOLDED && tensor->height - 1U < INT32_MAX &&
            tensor->home != TIGRIS_HOME_FLASH);
}

static tigris_status check_tensor(const tigris_header_record *header, const tigris_tensor_record *tensor)
{
    const uint32_t bytes = tigris_tensor_bytes(tensor);
    if (tensor->name >= header->strings_bytes) {
        return TIGRIS_ERR_STRING;
    }
    if (bytes == 0U || bytes > INT32_MAX || !has_valid_flags(tensor) || !is_scale(&tensor->scale) ||
        !has_valid_home(header, tensor, bytes)) {
        return TIGRIS_ERR_TENSOR;
    }
    return TIGRIS_OK;
}

/* The bytes of a shape with one more dimension. An unused dimension must be 0; if not, returns 0, which is no valid
 * size. */
static uint32_t multiply_dimension(uint32_t bytes, uint32_t dimension, int is_used)
{
    return is_used ? tigris_multiply(bytes, dimension) : dimension == 0U ? bytes : 0U;
}

/* Whether both shapes have the tensor's bytes and the permutation names each stored axis once. */
static int has_valid_shapes(const tigris_io_record *io, const tigris_tensor_record *tensor)
{
    const uint32_t bytes = tigris_tensor_bytes(tensor);
    uint32_t shape = tigris_dtype_bytes(tensor->dtype);
    uint32_t stored = shape;
    uint32_t seen_axes = 0U;
    for (uint32_t i = 0; i < TIGRIS_MAX_RANK; i++) {
        const uint32_t axis = io->permutation[i];
        const int is_used = i < io->stored_rank;
        if (axis > (is_used ? TIGRIS_MAX_RANK : 0U)) {
            return 0;
        }
        seen_axes |= is_used ? 1U << axis : 0U;
        shape = multiply_dimension(shape, io->shape[i], i < io->rank);
        stored = multiply_dimension(stored, io->stored_shape[i], is_used);
    }
    return shape == bytes && stored == bytes && seen_axes == (1U << io->stored_rank) - 1U;
}

static tigris_status check_io(const tigris_plan *plan, const tigris_io_record *io, int is_input)
{
    const tigris_header_record *header = plan->header;
    if (io->name >= header->strings_bytes) {
        return TIGRIS_ERR_STRING;
    }
    if (io->tensor >= header->tensor_count || tigris_dtype_bytes(io->model_dtype) == 0U ||
        io->rank > TIGRIS_MAX_RANK || io->stored_rank > TIGRIS_MAX_RANK || io->reserved != 0U) {
        return TIGRIS_ERR_IO;
    }
    const tigris_tensor_record *tensor = &plan->tensors[io->tensor];
    /* The caller writes an input, so it must lie in an arena; an output may also be a constant. A streamed tensor may
     * have no home: the operator `mover` moves its rows, and that operator's kernel checks that both name each
     * other. */
    if ((tensor->home == TIGRIS_HOME_NONE && io->mover == 0U) || (tensor->home == TIGRIS_HOME_FLASH && is_input) ||
        !has_valid_shapes(io, tensor)) {
        return TIGRIS_ERR_IO;
    }
    return TIGRIS_OK;
}

static int has_valid_block(const tigris_header_record *header, const tigris_stage_record *stage)
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
           fits_in_fast(header, stage->block_fast_offset, stage->block_raw_bytes);
}

/* Whether a view's window fits its tensor and the fast arena; the window holds `images` images. */
static int is_valid_window(const tigris_header_record *header, const tigris_view_record *view,
                           const tigris_tensor_record *tensor, uint32_t images)
{
    /* A window with several images must hold them whole: the stride from image to image is that of the tensor. */
    const int is_whole = view->capacity_rows == tensor->height && (view->flags & TIGRIS_VIEW_FLAG_KEEP) == 0U;
    if (view->capacity_rows - 1U >= tensor->height || (images != 1U && !is_whole)) {
        return 0;
    }
    if (((view->flags & TIGRIS_VIEW_FLAG_LOAD) != 0U && tensor->home == TIGRIS_HOME_NONE) ||
        ((view->flags & TIGRIS_VIEW_FLAG_STORE) != 0U && !tigris_is_writable(tensor))) {
        return 0;
    }
    const uint32_t bytes = tigris_rows_bytes(tensor, view->capacity_rows) * images;
    return fits_in_fast(header, view->offset, bytes) &&
           /* The parked rows fit too. If `parked` lies below the state, the difference wraps and exceeds any limit. */
           view->parked - header->state_bytes <= header->fast_bytes - header->state_bytes - bytes;
}

/* Whether a view without a window covers its whole tensor at home. */
static int is_valid_direct_view(const tigris_view_record *view, const tigris_tensor_record *tensor)
{
    return view->flags == 0U && view->offset == 0U && view->capacity_rows == tensor->height &&
           tensor->home != TIGRIS_HOME_NONE && (view->pace_numerator == 0U || tensor->home != TIGRIS_HOME_FLASH);
}

static int has_valid_pace(const tigris_view_record *view, uint32_t band_count)
{
    if (view->pace_numerator == 0U) {
        return view->pace_denominator == 0U && view->pace_offset == 0;
    }
    return tigris_multiply(view->pace_numerator, band_count) <= MAX_PACE_TERM && view->pace_denominator != 0U &&
           view->pace_denominator <= INT32_MAX && view->pace_offset >= -MAX_PACE_TERM &&
           view->pace_offset <= MAX_PACE_TERM;
}

/* Checks the views of a stage. If it has several bands, the last one must make rows of some paced view. */
static tigris_status check_views(tigris_plan *plan, const tigris_stage_record *stage)
{
    const tigris_view_record *view = &plan->views[stage->first_view];
    int is_last_band_useful = stage->band_count == 1U;
    for (uint32_t i = 0; i < stage->view_count; i++, view++) {
        plan->fault.tensor = view->tensor;
        if (view->tensor >= plan->header->tensor_count || (view->flags & ~(uint32_t)TIGRIS_VIEW_FLAGS) != 0U ||
            !has_valid_pace(view, stage->band_count)) {
            return TIGRIS_ERR_VIEW;
        }
        const tigris_tensor_record *tensor = tigris_view_tensor(plan, view);
        const uint32_t images = tigris_window_images(stage, tensor);
        if (!(tigris_is_window(view) ? is_valid_window(plan->header, view, tensor, images)
                                     : is_valid_direct_view(view, tensor))) {
            return TIGRIS_ERR_VIEW;
        }
        const int32_t height = (int32_t)tensor->height;
        if (view->pace_numerator != 0U && tigris_paced_rows(view, stage->band_count - 1U, height) < height) {
            is_last_band_useful = 1;
        }
    }
    plan->fault.tensor = TIGRIS_NOWHERE;
    return is_last_band_useful ? TIGRIS_OK : TIGRIS_ERR_STAGE;
}

static int is_valid_operand(const tigris_operand_record *operand, const tigris_op_record *op,
                            const tigris_tensor_record *input, const tigris_tensor_record *output)
{
    return operand->denominator != 0U && operand->flags <= TIGRIS_OPERAND_FLAG_LAST &&
           tigris_multiply(output->height - 1U, operand->numerator) <= MAX_ROW_TERM &&
           operand->first >= -MAX_ROW_TERM && operand->last <= MAX_ROW_TERM &&
           operand->first <= operand->last &&
           (op->images == 1U || input->batch == op->images || input->batch == 1U);
}

static int is_valid_op(const tigris_header_record *header, const tigris_op_record *op, const tigris_view_record *view,
                       const tigris_tensor_record *output)
{
    /* One comparison for two fields: an unknown flag raises `count` above TIGRIS_MAX_OPERANDS. */
    const uint32_t flags = (uint32_t)op->flags << 8;
    const uint32_t count = (op->operand_count | flags) & ~((uint32_t)TIGRIS_OP_FLAG_SPLIT << 8);
    return count - (op->kind != TIGRIS_OP_KIND_FETCH ? 1U : 0U) < TIGRIS_MAX_OPERANDS &&
           (op->images == 1U || op->images == output->batch) &&
           op->params % sizeof(uint32_t) == 0U && tigris_fits(op->params, op->params_bytes, header->params_bytes) &&
           (op->scratch_bytes == 0U || fits_in_fast(header, op->scratch, op->scratch_bytes)) &&
           (view->flags & TIGRIS_VIEW_FLAG_LOAD) == 0U &&
           /* An output without a window is written at home, so that must be an arena. */
           (tigris_is_window(view) || output->home != TIGRIS_HOME_FLASH);
}

/* Whether an operator's scratch does not overlap a view's window or home: kernels use both at once. */
static int is_scratch_disjoint(const tigris_plan *plan, const tigris_stage_record *stage, const tigris_op_record *op,
                               const tigris_view_record *view)
{
    const tigris_tensor_record *tensor = tigris_view_tensor(plan, view);
    const int has_window = tigris_is_window(view);
    const uint32_t window = tigris_rows_bytes(tensor, view->capacity_rows) * tigris_window_images(stage, tensor);
    const uint32_t bytes = has_window ? window : tigris_tensor_bytes(tensor); /* of all images */
    const uint32_t first = has_window ? view->offset : tensor->home_offset;
    return op->scratch_bytes == 0U || (!has_window && tensor->home != TIGRIS_HOME_FAST) ||
           (op->scratch - first >= bytes && first - op->scratch >= op->scratch_bytes);
}

static tigris_status check_op(const tigris_plan *plan, const tigris_stage_record *stage, const tigris_op_record *op)
{
    const tigris_view_record *views = &plan->views[stage->first_view];
    if (op->name >= plan->header->strings_bytes) {
        return TIGRIS_ERR_STRING;
    }
    if (op->output_view >= stage->view_count || op->images != stage->images) {
        return TIGRIS_ERR_OP;
    }
    const tigris_tensor_record *output = tigris_view_tensor(plan, &views[op->output_view]);
    if (!is_valid_op(plan->header, op, &views[op->output_view], output) ||
        !is_scratch_disjoint(plan, stage, op, &views[op->output_view])) {
        return TIGRIS_ERR_OP;
    }
    const tigris_operand_record *operand = &plan->operands[op->first_operand];
    for (uint32_t i = 0; i < op->operand_count; i++, operand++) {
        if (operand->view >= stage->view_count ||
            (operand->view == op->output_view && op->kind != TIGRIS_OP_KIND_RECURRENT) ||
            !is_valid_operand(operand, op, tigris_view_tensor(plan, &views[operand->view]), output) ||
            !is_scratch_disjoint(plan, stage, op, &views[operand->view])) {
            return TIGRIS_ERR_OPERAND;
        }
    }
    return TIGRIS_OK;
}

/* Checks the operators of a stage, whose operands start at *next_operand; advances it past the last of them. */
static tigris_status check_ops(tigris_plan *plan, const tigris_stage_record *stage, uint32_t *next_operand)
{
    const tigris_op_record *op = &plan->ops[stage->first_op];
    for (uint32_t i = 0; i < stage->op_count; i++, op++) {
        plan->fault.op = stage->first_op + i;
        if (op->first_operand != *next_operand || op->operand_count > plan->header->operand_count - *next_operand) {
            return TIGRIS_ERR_OP;
        }
        const tigris_status status = check_op(plan, stage, op);
        if (status != TIGRIS_OK) {
            return status;
        }
        *next_operand += op->operand_count;
    }
    plan->fault.op = TIGRIS_NOWHERE;
    return TIGRIS_OK;
}

static int is_valid_stage(const tigris_header_record *header, const tigris_stage_record *stage)
{
    return stage->op_count != 0U && stage->view_count <= header->state_bytes / TIGRIS_VIEW_STATE_BYTES &&
           stage->band_count - 1U < MAX_STEPS && stage->strategy <= TIGRIS_STRATEGY_ROLLING &&
           stage->weight_mode <= TIGRIS_WEIGHT_MODE_LZ4 && has_valid_block(header, stage);
}

/* Checks that the stages follow one another without gaps and use all operators, views and operands. */
static tigris_status check_stages(tigris_plan *plan)
{
    const tigris_header_record *header = plan->header;
    const tigris_stage_record *stage = plan->stages;
    uint32_t next_op = 0U;
    uint32_t next_view = 0U;
    uint32_t next_operand = 0U;
    uint32_t steps_left = MAX_STEPS;
    for (uint32_t i = 0; i < header->stage_count; i++, stage++) {
        const uint32_t first_operand = next_operand;
        plan->fault.stage = i;
        if (stage->first_op != next_op || stage->op_count > header->op_count - next_op ||
            stage->first_view != next_view || stage->view_count > header->view_count - next_view ||
            !is_valid_stage(header, stage)) {
            return TIGRIS_ERR_STAGE;
        }
        tigris_status status = check_views(plan, stage);
        if (status == TIGRIS_OK) {
            status = check_ops(plan, stage, &next_operand);
        }
        if (status != TIGRIS_OK) {
            return status;
        }
        const uint32_t steps =
            tigris_multiply(stage->band_count, stage->view_count + (next_operand - first_operand));
        if (steps > steps_left) {
            return TIGRIS_ERR_STAGE;
        }
        steps_left -= steps;
        next_op += stage->op_count;
        next_view += stage->view_count;
    }
    plan->fault.stage = TIGRIS_NOWHERE;
    const int is_all_used = next_op == header->op_count && next_view == header->view_count &&
                            next_operand == header->operand_count;
    return is_all_used ? TIGRIS_OK : TIGRIS_ERR_STAGE;
}

tigris_status tigris_check_records(tigris_plan *plan)
{
    const tigris_header_record *header = plan->header;
    const uint32_t io_count = (uint32_t)header->input_count + header->output_count;
    tigris_status status = TIGRIS_OK;
    for (uint32_t i = 0; status == TIGRIS_OK && i < header->tensor_count; i++) {
        plan->fault.tensor = i;
        status = check_tensor(header, &plan->tensors[i]);
    }
    for (uint32_t i = 0; status == TIGRIS_OK && i < io_count; i++) {
        plan->fault.tensor = plan->io[i].tensor;
        status = check_io(plan, &plan->io[i], i < header->input_count);
    }
    if (status != TIGRIS_OK) {
        return status;
    }
    plan->fault.tensor = TIGRIS_NOWHERE;
    return check_stages(plan);
}
