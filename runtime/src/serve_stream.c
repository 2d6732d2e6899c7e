/* Streams: an input or output in numbered frames that are not answered one by one. What is missing is sent again.
 *
 * A stream belongs to the request that opened it, whose session and number its frames carry; the next request that is
 * accepted ends it. So a frame that comes late finds no stream of its number. The board keeps no time: the host
 * notices what is lost, and asks for it or sends it again. */
#include <string.h>

#include "crc32.h"
#include "serve_frame.h"
#include "serve_requests.h"

/* The host hears at least every so many frames of an input what has come. */
#define ACK_EVERY 8U

static void open_stream(tigris_serve *server, const tigris_serve_range *range, uint32_t frame_data)
{
    server->stream_bytes = range->count;
    server->frame_data = (uint16_t)frame_data;
    server->stream_frames = (uint16_t)((range->count + frame_data - 1U) / frame_data);
    server->stream_next = 0U;
    server->stream_sent = 0U;
    server->stream_bits = 0U;
    server->stream_quiet = 0U;
}

/* Finds what the stream is of: server->sink when it comes to the board, else server->source. Refuses what is not there. */
static int find_ends(tigris_serve *server, const tigris_serve_model *model, const tigris_serve_asked *asked)
{
    const tigris_serve_range *range = &asked->range;
    uint32_t bytes;

    server->sink = NULL;
    server->source = NULL;
    if (TIGRIS_SERVE_ASKED_DIRECTION(asked) == (uint8_t)TIGRIS_SERVE_DIRECTION_ROWS) {
        const tigris_serve_rows *rows = tigris_serve_find_rows(server, model, range->index);
        if (rows == NULL) {
            return 0;
        }
        server->source = rows->data;
        bytes = rows->bytes;
    } else if (TIGRIS_SERVE_ASKED_DIRECTION(asked) == (uint8_t)TIGRIS_SERVE_DIRECTION_OUTPUT) {
        if (!tigris_serve_has_output(server, model)) {
            return 0;
        }
        server->source = (const uint8_t *)tigris_output(model->session, range->index);
        bytes = tigris_output_bytes(model->session, range->index);
    } else {
        server->sink = (uint8_t *)tigris_input(model->session, range->index);
        bytes = tigris_input_bytes(model->session, range->index);
    }
    return tigris_serve_inside(server, server->source != NULL ? server->source : server->sink, bytes, range);
}

void tigris_serve_stream_request(tigris_serve *server, const tigris_serve_model *model, const tigris_serve_asked *asked)
{
    const tigris_serve_range *range = &asked->range;
    tigris_serve_checksum answer = {0, 0U};
    uint16_t frame_data;

    if (asked->data_bytes != sizeof(tigris_serve_stream) - sizeof *range) {
        tigris_serve_refuse(server, TIGRIS_SERVE_REFUSAL_LENGTH);
        return;
    }
    memcpy(&frame_data, asked->data, sizeof frame_data);
    if (!find_ends(server, model, asked)) {
        return;
    }
    if (frame_data == 0U || frame_data > TIGRIS_SERVE_STREAM ||
        range->count > (uint32_t)frame_data * TIGRIS_SERVE_MOST_STREAM_FRAMES) {
        tigris_serve_refuse(server, TIGRIS_SERVE_REFUSAL_RANGE);
        return;
    }
    open_stream(server, range, frame_data);
    if (server->source != NULL) {
        server->source += range->first;
        answer.crc32 = tigris_crc32(server->source, range->count);
    } else {
        server->sink += range->first;
        tigris_serve_forget(server);
    }
    tigris_serve_respond(server, &answer, (uint32_t)sizeof answer);
}

static uint32_t bytes_of(const tigris_serve *server, uint32_t number)
{
    const uint32_t left = server->stream_bytes - number * server->frame_data;

    return left < server->frame_data ? left : server->frame_data;
}

static void acknowledge(const tigris_serve *server)
{
    const tigris_serve_window window = {server->stream_next, 0U, server->stream_bits};

    tigris_serve_send_aside(server, &server->request, TIGRIS_SERVE_STREAM_FRAME_ACK, &window, (uint32_t)sizeof window);
}

/* A frame of an input. One that has come already is not written again: it tells that the host lacks an answer. */
static void take_data(tigris_serve *server, const uint8_t *payload, uint32_t bytes)
{
    uint16_t number;

    if (bytes < sizeof number) {
        return;
    }
    memcpy(&number, payload, sizeof number);
    if (number >= server->stream_frames || bytes != sizeof number + bytes_of(server, number) ||
        number >= server->stream_next + TIGRIS_SERVE_WINDOW) {
        return;
    }
    const int had_gap = server->stream_bits != 0U;
    const int is_new =
        number >= server->stream_next && (server->stream_bits >> (number - server->stream_next) & 1U) == 0U;
    if (is_new) {
        memcpy(server->sink + (size_t)number * server->frame_data, payload + sizeof number, bytes - sizeof number);
        server->stream_bits |= 1U << (number - server->stream_next);
        while ((server->stream_bits & 1U) != 0U) {
            server->stream_bits >>= 1;
            server->stream_next++;
        }
    }
    if (!is_new || had_gap || server->stream_bits != 0U || server->stream_next == server->stream_frames ||
        server->stream_next % ACK_EVERY == 0U) {
        acknowledge(server);
    }
}

/* What the host has of an output, and wants again. */
static void take_credit(tigris_serve *server, const uint8_t *payload, uint32_t bytes)
{
    tigris_serve_window window;

    if (bytes != sizeof window) {
        return;
    }
    memcpy(&window, payload, sizeof window);
    if (window.next < server->stream_next || window.next > server->stream_sent) {
        return;
    }
    const uint32_t forward = (uint32_t)window.next - server->stream_next;
    const uint32_t sent = (uint32_t)server->stream_sent - window.next; /* at most a whole window */
    const uint32_t known = sent < 32U ? (1U << sent) - 1U : UINT32_MAX;
    server->stream_bits = ((forward < 32U ? server->stream_bits >> forward : 0U) | window.bits) & known;
    server->stream_next = window.next;
    if (server->stream_next == server->stream_frames) {
        server->stream_frames = 0U;
    }
}

void tigris_serve_stream_take(tigris_serve *server, const tigris_serve_header *header, const uint8_t *payload)
{
    if (!server->greeted || header->session != server->host_session) {
        tigris_serve_refuse_aside(server, header, TIGRIS_SERVE_REFUSAL_SESSION);
        return;
    }
    if (tigris_serve_sequence(header) != server->sequence || server->stream_frames == 0U) {
        return; /* of a stream that is done: nobody waits for an answer */
    }
    server->stream_quiet = 0U;
    if (header->type == (uint8_t)TIGRIS_SERVE_STREAM_FRAME_DATA && server->sink != NULL) {
        take_data(server, payload, header->length);
    } else if (header->type == (uint8_t)TIGRIS_SERVE_STREAM_FRAME_CREDIT && server->source != NULL) {
        take_credit(server, payload, header->length);
    }
}

int tigris_serve_stream_give(tigris_serve *server)
{
    uint32_t number = server->stream_next;

    if (server->stream_frames == 0U || server->source == NULL) {
        return 0;
    }
    if (server->stream_bits != 0U) {
        while ((server->stream_bits >> (number - server->stream_next) & 1U) == 0U) {
            number++;
        }
        server->stream_bits &= server->stream_bits - 1U;
    } else if (server->stream_sent < server->stream_frames &&
               server->stream_sent < server->stream_next + TIGRIS_SERVE_WINDOW) {
        number = server->stream_sent++;
    } else {
        return 0;
    }
    tigris_serve_send_data(server, number, server->source + (size_t)number * server->frame_data,
                           bytes_of(server, number));
    return 1;
}

int tigris_serve_stream_is_awaited(const tigris_serve *server)
{
    return server->stream_frames != 0U && !server->stream_quiet &&
           !(server->sink != NULL && server->stream_next == server->stream_frames);
}
