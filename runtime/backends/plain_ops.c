/* The plain operators of a plan and of a call, for the adapters of kernel libraries. */
#include "plain_ops.h"

#if defined(TIGRIS_ESP_NN) || defined(TIGRIS_CMSIS_NN)

#include <assert.h>

#define MAX_SIZE INT16_MAX
/* Bounds products of sizes, so that a library's sums of them do not overflow. */
#define MAX_PRODUCT (UINT32_C(1) << 26)

static int is_small(uint32_t a, uint32_t b, uint32_t c)
{
    return a <= MAX_SIZE && b <= MAX_SIZE && c <= MAX_SIZE;
}

/* Most positions along an axis that a library copies: the input, padding on both sides, and a stride. */
static uint32_t padded(uint32_t size, uint32_t kernel, uint32_t stride)
{
    return size + 2U * kernel + stride;
}

int tigris_is_small_conv(const tigris_check_call *call)
{
    const tigris_conv_int8_params *params = call->params;
    const tigris_tensor_record *input = call->inputs[0];
    const tigris_tensor_record *output = call->output;
    const uint32_t taps = (uint32_t)params->kernel_height * params->kernel_width;
    /* The sizes are checked before they are multiplied. */
    return is_small(params->kernel_height, params->kernel_width, input->channels) &&
           is_small(params->stride_height, params->stride_width, output->channels) &&
           is_small(input->height, input->width, output->height) && output->width <= MAX_SIZE &&
           is_small((params->kernel_height - 1U) * params->dilation_height,
                    (params->kernel_width - 1U) * params->dilation_width, 0U) &&
           tigris_multiply(taps, tigris_multiply(input->channels + 16U, output->channels + 16U)) < MAX_PRODUCT &&
           tigris_multiply(tigris_multiply(padded(input->height, params->kernel_height, params->stride_height),
                                           padded(input->width, params->kernel_width, params->stride_width)),
                           input->channels + 16U) < MAX_PRODUCT &&
           tigris_multiply(output->height, tigris_multiply(output->width, output->channels + 16U)) < MAX_PRODUCT;
}

int tigris_is_small_layer(const tigris_check_call *call)
{
    const tigris_fully_connected_int8_params *params = call->params;
    return is_small(params->in_features, params->out_features, 0U);
}

/* ---- operators of a plan ---- */

/* Whether the kernel accepts the operator, before its weights are readable. */
static int accepts_op(const tigris_kernel_entry *entry, const tigris_plan *plan, const tigris_stage_record *stage,
                      const tigris_op_record *op)
{
    const tigris_view_record *views = &plan->views[stage->first_view];
    tigris_check_call call;
    if (entry->kind != op->kind || entry->dtype != op->dtype || entry->params_bytes != op->params_bytes) {
        return 0;
    }
    call.op = op;
    call.params = plan->params + op->params;
    call.operands = &plan->operands[op->first_operand];
    for (uint32_t i = 0; i < op->operand_count; i++) {
        call.inputs[i] = tigris_view_tensor(plan, &views[call.operands[i].view]);
    }
    call.output = tigris_view_tensor(plan, &views[op->output_view]);
    call.weights = NULL;
    call.weights_bytes = stage->block_raw_bytes;
    call.session = NULL;
    return entry->check(&call) == TIGRIS_OK;
}

/* The plain convolution `op` of `stage` over the tallest bands its views can hold, with the padding of the
 * first. */
static tigris_plain_conv tallest_conv(const tigris_plan *plan, const tigris_stage_record *stage,
                                      const tigris_op_record *op)
{
    const tigris_view_record *views = &plan->views[stage->first_view];
    const tigris_operand_record *operand = &plan->operands[op->first_operand];
    const tigris_view_record *input = &views[operand->view];
    const tigris_view_record *output = &views[op->output_view];
    const uint32_t in_height = tigris_view_tensor(plan, input)->height;
    const uint32_t out_height = tigris_view_tensor(plan, output)->height;
    const tigris_plain_conv conv = {
        (const void *)(plan->params + op->params),
        tigris_view_tensor(plan, input),
        tigris_view_tensor(plan, output),
        (int32_t)(input->capacity_rows < in_height ? input->capacity_rows : in_height),
        (int32_t)(output->capacity_rows < out_height ? output->capacity_rows : out_height),
        -operand->first,
        op->kind == TIGRIS_OP_KIND_PLAIN_DEPTHWISE_CONV_2D,
        stage->band_count > 1U};
    return conv;
}

static uint32_t scratch_of(const tigris_plan *plan, const tigris_stage_record *stage, const tigris_op_record *op,
                           const tigris_plain_scratch *bytes_of)
{
    int32_t bytes = 0;
    if (op->kind != TIGRIS_OP_KIND_PLAIN_FULLY_CONNECTED) {
        const tigris_plain_conv conv = tallest_conv(plan, stage, op);
        assert(conv.input_rows > 0 && conv.output_rows > 0 && conv.pad_top >= 0);
        bytes = bytes_of->conv(&conv);
    } else if (bytes_of->fully_connected != NULL) {
        bytes = bytes_of->fully_connected((const void *)(plan->params + op->params));
    }
    return bytes > 0 ? (uint32_t)bytes : 0U;
}

static int is_portable(const tigris_kernel_entry *entry)
{
    return entry == &tigris_plain_conv_2d_int8 || entry == &tigris_plain_depthwise_conv_2d_int8 ||
           entry == &tigris_plain_fully_connected_int8;
}

static int is_run_by(const tigris_backend *backend, const tigris_plan *plan, const tigris_stage_record *stage,
                     const tigris_op_record *op)
{
    uint32_t i = 0U;
    while (i < backend->kernel_count &&
           (is_portable(backend->kernels[i]) || !accepts_op(backend->kernels[i], plan, stage, op))) {
        i++;
    }
    return i < backend->kernel_count;
}

uint32_t tigris_largest_plain_scratch(const tigris_plan *plan, const tigris_backend *backend,
                                      const tigris_plain_scratch *bytes_of)
{
    uint32_t most = 0U;
    for (uint32_t i = 0; i < plan->header->stage_count; i++) {
        const tigris_stage_record *stage = &plan->stages[i];
        for (uint32_t j = 0; j < stage->op_count; j++) {
            const tigris_op_record *op = &plan->ops[stage->first_op + j];
            const uint32_t bytes = is_run_by(backend, plan, stage, op) ? scratch_of(plan, stage, op, bytes_of) : 0U;
            most = bytes > most ? bytes : most;
        }
    }
    return most;
}

/* ---- of a call ---- */

tigris_plain_conv tigris_plain_conv_of(const tigris_kernel_call *call, int32_t depthwise)
{
    const tigris_band *in = &call->inputs[0];
    const tigris_plain_conv conv = {call->params,     in->tensor,  call->output->tensor, in->rows,
                                    call->output->rows, in->pad_top, depthwise,         0};
    const int32_t windows = (conv.output_rows - 1) * conv.params->stride_height +
                            (conv.params->kernel_height - 1) * conv.params->dilation_height + 1;
    /* tigris_check_plain_conv guarantees this for every band. */
    assert(in->rows > 0 && in->rows <= (int32_t)in->tensor->height && call->output->rows > 0);
    assert(in->pad_top >= 0 && in->pad_bottom >= 0 && in->pad_top + in->rows + in->pad_bottom >= windows);
    (void)windows;
    return conv;
}

int32_t tigris_plain_pad_right(const tigris_plain_conv *conv)
{
    const tigris_conv_int8_params *params = conv->params;
    const int32_t end = ((int32_t)conv->output->width - 1) * params->stride_width +
                        (params->kernel_width - 1) * params->dilation_width + 1;
    const int32_t right = end - params->pad_left - (int32_t)conv->input->width;
    return right > 0 ? right : 0;
}

/* Whether `count` multipliers and shifts in RAM are still valid, and do not overlap the output that the call writes. */
static int are_scales_intact(const tigris_kernel_call *call, uint32_t multiplier, uint32_t shift, uint32_t count)
{
    const uint32_t offsets[2] = {multiplier, shift};
    const uintptr_t output = (uintptr_t)call->output->data;
    const uintptr_t output_end = output + (uint32_t)call->output->rows * tigris_row_bytes(call->output->tensor);
    for (uint32_t i = 0; i < 2U; i++) {
        const uintptr_t values = (uintptr_t)call->weights + offsets[i];
        if (values < output_end && output < values + count * sizeof(int32_t)) {
            return 0;
        }
    }
    return tigris_plain_scales_hold(tigris_int32_data(call, multiplier), tigris_int32_data(call, shift), count);
}

int tigris_plain_may_run(const tigris_kernel_call *call, int32_t bytes, uint32_t multiplier, uint32_t shift,
                         uint32_t count)
{
    if (bytes > 0 && (uint32_t)bytes > call->backend_scratch_bytes) {
        return 0;
    }
    assert(bytes <= 0 || call->backend_scratch != NULL);
    return !call->weights_in_ram || are_scales_intact(call, multiplier, shift, count);
}

#endif
