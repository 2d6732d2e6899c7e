/* GATHER: slices at positions that are known when the network runs, such as rows of an embedding. */
#include "../move.h"
#include "slices.h"
#include "tigris_kernels.h"
#include "vectors.h"

/* The index on an axis of `length` elements that the number x means: negative numbers count from the end; the result is
 * clamped to the axis. */
static uint32_t position_of(float x, uint32_t length)
{
    const float from_start = x < 0.0F ? x + (float)length : x;
    if (!(from_start >= 1.0F)) { /* true for NaN too */
        return 0U;
    }
    return from_start >= (float)length ? length - 1U : (uint32_t)from_start;
}

static void gather(const tigris_kernel_call *call, size_t size)
{
    const tigris_gather_params *params = tigris_params(call);
    const uint32_t *step = params->position_step;
    const float *positions = (const float *)(const void *)tigris_input_data(call, 1);
    const tigris_span span = tigris_band_span(tigris_output_band(call));
    uint8_t *to = tigris_output_data(call);
    for (uint32_t at = span.first; at < span.end;) {
        const tigris_slice_place place = tigris_slice_place_of(at, params->count, params->inner);
        const uint32_t row_left = params->inner - place.inner, left = span.end - at;
        const uint32_t run = step[2] != 0U ? 1U : left < row_left ? left : row_left;
        const uint32_t from = position_of(positions[tigris_slice_position(place, step)], params->length);
        const uint32_t slice = place.outer * params->length + from;
        tigris_move(to, tigris_input_data(call, 0) + (size_t)(slice * params->inner + place.inner) * size,
                    (uint32_t)(run * size));
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

static void run_int16(const tigris_kernel_call *call)
{
    gather(call, sizeof(int16_t));
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
        tigris_multiply(slices, params->count) == tigris_call_elements(call, call->output) &&
        tigris_check_slices(call, params->position_step, params->outer, params->count, params->inner, params->length));
}

TIGRIS_KERNEL_ENTRY(tigris_gather_float, GATHER, FLOAT32, tigris_gather_params, run_float, check);
TIGRIS_KERNEL_ENTRY(tigris_gather_int8, GATHER, INT8, tigris_gather_params, run_int8, check);
TIGRIS_KERNEL_ENTRY(tigris_gather_int16, GATHER, INT16, tigris_gather_params, run_int16, check);
