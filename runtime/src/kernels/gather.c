/* GATHER: slices at positions that are known when the network runs, such as rows of an embedding. */
#include <string.h>

#include "tigris_kernels.h"
#include "vectors.h"

/* The place along an axis of `length` elements that a number means. */
static uint32_t position_of(float x, uint32_t length)
{
    const float from_start = x < 0.0F ? x + (float)length : x;
    if (!(from_start >= 1.0F)) { /* also of no number */
        return 0U;
    }
    return from_start >= (float)length ? length - 1U : (uint32_t)from_start;
}

static void gather(const tigris_kernel_call *call, size_t size)
{
    const tigris_gather_params *params = call->params;
    const uint32_t *step = params->position_step;
    const float *positions = (const float *)(const void *)call->inputs[1].data;
    const tigris_span span = tigris_band_span(call->output);
    uint8_t *to = call->output->data;
    for (uint32_t at = span.first; at < span.end;) {
        const uint32_t i = at % params->inner;
        const uint32_t k = at / params->inner % params->count;
        const uint32_t o = at / params->inner / params->count;
        const uint32_t left = span.end - at;
        const uint32_t run = step[2] != 0U ? 1U : left < params->inner - i ? left : params->inner - i;
        const uint32_t from = position_of(positions[o * step[0] + k * step[1] + i * step[2]], params->length);
        memcpy(to, call->inputs[0].data + ((size_t)(o * params->length + from) * params->inner + i) * size, run * size);
        to += run * size;
        at += run;
    }
}

static void run_float(const tigris_kernel_call *call)
{
    gather(call, sizeof(float));
}

static void run_int8(const tigris_kernel_call *call)
{
    gather(call, 1U);
}

/* The farthest position lies inside the second input; 2^24 is where float32 ceases to count. */
static int are_positions(const tigris_check_call *call)
{
    const tigris_gather_params *params = call->params;
    const uint32_t *step = params->position_step;
    const uint64_t last = (uint64_t)(params->outer - 1U) * step[0];
    const uint64_t there = (uint64_t)(params->count - 1U) * step[1];
    const uint64_t here = (uint64_t)(params->inner - 1U) * step[2];
    const uint64_t most = tigris_call_elements(call, call->inputs[1]);
    return params->length <= 1U << 24 && last < most && there < most && here < most && last + there + here < most;
}

static tigris_status check(const tigris_check_call *call)
{
    const tigris_gather_params *params = call->params;
    const uint32_t dtype = call->op->dtype;
    if (call->op->operand_count != 2U || call->inputs[0]->dtype != dtype || call->output->dtype != dtype ||
        call->inputs[1]->dtype != TIGRIS_DTYPE_FLOAT32 || params->outer == 0U || params->length == 0U ||
        params->inner == 0U || params->count == 0U) {
        return TIGRIS_ERR_PARAMS;
    }
    const uint32_t slices = tigris_multiply(params->outer, params->inner);
    return tigris_check_result(
        call->op->images == 1U && tigris_check_all_rows(call, 0U) && tigris_check_all_rows(call, 1U) &&
        tigris_multiply(slices, params->length) == tigris_call_elements(call, call->inputs[0]) &&
        tigris_multiply(slices, params->count) == tigris_call_elements(call, call->output) && are_positions(call));
}

const tigris_kernel_entry tigris_gather_float = {TIGRIS_OP_KIND_GATHER, TIGRIS_DTYPE_FLOAT32,
                                                 sizeof(tigris_gather_params), run_float, check};
const tigris_kernel_entry tigris_gather_int8 = {TIGRIS_OP_KIND_GATHER, TIGRIS_DTYPE_INT8, sizeof(tigris_gather_params),
                                                run_int8, check};
