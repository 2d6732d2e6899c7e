/* The serial harness on the board: connections, sequence numbers, and the handler of each request. */
#include "tigris_serve.h"

#include <string.h>

#include "serve_frame.h"
#include "serve_requests.h"

/* The requests about models: record, further data, and the state that the model must have. */

enum { NO_MODEL, ANY_MODEL, READY_MODEL };

static const struct kind {
    uint8_t type;
    uint8_t record_bytes;
    uint8_t has_data;
    uint8_t needs;
    tigris_serve_handler *handler;
} kinds[] = {
    {TIGRIS_SERVE_REQUEST_INFO, sizeof(tigris_serve_select), 0, ANY_MODEL, tigris_serve_info_request},
    {TIGRIS_SERVE_REQUEST_TENSOR, sizeof(tigris_serve_select), 0, READY_MODEL, tigris_serve_tensor_request},
    {TIGRIS_SERVE_REQUEST_WRITE, sizeof(tigris_serve_range), 1, READY_MODEL, tigris_serve_write_request},
    {TIGRIS_SERVE_REQUEST_RUN, sizeof(tigris_serve_select), 0, READY_MODEL, tigris_serve_run_request},
    {TIGRIS_SERVE_REQUEST_READ, sizeof(tigris_serve_range), 0, READY_MODEL, tigris_serve_read_request},
    {TIGRIS_SERVE_REQUEST_CHECKSUM, sizeof(tigris_serve_select), 0, READY_MODEL, tigris_serve_checksum_request},
    {TIGRIS_SERVE_REQUEST_PROFILE, sizeof(tigris_serve_range), 0, READY_MODEL, tigris_serve_profile_request},
    {TIGRIS_SERVE_REQUEST_PLAN_CHECK, sizeof(tigris_serve_select), 0, ANY_MODEL, tigris_serve_plan_check_request},
    {TIGRIS_SERVE_REQUEST_FAULT, sizeof(tigris_serve_select), 0, ANY_MODEL, tigris_serve_fault_request},
    {TIGRIS_SERVE_REQUEST_RESET, sizeof(tigris_serve_select), 0, READY_MODEL, tigris_serve_reset_request},
    {TIGRIS_SERVE_REQUEST_TRANSFER, sizeof(tigris_serve_range), 1, READY_MODEL, tigris_serve_transfer_request},
    {TIGRIS_SERVE_REQUEST_TRACE, sizeof(tigris_serve_range), 0, READY_MODEL, tigris_serve_trace_request},
    {TIGRIS_SERVE_REQUEST_ROWS, sizeof(tigris_serve_range), 0, READY_MODEL, tigris_serve_rows_request},
};

static void serve_model_request(tigris_serve *server, const struct kind *kind, const uint8_t *payload, uint32_t bytes)
{
    tigris_serve_query query;

    if (bytes < kind->record_bytes || (bytes > kind->record_bytes && !kind->has_data)) {
        tigris_serve_refuse(server, TIGRIS_SERVE_REFUSAL_LENGTH);
        return;
    }
    memset(&query, 0, sizeof query);
    memcpy(&query.range, payload, kind->record_bytes);
    query.data = payload + kind->record_bytes;
    query.data_bytes = bytes - kind->record_bytes;
    if (query.range.model >= server->model_count) {
        tigris_serve_refuse(server, TIGRIS_SERVE_REFUSAL_MODEL);
        return;
    }
    const tigris_serve_model *model = &server->models[query.range.model];
    if (kind->needs == READY_MODEL && tigris_serve_session(model) == NULL) {
        tigris_serve_refuse(server, TIGRIS_SERVE_REFUSAL_NOT_READY);
        return;
    }
    kind->handler(server, model, &query);
}

static void serve_status_text(tigris_serve *server, const uint8_t *payload, uint32_t bytes)
{
    tigris_serve_status select;

    if (bytes != sizeof select) {
        tigris_serve_refuse(server, TIGRIS_SERVE_REFUSAL_LENGTH);
        return;
    }
    memcpy(&select, payload, sizeof select);
    const char *text = tigris_status_text((tigris_status)select.status);
    const size_t length = strlen(text);
    tigris_serve_respond(server, text, length < TIGRIS_SERVE_PAYLOAD ? (uint32_t)length : TIGRIS_SERVE_PAYLOAD);
}

static void serve_request(tigris_serve *server, const uint8_t *payload, uint32_t bytes)
{
    const uint8_t type = server->request.type;

    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        if (kinds[i].type == type) {
            serve_model_request(server, &kinds[i], payload, bytes);
            return;
        }
    }
    if (type == TIGRIS_SERVE_REQUEST_STATUS_TEXT) {
        serve_status_text(server, payload, bytes);
    } else if (type == TIGRIS_SERVE_REQUEST_CANCEL) {
        tigris_serve_respond(server, NULL, 0U);
    } else {
        tigris_serve_refuse(server, TIGRIS_SERVE_REFUSAL_REQUEST);
    }
}

/* Connections. HELLO only offers one. It opens with the first request that carries its number, which the host learns
 * from the response. So a late HELLO ends no connection, and no old frame fits a new one. */

static uint32_t busy_ms(const tigris_serve_board *board)
{
    const uint64_t ms = (uint64_t)board->busy_counts * 1000U / (board->counter_hz != 0U ? board->counter_hz : 1U);

    return board->counter == NULL || board->counter_hz == 0U || ms > UINT32_MAX ? 0U : (uint32_t)ms;
}

static void offer_connection(tigris_serve *server, const tigris_serve_header *hello)
{
    const int is_repeat = server->has_offer && server->hello_connection == hello->connection &&
                          server->hello_sequence == tigris_serve_sequence(hello);
    if (is_repeat) {
        return;
    }
    server->has_offer = 1U;
    server->hello_connection = hello->connection;
    server->hello_sequence = tigris_serve_sequence(hello);
    do { /* any number but that of the current connection */
        server->nonce = (uint16_t)(server->nonce * 25173U + 13849U + (tigris_serve_count(server) & 1023U) * 4U);
    } while (server->is_connected && (uint16_t)(server->nonce ^ hello->connection) == server->connection);
}

static void hello(tigris_serve *server, const tigris_serve_header *header)
{
    tigris_serve_hello answer;

    offer_connection(server, header);
    memset(&answer, 0, sizeof answer);
    answer.protocol = TIGRIS_SERVE_PROTOCOL;
    answer.payload_bytes = TIGRIS_SERVE_PAYLOAD;
    answer.format_version = TIGRIS_FORMAT_VERSION;
    answer.model_count = (uint16_t)server->model_count;
    answer.counter_hz = server->board->counter_hz;
    tigris_serve_copy_text(answer.counter_unit, server->board->counter_unit, sizeof answer.counter_unit);
    tigris_serve_copy_text(answer.board, server->board->name, sizeof answer.board);
    answer.nonce = server->nonce;
    answer.transfer_bytes = TIGRIS_SERVE_TRANSFER;
    answer.busy_ms = busy_ms(server->board);
    tigris_serve_send_unstored(server, header, TIGRIS_SERVE_REQUEST_HELLO | TIGRIS_SERVE_RESPONSE_BIT, &answer,
                               (uint32_t)sizeof answer);
}

/* True if the frame is the next request of the connection, or the first of the offered one. Else answers it here: the
 * last request again gets its stored response, any other frame a refusal. */
static int admit(tigris_serve *server, const tigris_serve_header *header, uint32_t crc)
{
    const uint32_t sequence = tigris_serve_sequence(header);
    const int is_same_connection = server->is_connected && header->connection == server->connection;

    if (is_same_connection && crc == server->request_crc && memcmp(header, &server->request, sizeof *header) == 0) {
        tigris_serve_resend(server);
        return 0;
    }
    if (is_same_connection && sequence != tigris_serve_next_sequence(server->sequence)) {
        tigris_serve_refuse_frame(server, header, TIGRIS_SERVE_REFUSAL_SEQUENCE);
        return 0;
    }
    if (!is_same_connection) {
        if (!server->has_offer || header->connection != (uint16_t)(server->hello_connection ^ server->nonce) ||
            sequence != tigris_serve_next_sequence(server->hello_sequence)) {
            tigris_serve_refuse_frame(server, header, TIGRIS_SERVE_REFUSAL_CONNECTION);
            return 0;
        }
        server->has_offer = 0U;
        server->is_connected = 1U;
        server->connection = header->connection;
        tigris_serve_invalidate_outputs(server); /* they may be another host's */
    }
    server->sequence = sequence;
    server->request = *header;
    server->request_crc = crc;
    server->transfer_frames = 0U; /* frames still in flight carry an older number */
    return 1;
}

void tigris_serve_init(tigris_serve *server, const tigris_serve_transport *transport, const tigris_serve_board *board,
                       const tigris_serve_model *models, uint32_t model_count)
{
    memset(server, 0, sizeof *server);
    server->transport = transport;
    server->board = board;
    server->models = models;
    server->model_count = model_count;
    tigris_serve_invalidate_outputs(server);
}

/* Empty reads after which the line is quiet: without a clock, and with a clock that may stand still. */
#define QUIET_READS 65536U
#define MOST_QUIET_READS (64U * QUIET_READS)

/* Keeps reading during a transfer, so that the caller does not sleep while the line's buffer overflows. Returns 1
 * and the header if a frame arrives. */
static int await_frame(tigris_serve *server, tigris_serve_header *header)
{
    const uint32_t hz = server->board->counter != NULL ? server->board->counter_hz : 0U;
    const uint32_t since = tigris_serve_count(server);

    for (uint32_t reads = 0U; tigris_serve_transfer_is_expected(server); reads++) {
        if (tigris_serve_receive(server, header)) {
            return 1;
        }
        const int is_late = hz != 0U && tigris_serve_count(server) - since >= hz / 10U;
        server->transfer_quiet = (uint8_t)(is_late || reads >= (hz != 0U ? MOST_QUIET_READS : QUIET_READS));
    }
    return 0;
}

int tigris_serve_poll(tigris_serve *server)
{
    tigris_serve_header header;
    uint32_t crc;

    if (!tigris_serve_receive(server, &header)) {
        if (tigris_serve_transfer_send(server)) {
            return 1;
        }
        if (!await_frame(server, &header)) {
            return 0;
        }
    }
    const uint8_t *payload = server->frame + sizeof header;
    memcpy(&crc, payload + header.length, sizeof crc);
    if (header.type == (uint8_t)TIGRIS_SERVE_REQUEST_HELLO) {
        hello(server, &header); /* with any payload: a newer host learns the version from the response */
    } else if (header.type == (uint8_t)TIGRIS_SERVE_TRANSFER_FRAME_DATA ||
               header.type == (uint8_t)TIGRIS_SERVE_TRANSFER_FRAME_CREDIT) {
        tigris_serve_transfer_receive(server, &header, payload);
    } else if (admit(server, &header, crc)) {
        serve_request(server, payload, header.length);
    }
    return 1;
}
