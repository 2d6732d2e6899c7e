/* Responses, refusals and BUSY frames: shared by all requests. */
#include <string.h>

#include "serve_frame.h"
#include "serve_requests.h"

void tigris_serve_respond(tigris_serve *server, const void *payload, uint32_t bytes)
{
    tigris_serve_send(server, server->request.type | TIGRIS_SERVE_RESPONSE_BIT, payload, bytes);
}

void tigris_serve_refuse(tigris_serve *server, tigris_serve_refusal refusal)
{
    const tigris_serve_error error = {(uint32_t)refusal};

    tigris_serve_send(server, TIGRIS_SERVE_ANSWER_ERROR, &error, (uint32_t)sizeof error);
}

void tigris_serve_refuse_frame(const tigris_serve *server, const tigris_serve_header *header,
                               tigris_serve_refusal refusal)
{
    const tigris_serve_error error = {(uint32_t)refusal};

    tigris_serve_send_unstored(server, header, TIGRIS_SERVE_ANSWER_ERROR, &error, (uint32_t)sizeof error);
}

void tigris_serve_copy_text(char *to, const char *from, size_t bytes)
{
    for (size_t i = 0; from != NULL && i + 1U < bytes && from[i] != '\0'; i++) {
        to[i] = from[i];
    }
}

void tigris_serve_invalidate_outputs(tigris_serve *server)
{
    server->output_model = server->model_count;
    server->rows_model = server->model_count;
}

uint32_t tigris_serve_count(const tigris_serve *server)
{
    return server->board->counter != NULL ? server->board->counter(server->board->counter_context) : 0U;
}

void tigris_serve_stop_clock(tigris_serve *server)
{
    server->elapsed += tigris_serve_count(server) - server->resumed;
}

uint32_t tigris_serve_sequence(const tigris_serve_header *header)
{
    return (uint32_t)header->sequence_high << 8 | header->sequence;
}

uint32_t tigris_serve_next_sequence(uint32_t sequence)
{
    return (sequence + 1U) % TIGRIS_SERVE_SEQUENCES;
}

/* Requests that take long. */

static void send_busy(tigris_serve *server)
{
    const tigris_serve_busy busy = {server->yields};

    server->last_busy = tigris_serve_count(server);
    tigris_serve_send(server, TIGRIS_SERVE_ANSWER_BUSY, &busy, (uint32_t)sizeof busy);
}

void tigris_serve_start_work(tigris_serve *server, const tigris_session *session)
{
    server->yield = session != NULL ? session->hooks.yield : NULL;
    server->yield_context = session != NULL ? session->hooks.yield_context : NULL;
    server->yields = 0U;
    send_busy(server);
}

/* Drops all other frames: a host that gets no answer sends its request again. */
tigris_serve_event tigris_serve_receive_while_busy(tigris_serve *server, tigris_serve_header *header)
{
    while (tigris_serve_receive(server, header)) {
        const int is_of_host = header->connection == server->connection;
        const uint32_t sequence = tigris_serve_sequence(header);
        if (header->type == (uint8_t)TIGRIS_SERVE_REQUEST_HELLO) {
            tigris_serve_refuse_frame(server, header, TIGRIS_SERVE_REFUSAL_BUSY);
        } else if (header->type == (uint8_t)TIGRIS_SERVE_REQUEST_CANCEL && is_of_host &&
                   sequence == tigris_serve_next_sequence(server->sequence)) {
            server->sequence = sequence;
            return TIGRIS_SERVE_EVENT_STOP;
        } else if ((header->type == (uint8_t)TIGRIS_SERVE_ROWS_FRAME_GIVE ||
                    header->type == (uint8_t)TIGRIS_SERVE_ROWS_FRAME_TOOK) &&
                   is_of_host && sequence == server->sequence) {
            return TIGRIS_SERVE_EVENT_ROWS;
        }
    }
    return TIGRIS_SERVE_EVENT_NONE;
}

/* True if the host has cancelled the request; drops late frames of rows. */
static int is_stop_requested(tigris_serve *server)
{
    tigris_serve_header header;
    tigris_serve_event event;

    do {
        event = tigris_serve_receive_while_busy(server, &header);
    } while (event == TIGRIS_SERVE_EVENT_ROWS);
    return event == TIGRIS_SERVE_EVENT_STOP;
}

int tigris_serve_yield(tigris_serve *server)
{
    server->yields++;
    if (server->board->counter == NULL ||
        tigris_serve_count(server) - server->last_busy >= server->board->busy_counts) {
        send_busy(server);
    }
    const int cancelled = is_stop_requested(server);
    const int stopped = server->yield != NULL && server->yield(server->yield_context) != 0;
    return cancelled || stopped;
}
