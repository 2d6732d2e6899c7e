/* Requests of the serial harness. */
#include "tigris_serve.h"

#include <string.h>

#include "crc32.h"
#include "serve_frame.h"

/* A request's payload, still in server->frame. */
typedef struct request_data {
    const uint8_t *bytes;
    uint32_t count;
} request_data;

static void respond(tigris_serve *server, const void *payload, uint32_t bytes)
{
    tigris_serve_send(server, server->request.type | TIGRIS_SERVE_RESPONSE_BIT, payload, bytes);
}

static void refuse(tigris_serve *server, tigris_serve_refusal refusal)
{
    tigris_serve_error error;

    error.refusal = (uint32_t)refusal;
    tigris_serve_send(server, TIGRIS_SERVE_ANSWER_ERROR, &error, (uint32_t)sizeof error);
}

/* Copies as much of a string as fits with its final zero; `to` is zeroed already. */
static void copy_text(char *to, const char *from, size_t bytes)
{
    for (size_t i = 0; from != NULL && i + 1U < bytes && from[i] != '\0'; i++) {
        to[i] = from[i];
    }
}

/* Fills `record` from the payload, whose rest is left in `data`. */
static int take(request_data *data, void *record, uint32_t bytes)
{
    if (data->count < bytes) {
        return 0;
    }
    memcpy(record, data->bytes, bytes);
    data->bytes += bytes;
    data->count -= bytes;
    return 1;
}

/* The model of this index, or NULL after a refusal. */
static const tigris_serve_model *find_model(tigris_serve *server, uint32_t index, int must_run)
{
    if (index >= server->model_count) {
        refuse(server, TIGRIS_SERVE_REFUSAL_MODEL);
        return NULL;
    }
    if (must_run && server->models[index].session == NULL) {
        refuse(server, TIGRIS_SERVE_REFUSAL_NOT_READY);
        return NULL;
    }
    return &server->models[index];
}

static uint32_t count_now(const tigris_serve *server)
{
    return server->board->counter != NULL ? server->board->counter(server->board->counter_context) : 0U;
}

static void tell_busy(tigris_serve *server)
{
    tigris_serve_busy busy;

    server->told_busy = count_now(server);
    busy.yields = server->yields;
    tigris_serve_send(server, TIGRIS_SERVE_ANSWER_BUSY, &busy, (uint32_t)sizeof busy);
}

static void hello(tigris_serve *server)
{
    tigris_serve_hello answer;

    memset(&answer, 0, sizeof answer);
    answer.protocol = TIGRIS_SERVE_PROTOCOL;
    answer.payload_bytes = TIGRIS_SERVE_PAYLOAD;
    answer.format_version = TIGRIS_FORMAT_VERSION;
    answer.model_count = (uint16_t)server->model_count;
    answer.counter_hz = server->board->counter_hz;
    copy_text(answer.counter_unit, server->board->counter_unit, sizeof answer.counter_unit);
    copy_text(answer.board, server->board->name, sizeof answer.board);
    server->host_session = server->request.session;
    server->greeted = 1U;
    respond(server, &answer, (uint32_t)sizeof answer);
}

static void info(tigris_serve *server, const tigris_serve_model *model)
{
    tigris_serve_info answer;

    memset(&answer, 0, sizeof answer);
    answer.status = (int32_t)model->status;
    answer.fast_given = model->fast_bytes;
    answer.slow_given = model->slow_bytes;
    if (model->plan != NULL) {
        const tigris_header_record *header = model->plan->header;
        answer.plan_bytes = header->total_bytes;
        answer.plan_crc32 = header->crc32;
        answer.fast_needed = header->fast_bytes;
        answer.slow_needed = header->slow_bytes;
        answer.input_count = header->input_count;
        answer.output_count = header->output_count;
        memcpy(answer.source_sha256, header->source_sha256, sizeof answer.source_sha256);
        memcpy(answer.name, header->name, sizeof answer.name);
    }
    respond(server, &answer, (uint32_t)sizeof answer);
}

static void tensor(tigris_serve *server, const tigris_serve_model *model, const tigris_serve_select *select)
{
    const tigris_plan *plan = model->session->plan;
    const int output = select->direction == (uint8_t)TIGRIS_SERVE_DIRECTION_OUTPUT;
    const uint32_t count = output ? plan->header->output_count : plan->header->input_count;
    tigris_serve_tensor answer;

    if (select->index >= count) {
        refuse(server, TIGRIS_SERVE_REFUSAL_TENSOR);
        return;
    }
    const tigris_io_record *io = &plan->io[(output ? plan->header->input_count : 0U) + (uint32_t)select->index];
    memset(&answer, 0, sizeof answer);
    answer.stored_bytes = output ? tigris_output_bytes(model->session, select->index)
                         : tigris_input_bytes(model->session, select->index);
    answer.dtype = plan->tensors[io->tensor].dtype;
    copy_text(answer.name, plan->strings + io->name, sizeof answer.name);
    respond(server, &answer, (uint32_t)sizeof answer);
}

/* Is [first, first + count) inside `bytes` bytes? Refuses otherwise. */
static int inside(tigris_serve *server, const void *memory, uint32_t bytes, const tigris_serve_range *range)
{
    if (memory == NULL) {
        refuse(server, TIGRIS_SERVE_REFUSAL_TENSOR);
        return 0;
    }
    if (range->first > bytes || range->count > bytes - range->first) {
        refuse(server, TIGRIS_SERVE_REFUSAL_RANGE);
        return 0;
    }
    return 1;
}

static void write_input(tigris_serve *server, const tigris_serve_model *model, const tigris_serve_range *range,
                        const request_data *data)
{
    uint8_t *input = (uint8_t *)tigris_input(model->session, range->index);

    if (!inside(server, input, tigris_input_bytes(model->session, range->index), range)) {
        return;
    }
    if (range->count != data->count) {
        refuse(server, TIGRIS_SERVE_REFUSAL_LENGTH);
        return;
    }
    server->output_model = server->model_count;
    memcpy(input + range->first, data->bytes, data->count);
    respond(server, NULL, 0U);
}

static void read_output(tigris_serve *server, const tigris_serve_model *model, const tigris_serve_range *range)
{
    const uint8_t *output = (const uint8_t *)tigris_output(model->session, range->index);

    if (&server->models[server->output_model] != model) {
        refuse(server, TIGRIS_SERVE_REFUSAL_NO_OUTPUT);
    } else if (range->count > TIGRIS_SERVE_PAYLOAD) {
        refuse(server, TIGRIS_SERVE_REFUSAL_RANGE);
    } else if (inside(server, output, tigris_output_bytes(model->session, range->index), range)) {
        respond(server, output + range->first, range->count);
    }
}

static void checksum(tigris_serve *server, const tigris_serve_model *model, uint32_t index)
{
    const uint8_t *output = (const uint8_t *)tigris_output(model->session, index);
    tigris_serve_checksum answer;

    if (output == NULL) {
        refuse(server, TIGRIS_SERVE_REFUSAL_TENSOR);
        return;
    }
    if (&server->models[server->output_model] != model) {
        refuse(server, TIGRIS_SERVE_REFUSAL_NO_OUTPUT);
        return;
    }
    answer.status = 0;
    answer.crc32 = tigris_crc32(output, tigris_output_bytes(model->session, index));
    respond(server, &answer, (uint32_t)sizeof answer);
}

static void check_plan(tigris_serve *server, const tigris_serve_model *model)
{
    tigris_serve_checksum answer;

    if (model->plan == NULL) {
        refuse(server, TIGRIS_SERVE_REFUSAL_NOT_READY);
        return;
    }
    server->yields = 0U;
    tell_busy(server);
    answer.status = (int32_t)tigris_plan_check_crc(model->plan);
    answer.crc32 = model->plan->header->crc32;
    respond(server, &answer, (uint32_t)sizeof answer);
}

static void profile(tigris_serve *server, const tigris_serve_model *model, const tigris_serve_range *range)
{
    tigris_serve_profile answer[TIGRIS_SERVE_LEAST_PAYLOAD / sizeof(tigris_serve_profile)];
    const uint32_t most = (uint32_t)(sizeof answer / sizeof answer[0]);
    const uint32_t known = model->profile != NULL ? model->profile_count : 0U;
    uint32_t count = range->first < known ? known - range->first : 0U;

    count = count < range->count ? count : range->count;
    count = count < most ? count : most;
    for (uint32_t i = 0; i < count; i++) {
        const tigris_serve_counts *counts = &model->profile[range->first + i];
        answer[i].calls = counts->calls;
        answer[i].elapsed[0] = (uint32_t)counts->elapsed;
        answer[i].elapsed[1] = (uint32_t)(counts->elapsed >> 32);
    }
    respond(server, answer, count * (uint32_t)sizeof answer[0]);
}

static void status_text(tigris_serve *server, const tigris_serve_status *select)
{
    const char *text = tigris_status_text((tigris_status)select->status);
    const size_t length = strlen(text);

    respond(server, text, length < TIGRIS_SERVE_PAYLOAD ? (uint32_t)length : TIGRIS_SERVE_PAYLOAD);
}

/* Time in the hook, which sends and lets other tasks run, is not the network's. */
static void stop_clock(tigris_serve *server)
{
    server->elapsed += count_now(server) - server->resumed;
}

static int yield_hook(void *context)
{
    tigris_serve *server = (tigris_serve *)context;
    tigris_serve_header header;
    int stop = 0;

    stop_clock(server);
    server->yields++;
    if (count_now(server) - server->told_busy >= server->board->busy_counts) {
        tell_busy(server);
    }
    while (tigris_serve_receive(server, &header)) {
        if (header.type == (uint8_t)TIGRIS_SERVE_REQUEST_CANCEL && header.session == server->host_session) {
            stop = 1;
        }
    }
    if (server->yield != NULL && server->yield(server->yield_context) != 0) {
        stop = 1;
    }
    server->resumed = count_now(server);
    return stop;
}

static uint32_t counter_hook(void *context)
{
    return count_now((const tigris_serve *)context);
}

static void profile_hook(void *context, uint32_t op, uint32_t elapsed)
{
    const tigris_serve *server = (const tigris_serve *)context;

    if (op < server->running->profile_count) {
        server->running->profile[op].calls++;
        server->running->profile[op].elapsed += elapsed;
    }
}

/* Runs with the server's hooks in place of the session's, which come back afterwards. */
static tigris_status run_session(tigris_serve *server, tigris_session *session)
{
    const tigris_session before = *session;
    tigris_status status;

    server->yield = session->yield;
    server->yield_context = session->yield_context;
    session->yield = yield_hook;
    session->yield_context = server;
    session->counter = server->board->counter != NULL ? counter_hook : NULL;
    session->profile = server->running->profile != NULL && session->counter != NULL ? profile_hook : NULL;
    session->profile_context = server;
    server->resumed = count_now(server);
    status = tigris_run(session);
    stop_clock(server);
    session->yield = before.yield;
    session->yield_context = before.yield_context;
    session->counter = before.counter;
    session->profile = before.profile;
    session->profile_context = before.profile_context;
    return status;
}

static void run(tigris_serve *server, const tigris_serve_model *model, const tigris_serve_select *select)
{
    tigris_serve_result answer;

    if ((select->index & TIGRIS_SERVE_RUN_FLAG_CLEAR_PROFILE) != 0U && model->profile != NULL) {
        memset(model->profile, 0, model->profile_count * sizeof model->profile[0]);
    }
    server->running = model;
    server->elapsed = 0U;
    server->yields = 0U;
    server->output_model = server->model_count;
    tell_busy(server);
    answer.status = (int32_t)run_session(server, model->session);
    if (answer.status == 0) {
        server->output_model = select->model;
    }
    answer.elapsed[0] = (uint32_t)server->elapsed;
    answer.elapsed[1] = (uint32_t)(server->elapsed >> 32);
    answer.fast_peak = model->session->usage.fast_peak;
    answer.slow_peak = model->session->usage.slow_peak;
    answer.slow_read = model->session->usage.slow_read;
    answer.slow_written = model->session->usage.slow_written;
    respond(server, &answer, (uint32_t)sizeof answer);
}

static void serve_select(tigris_serve *server, request_data *data)
{
    tigris_serve_select select;
    const uint8_t type = server->request.type;

    if (!take(data, &select, (uint32_t)sizeof select) || data->count != 0U) {
        refuse(server, TIGRIS_SERVE_REFUSAL_LENGTH);
        return;
    }
    const int any_model = type == TIGRIS_SERVE_REQUEST_INFO || type == TIGRIS_SERVE_REQUEST_PLAN_CHECK;
    const tigris_serve_model *model = find_model(server, select.model, !any_model);
    if (model == NULL) {
        return;
    }
    if (type == TIGRIS_SERVE_REQUEST_INFO) {
        info(server, model);
    } else if (type == TIGRIS_SERVE_REQUEST_TENSOR) {
        tensor(server, model, &select);
    } else if (type == TIGRIS_SERVE_REQUEST_RUN) {
        run(server, model, &select);
    } else if (type == TIGRIS_SERVE_REQUEST_CHECKSUM) {
        checksum(server, model, select.index);
    } else {
        check_plan(server, model);
    }
}

static void serve_range(tigris_serve *server, request_data *data)
{
    tigris_serve_range range;
    const uint8_t type = server->request.type;

    if (!take(data, &range, (uint32_t)sizeof range) || (type != TIGRIS_SERVE_REQUEST_WRITE && data->count != 0U)) {
        refuse(server, TIGRIS_SERVE_REFUSAL_LENGTH);
        return;
    }
    const tigris_serve_model *model = find_model(server, range.model, 1);
    if (model == NULL) {
        return;
    }
    if (type == TIGRIS_SERVE_REQUEST_WRITE) {
        write_input(server, model, &range, data);
    } else if (type == TIGRIS_SERVE_REQUEST_READ) {
        read_output(server, model, &range);
    } else {
        profile(server, model, &range);
    }
}

static void serve_status_text(tigris_serve *server, request_data *data)
{
    tigris_serve_status select;

    if (take(data, &select, (uint32_t)sizeof select) && data->count == 0U) {
        status_text(server, &select);
    } else {
        refuse(server, TIGRIS_SERVE_REFUSAL_LENGTH);
    }
}

static void serve_request(tigris_serve *server, request_data *data)
{
    const uint8_t type = server->request.type;

    if (type == TIGRIS_SERVE_REQUEST_HELLO) {
        hello(server); /* whatever its payload: a newer host learns the version from the answer */
        return;
    }
    if (!server->greeted || server->request.session != server->host_session) {
        refuse(server, TIGRIS_SERVE_REFUSAL_SESSION);
        return;
    }
    switch (type) {
    case TIGRIS_SERVE_REQUEST_INFO:
    case TIGRIS_SERVE_REQUEST_TENSOR:
    case TIGRIS_SERVE_REQUEST_RUN:
    case TIGRIS_SERVE_REQUEST_CHECKSUM:
    case TIGRIS_SERVE_REQUEST_PLAN_CHECK:
        serve_select(server, data);
        break;
    case TIGRIS_SERVE_REQUEST_WRITE:
    case TIGRIS_SERVE_REQUEST_READ:
    case TIGRIS_SERVE_REQUEST_PROFILE:
        serve_range(server, data);
        break;
    case TIGRIS_SERVE_REQUEST_STATUS_TEXT:
        serve_status_text(server, data);
        break;
    case TIGRIS_SERVE_REQUEST_CANCEL:
        respond(server, NULL, 0U);
        break;
    default:
        refuse(server, TIGRIS_SERVE_REFUSAL_REQUEST);
        break;
    }
}

void tigris_serve_init(tigris_serve *server, const tigris_serve_transport *transport, const tigris_serve_board *board,
                       const tigris_serve_model *models, uint32_t model_count)
{
    memset(server, 0, sizeof *server);
    server->transport = transport;
    server->board = board;
    server->models = models;
    server->model_count = model_count;
    server->output_model = model_count;
}

int tigris_serve_poll(tigris_serve *server)
{
    tigris_serve_header header;
    request_data data;
    uint32_t crc;

    if (!tigris_serve_receive(server, &header)) {
        return 0;
    }
    data.bytes = server->frame + sizeof header;
    data.count = header.length;
    memcpy(&crc, data.bytes + data.count, sizeof crc);
    /* A request repeated because its answer was lost must not run twice: the same frame gets the same answer. */
    if (server->answered && crc == server->request_crc && memcmp(&header, &server->request, sizeof header) == 0) {
        tigris_serve_send_again(server);
        return 1;
    }
    server->request = header;
    server->request_crc = crc;
    server->answered = 1U;
    serve_request(server, &data);
    return 1;
}
