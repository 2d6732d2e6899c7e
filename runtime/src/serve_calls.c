/* Observes kernel calls through the hooks of a session.
 *
 * The executor reads the counter before and after an operator's kernel, then calls the profile hook. At the first
 * reading the bands are filled in, and the inputs are as the kernel will find them. */
#include "serve_calls.h"

#include <string.h>

#include "crc32.h"
#include "extents.h"

uint32_t tigris_call_rows(const tigris_call *call, const tigris_band *bands, uint32_t index)
{
    const tigris_band *output = &bands[call->operand_count];
    const tigris_band *band = &bands[index];

    if (band == output || band->tensor != output->tensor || band->first + band->rows <= output->first) {
        return (uint32_t)band->rows;
    }
    return output->first > band->first ? (uint32_t)(output->first - band->first) : 0U;
}

uint32_t tigris_call_bytes(const tigris_call *call, const tigris_band *bands, uint32_t index)
{
    return tigris_rows_bytes(bands[index].tensor, tigris_call_rows(call, bands, index));
}

/* Bands are cleared after each operator. So an operator's bands end at the first without a tensor, and the last is its
 * output's. */
static uint32_t count_operands(const tigris_band *bands)
{
    uint32_t count = 0U;

    while (count < TIGRIS_MAX_OPERANDS && bands[count + 1U].tensor != NULL) {
        count++;
    }
    return count;
}

/* Takes the checksums of the rows that the next kernel call reads. */
static void checksum_operands(tigris_call_trace *calls)
{
    const tigris_band *bands = calls->session->bands;

    calls->call.operand_count = count_operands(bands);
    for (uint32_t i = 0; i < calls->call.operand_count; i++) {
        calls->call.operands[i] = tigris_crc32(bands[i].data, tigris_call_bytes(&calls->call, bands, i));
    }
}

static uint32_t counter_hook(void *context)
{
    tigris_call_trace *calls = (tigris_call_trace *)context;

    if (!calls->is_inside && !calls->is_done) {
        checksum_operands(calls);
    }
    calls->is_inside = 1;
    return 0U;
}

static void profile_hook(void *context, uint32_t op, uint32_t elapsed)
{
    tigris_call_trace *calls = (tigris_call_trace *)context;

    (void)op;
    (void)elapsed;
    calls->is_inside = 0;
    memset(calls->session->bands, 0, sizeof calls->session->bands);
}

static void trace_hook(void *context, uint32_t op, uint32_t image, const tigris_band *output)
{
    tigris_call_trace *calls = (tigris_call_trace *)context;
    tigris_call *call = &calls->call;

    if (calls->is_done) {
        return;
    }
    const uint32_t place[4] = {op, image, (uint32_t)output->first, (uint32_t)output->rows};
    const uint32_t operand_bytes = call->operand_count * (uint32_t)sizeof call->operands[0];
    call->op = op;
    call->image = image;
    call->first = place[2];
    call->rows = place[3];
    call->crc32 = tigris_crc32_append(call->crc32, (const uint8_t *)(const void *)place, sizeof place);
    call->crc32 = tigris_crc32_append(call->crc32, (const uint8_t *)(const void *)call->operands, operand_bytes);
    call->crc32 = tigris_crc32_append(call->crc32, output->data,
                                      tigris_rows_bytes(output->tensor, (uint32_t)output->rows));
    calls->is_done = calls->hook(calls->context, call, calls->session->bands);
}

void tigris_start_call_trace(tigris_call_trace *calls, tigris_session *session, tigris_call_hook hook, void *context)
{
    memset(calls, 0, sizeof *calls);
    calls->session = session;
    calls->hook = hook;
    calls->context = context;
    calls->before = session->hooks;
    memset(session->bands, 0, sizeof session->bands);
    session->hooks.counter = counter_hook;
    session->hooks.profile = profile_hook;
    session->hooks.profile_context = calls;
    session->hooks.trace = trace_hook;
    session->hooks.trace_context = calls;
}

void tigris_stop_call_trace(tigris_call_trace *calls)
{
    calls->session->hooks = calls->before;
}
