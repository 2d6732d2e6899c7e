/* Requests RUN and RESET. */
#include <string.h>

#include "crc32.h"
#include "serve_requests.h"

static int yield_hook(void *context)
{
    tigris_serve *server = (tigris_serve *)context;

    tigris_serve_stop_clock(server); /* time in the hook, which sends and lets other tasks run, does not count */
    const int stop = tigris_serve_yield(server);
    server->resumed = tigris_serve_count(server);
    return stop;
}

static uint32_t counter_hook(void *context)
{
    return tigris_serve_count((const tigris_serve *)context);
}

static void profile_hook(void *context, uint32_t op, uint32_t elapsed)
{
    const tigris_serve *server = (const tigris_serve *)context;

    if (op < server->running->profile_count) {
        server->running->profile[op].calls++;
        server->running->profile[op].elapsed += elapsed;
    }
}

/* Runs with the server's hooks, then restores the session's. */
static tigris_status run_session(tigris_serve *server, tigris_session *session)
{
    const tigris_hooks before = session->hooks;

    session->hooks.yield = yield_hook;
    session->hooks.yield_context = server;
    session->hooks.counter = server->board->counter != NULL ? counter_hook : NULL;
    session->hooks.profile = server->running->profile != NULL && session->hooks.counter != NULL ? profile_hook : NULL;
    session->hooks.profile_context = server;
    server->elapsed = 0U;
    server->resumed = tigris_serve_count(server);
    const tigris_status status = tigris_serve_run_session(server, session);
    tigris_serve_stop_clock(server);
    session->hooks = before;
    return status;
}

uint32_t tigris_serve_inputs_crc32(const tigris_session *session)
{
    uint32_t crc = 0U;

    for (uint32_t i = 0; i < session->plan->header->input_count; i++) {
        crc = tigris_crc32_append(crc, (const uint8_t *)tigris_input(session, i), tigris_input_bytes(session, i));
    }
    return crc;
}

void tigris_serve_run_request(tigris_serve *server, const tigris_serve_model *model, const tigris_serve_query *query)
{
    tigris_serve_result answer;

    if ((query->range.index & TIGRIS_SERVE_RUN_FLAG_CLEAR_PROFILE) != 0U && model->profile != NULL) {
        memset(model->profile, 0, model->profile_count * sizeof model->profile[0]);
    }
    server->running = model;
    tigris_serve_invalidate_outputs(server);
    tigris_serve_start_work(server, model->session);
    answer.inputs_crc32 = tigris_serve_inputs_crc32(model->session);
    answer.status = (int32_t)run_session(server, model->session);
    if (answer.status == 0) {
        server->output_model = query->range.model;
        server->output_run = model->session->runs;
    }
    answer.elapsed[0] = (uint32_t)server->elapsed;
    answer.elapsed[1] = (uint32_t)(server->elapsed >> 32);
    answer.fast_peak = model->session->usage.fast_peak;
    answer.slow_peak = model->session->usage.slow_peak;
    answer.slow_read = model->session->usage.slow_read;
    answer.slow_written = model->session->usage.slow_written;
    tigris_serve_respond(server, &answer, (uint32_t)sizeof answer);
}

void tigris_serve_reset_request(tigris_serve *server, const tigris_serve_model *model, const tigris_serve_query *query)
{
    tigris_serve_status answer;

    (void)query;
    server->rows_model = server->model_count; /* a traced operand may be a state */
    answer.status = (int32_t)tigris_session_reset(model->session);
    tigris_serve_respond(server, &answer, (uint32_t)sizeof answer);
}
