/* The plain convolutions of a plan and of a call. */
#include "plain_ops.h"

#if defined(TIGRIS_ESP_NN) || defined(TIGRIS_CMSIS_NN)

#define LARGEST_SIZE INT16_MAX
/* Bounds what sizes are multiplied to, so that a library's sums of such products do not overflow. */
#define LARGEST_PRODUCT (UINT32_C(1) << 26)

static int is_small(uint32_t a, uint32_t b, uint32_t c)
{
    return a <= LARGEST_SIZE && b <= LARGEST_SIZE && c <= LARGEST_SIZE;
}

/* Sizes that a library's arithmetic can take. */
static int is_reasonable(const tigris_plain_conv *conv)
{
    const tigris_conv_int8_params *params = conv->params;
    const tigris_tensor_record *input = conv->input;
    const tigris_tensor_record *output = conv->output;
    const uint32_t taps = (uint32_t)params->kernel_height * params->kernel_width;
    const uint32_t padded = tigris_multiply((uint32_t)conv->input_rows + 2U * params->kernel_height,
                                            input->width + 2U * params->kernel_width);
    return is_small(params->kernel_height, params->kernel_width, input->channels) &&
           is_small(params->stride_height, params->stride_width, output->channels) &&
           is_small((uint32_t)conv->input_rows, input->width, output->width) &&
           tigris_multiply(taps, tigris_multiply(input->channels + 16U, output->channels + 16U)) < LARGEST_PRODUCT &&
           tigris_multiply(padded, input->channels + 16U) < LARGEST_PRODUCT &&
           tigris_multiply((uint32_t)conv->output_rows, tigris_row_elements(output)) < LARGEST_PRODUCT;
}

/* The plain convolution `op` of `stage` over the tallest bands its views can hold. */
static tigris_plain_conv tallest_conv(const tigris_plan *plan, const tigris_stage_record *stage,
                                      const tigris_op_record *op)
{
    const tigris_conv_int8_params *params = (const void *)(plan->params + op->params);
    const tigris_view_record *views = &plan->views[stage->first_view];
    const tigris_view_record *input = &views[plan->operands[op->first_operand].view];
    const tigris_view_record *output = &views[op->output_view];
    const tigris_plain_conv conv = {params,
                                    tigris_view_tensor(plan, input),
                                    tigris_view_tensor(plan, output),
                                    (int32_t)input->capacity_rows,
                                    (int32_t)output->capacity_rows,
                                    (params->kernel_height - 1) * params->dilation_height,
                                    op->kind == TIGRIS_OP_KIND_PLAIN_DEPTHWISE_CONV_2D};
    return conv;
}

static uint32_t scratch_of(const tigris_plan *plan, const tigris_stage_record *stage, const tigris_op_record *op,
                           const tigris_plain_scratch *bytes_of)
{
    int32_t bytes = 0;
    if (op->kind == TIGRIS_OP_KIND_PLAIN_FULLY_CONNECTED && bytes_of->fully_connected != NULL &&
        op->params_bytes == sizeof(tigris_fully_connected_int8_params)) {
        const tigris_fully_connected_int8_params *params = (const void *)(plan->params + op->params);
        if (!is_small(params->in_features, params->out_features, 0U)) {
            return UINT32_MAX;
        }
        bytes = bytes_of->fully_connected(params);
    } else if ((op->kind == TIGRIS_OP_KIND_PLAIN_CONV_2D || op->kind == TIGRIS_OP_KIND_PLAIN_DEPTHWISE_CONV_2D) &&
               op->params_bytes == sizeof(tigris_conv_int8_params)) {
        const tigris_plain_conv conv = tallest_conv(plan, stage, op);
        if (!is_reasonable(&conv)) {
            return UINT32_MAX;
        }
        bytes = bytes_of->conv(&conv);
    }
    return bytes > 0 ? (uint32_t)bytes : 0U;
}

uint32_t tigris_largest_plain_scratch(const tigris_plan *plan, const tigris_plain_scratch *bytes_of)
{
    uint32_t most = 0U;
    for (uint32_t i = 0; i < plan->header->stage_count; i++) {
        const tigris_stage_record *stage = &plan->stages[i];
        for (uint32_t j = 0; j < stage->op_count; j++) {
            const uint32_t bytes = scratch_of(plan, stage, &plan->ops[stage->first_op + j], bytes_of);
            most = bytes > most ? bytes : most;
        }
    }
    return most;
}

tigris_plain_conv tigris_plain_conv_of(const tigris_kernel_call *call, int32_t depthwise)
{
    const tigris_band *in = &call->inputs[0];
    const tigris_plain_conv conv = {call->params,     in->tensor,  call->output->tensor, in->rows,
                                    call->output->rows, in->pad_top, depthwise};
    return conv;
}

int tigris_is_small_conv(const tigris_check_call *call)
{
    const tigris_plain_conv conv = {call->params, call->inputs[0], call->output, (int32_t)call->inputs[0]->height,
                                    (int32_t)call->output->height, 0, 0};
    return is_reasonable(&conv);
}

#endif
