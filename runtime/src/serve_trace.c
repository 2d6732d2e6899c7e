/* Requests TRACE and ROWS: a run that stops after a kernel call, and the rows that this call made and read. */
#include <string.h>

#include "crc32.h"
#include "serve_calls.h"
#include "serve_requests.h"

#define MOST_CHECKSUMS ((uint32_t)(sizeof((tigris_serve_trace *)0)->checksums / sizeof(uint32_t)))
TIGRIS_STATIC_ASSERT(sizeof((tigris_serve_trace *)0)->operands / sizeof(uint32_t) == TIGRIS_MAX_OPERANDS,
                     tigris_serve_trace_operands);

typedef struct traced_run {
    tigris_serve *server;
    tigris_serve_trace answer;
    uint32_t due;     /* number of calls at the next checksum */
    uint32_t between; /* calls between two checksums */
    uint32_t taken;
    uint32_t stop_after; /* checksums after which the run stops; 0: it does not stop */
    int stop;
} traced_run;

/* Stores the checksum of all calls so far if it is due. */
static void take_checksum(traced_run *run)
{
    tigris_serve_trace *answer = &run->answer;

    if (answer->calls != run->due || run->taken == MOST_CHECKSUMS) {
        return;
    }
    answer->checksums[run->taken++] = answer->crc32;
    run->due = run->between != 0U && run->between <= UINT32_MAX - run->due ? run->due + run->between : UINT32_MAX;
    run->stop = run->taken == run->stop_after;
}

/* Remembers where the last call's rows lie; they stay until the next write or run. */
static void remember_rows(tigris_serve *server, const tigris_call *call, const tigris_band *bands)
{
    memset(server->rows, 0, sizeof server->rows);
    for (uint32_t i = 0; i <= call->operand_count; i++) {
        tigris_serve_rows *rows = &server->rows[i == call->operand_count ? 0U : i + 1U];
        rows->data = bands[i].data;
        rows->bytes = tigris_call_bytes(call, bands, i);
    }
}

static int call_hook(void *context, const tigris_call *call, const tigris_band *bands)
{
    traced_run *run = (traced_run *)context;
    tigris_serve_trace *answer = &run->answer;

    answer->calls++;
    answer->op = call->op;
    answer->image = call->image;
    answer->first = call->first;
    answer->rows = call->rows;
    answer->crc32 = call->crc32;
    memset(answer->operands, 0, sizeof answer->operands);
    memcpy(answer->operands, call->operands, call->operand_count * sizeof call->operands[0]);
    remember_rows(run->server, call, bands);
    take_checksum(run);
    return run->stop;
}

static int yield_hook(void *context)
{
    const traced_run *run = (const traced_run *)context;
    const int cancelled = tigris_serve_yield(run->server);

    return cancelled || run->stop;
}

void tigris_serve_trace_request(tigris_serve *server, const tigris_serve_model *model, const tigris_serve_query *query)
{
    tigris_session *session = model->session;
    tigris_call_trace calls;
    traced_run run;

    if (query->range.index > MOST_CHECKSUMS) {
        tigris_serve_refuse(server, TIGRIS_SERVE_REFUSAL_RANGE);
        return;
    }
    memset(&run, 0, sizeof run);
    run.server = server;
    run.due = query->range.first;
    run.between = query->range.count;
    run.stop_after = query->range.index;
    tigris_serve_invalidate_outputs(server);
    tigris_serve_start_work(server, session);
    run.answer.inputs_crc32 = tigris_serve_inputs_crc32(session);
    take_checksum(&run);
    tigris_start_call_trace(&calls, session, call_hook, &run);
    session->hooks.yield = yield_hook;
    session->hooks.yield_context = &run;
    run.answer.status = (int32_t)tigris_serve_run_session(server, session);
    tigris_stop_call_trace(&calls);
    if (run.answer.status == 0) {
        server->output_model = query->range.model;
        server->output_run = session->runs;
    }
    if (run.answer.calls != 0U) {
        server->rows_model = query->range.model;
    }
    tigris_serve_respond(server, &run.answer, (uint32_t)sizeof run.answer);
}

const tigris_serve_rows *tigris_serve_find_rows(tigris_serve *server, const tigris_serve_model *model, uint32_t index)
{
    if (server->rows_model >= server->model_count || &server->models[server->rows_model] != model) {
        tigris_serve_refuse(server, TIGRIS_SERVE_REFUSAL_NO_CALL);
        return NULL;
    }
    if (index > TIGRIS_MAX_OPERANDS || server->rows[index].data == NULL) {
        tigris_serve_refuse(server, TIGRIS_SERVE_REFUSAL_TENSOR);
        return NULL;
    }
    return &server->rows[index];
}

void tigris_serve_rows_request(tigris_serve *server, const tigris_serve_model *model, const tigris_serve_query *query)
{
    const tigris_serve_range *range = &query->range;
    const tigris_serve_rows *rows = tigris_serve_find_rows(server, model, range->index);

    if (rows == NULL) {
        return;
    }
    if (range->count > TIGRIS_SERVE_PAYLOAD) {
        tigris_serve_refuse(server, TIGRIS_SERVE_REFUSAL_RANGE);
    } else if (tigris_serve_inside(server, rows->data, rows->bytes, range)) {
        tigris_serve_respond(server, rows->data + range->first, range->count);
    }
}
