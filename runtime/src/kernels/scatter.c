/* SCATTER: a tensor with slices replaced at positions that are known when the network runs. */
#include "../move.h"
#include "slices.h"
#include "tigris_kernels.h"
#include "vectors.h"

static float combined(uint32_t combine, float old, float update)
{
    switch (combine) {
    case 1U:
        return old + update;
    case 2U:
        return old * update;
    case 3U:
        return old < update || update != update ? update : old;
    default: /* 4: the checker admits no other */
        return old > update || update != update ? update : old;
    }
}

static void scatter(const tigris_kernel_call *call, size_t size)
{
    const tigris_scatter_params *params = tigris_params(call);
    const float *positions = (const float *)(const void *)tigris_input_data(call, 1);
    const uint8_t *update = tigris_input_data(call, 2);
    tigris_move(tigris_output_data(call), tigris_input_data(call, 0),
                (uint32_t)(tigris_band_elements(tigris_output_band(call)) * size));
    for (uint32_t at = 0; at < params->outer * params->count * params->inner; at++, update += size) {
        const tigris_slice_place place = tigris_slice_place_of(at, params->count, params->inner);
        const float x = positions[tigris_slice_position(place, params->position_step)];
        const float from_start = x < 0.0F ? x + (float)params->length : x;
        if (!(from_start >= 0.0F && from_start < (float)params->length)) {
            continue;
        }
        const uint32_t slice = place.outer * params->length + (uint32_t)from_start;
        uint8_t *to = tigris_output_data(call) + (slice * params->inner + place.inner) * size;
        if (params->combine == 0U) {
            tigris_move(to, update, (uint32_t)size);
        } else {
            float *old = (float *)(void *)to;
            *old = combined(params->combine, *old, *(const float *)(const void *)update);
        }
    }
}

static void run_float(const tigris_kernel_call *call)
{
    scatter(call, sizeof(float));
}

static void run_int8(const tigris_kernel_call *call)
{
    scatter(call, 1U);
}

static void run_int16(const tigris_kernel_call *call)
{
    scatter(call, sizeof(int16_t));
}

static tigris_status check(const tigris_check_call *call)
{
    const tigris_scatter_params *params = call->params;
    const uint32_t dtype = call->op->dtype;
    if (call->op->operand_count != 3U || call->inputs[0]->dtype != dtype || call->output->dtype != dtype ||
        call->inputs[2]->dtype != dtype || call->inputs[1]->dtype != TIGRIS_DTYPE_FLOAT32 || params->outer == 0U ||
        params->length == 0U || params->inner == 0U || params->count == 0U ||
        params->combine > (dtype == TIGRIS_DTYPE_FLOAT32 ? 4U : 0U)) {
        return TIGRIS_ERR_PARAMS;
    }
    const uint32_t slices = tigris_multiply(params->outer, params->inner);
    const uint32_t elements = tigris_call_elements(call, call->output);
    return tigris_check_result(
        call->op->images == 1U && call->output->height == 1U && call->output->batch == 1U &&
        tigris_check_all_rows(call, 0U) && tigris_check_all_rows(call, 1U) && tigris_check_all_rows(call, 2U) &&
        tigris_multiply(slices, params->length) == elements &&
        tigris_call_elements(call, call->inputs[0]) == elements &&
        tigris_multiply(slices, params->count) == tigris_call_elements(call, call->inputs[2]) &&
        tigris_check_slices(call, params->position_step, params->outer, params->count, params->inner, params->length));
}

TIGRIS_KERNEL_ENTRY(tigris_scatter_float, SCATTER, FLOAT32, tigris_scatter_params, run_float, check);
TIGRIS_KERNEL_ENTRY(tigris_scatter_int8, SCATTER, INT8, tigris_scatter_params, run_int8, check);
TIGRIS_KERNEL_ENTRY(tigris_scatter_int16, SCATTER, INT16, tigris_scatter_params, run_int16, check);
