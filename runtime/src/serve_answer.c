/* What every request needs: answers and refusals, and signs of life while one is worked on. */
#include <string.h>

#include "serve_frame.h"
#include "serve_requests.h"

void tigris_serve_respond(tigris_serve *server, const void *payload, uint32_t bytes)
{
    tigris_serve_send(server, server->request.type | TIGRIS_SERVE_RESPONSE_BIT, payload, bytes);
}

void tigris_serve_refuse(tigris_serve *server, tigris_serve_refusal refusal)
{
    tigris_serve_error error;

    error.refusal = (uint32_t)refusal;
    tigris_serve_send(server, TIGRIS_SERVE_ANSWER_ERROR, &error, (uint32_t)sizeof error);
}

void tigris_serve_refuse_aside(const tigris_serve *server, const tigris_serve_header *header,
                               tigris_serve_refusal refusal)
{
    tigris_serve_error error;

    error.refusal = (uint32_t)refusal;
    tigris_serve_send_aside(server, header, TIGRIS_SERVE_ANSWER_ERROR, &error, (uint32_t)sizeof error);
}

void tigris_serve_copy_text(char *to, const char *from, size_t bytes)
{
    for (size_t i = 0; from != NULL && i + 1U < bytes && from[i] != '\0'; i++) {
        to[i] = from[i];
    }
}

void tigris_serve_forget(tigris_serve *server)
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
    return (uint32_t)header->rounds << 8 | header->sequence;
}

uint32_t tigris_serve_next_sequence(uint32_t sequence)
{
    return (sequence + 1U) % TIGRIS_SERVE_SEQUENCES;
}

/* Work that takes long. */

static void tell_busy(tigris_serve *server)
{
    tigris_serve_busy busy;

    server->told_busy = tigris_serve_count(server);
    busy.yields = server->yields;
    tigris_serve_send(server, TIGRIS_SERVE_ANSWER_BUSY, &busy, (uint32_t)sizeof busy);
}

void tigris_serve_start_work(tigris_serve *server, const tigris_session *session)
{
    server->yield = session != NULL ? session->yield : NULL;
    server->yield_context = session != NULL ? session->yield_context : NULL;
    server->yields = 0U;
    tell_busy(server);
}

/* The session's next request may be to cancel the work. What is nothing of all this is dropped, and sent again by a host
 * that gets no answer. */
tigris_serve_heard tigris_serve_hear(tigris_serve *server, tigris_serve_header *header)
{
    while (tigris_serve_receive(server, header)) {
        const int is_of_host = header->session == server->host_session;
        const uint32_t sequence = tigris_serve_sequence(header);
        if (header->type == (uint8_t)TIGRIS_SERVE_REQUEST_HELLO) {
            tigris_serve_refuse_aside(server, header, TIGRIS_SERVE_REFUSAL_BUSY);
        } else if (header->type == (uint8_t)TIGRIS_SERVE_REQUEST_CANCEL && is_of_host &&
                   sequence == tigris_serve_next_sequence(server->sequence)) {
            server->sequence = sequence;
            return TIGRIS_SERVE_HEARD_STOP;
        } else if ((header->type == (uint8_t)TIGRIS_SERVE_ROWS_FRAME_GIVE ||
                    header->type == (uint8_t)TIGRIS_SERVE_ROWS_FRAME_TOOK) &&
                   is_of_host && sequence == server->sequence) {
            return TIGRIS_SERVE_HEARD_ROWS;
        }
    }
    return TIGRIS_SERVE_HEARD_NOTHING;
}

/* Whether the work is to stop; late frames of rows are dropped. */
static int hear_stop(tigris_serve *server)
{
    tigris_serve_header header;
    tigris_serve_heard heard;

    do {
        heard = tigris_serve_hear(server, &header);
    } while (heard == TIGRIS_SERVE_HEARD_ROWS);
    return heard == TIGRIS_SERVE_HEARD_STOP;
}

int tigris_serve_go_on(tigris_serve *server)
{
    server->yields++;
    if (server->board->counter == NULL ||
        tigris_serve_count(server) - server->told_busy >= server->board->busy_counts) {
        tell_busy(server);
    }
    const int cancelled = hear_stop(server);
    const int stopped = server->yield != NULL && server->yield(server->yield_context) != 0;
    return cancelled || stopped;
}
