/* Transfers: an input or output in numbered frames that are not acknowledged one by one. Missing frames are sent
 * again.
 *
 * Frames of a transfer carry the connection and sequence number of the request that opened it. The next accepted
 * request ends it, so a late frame finds no transfer of its number. The board keeps no time: the host notices lost
 * frames, and requests or sends them again. */
#include <string.h>

#include "crc32.h"
#include "serve_frame.h"
#include "serve_requests.h"

/* The board sends ACK at least after this many frames of an input. */
#define ACK_EVERY 8U

static void open_transfer(tigris_serve *server, const tigris_serve_range *range, uint32_t frame_data)
{
    server->transfer_bytes = range->count;
    server->frame_data = (uint16_t)frame_data;
    server->transfer_frames = (uint16_t)((range->count + frame_data - 1U) / frame_data);
    server->transfer_next = 0U;
    server->transfer_sent = 0U;
    server->transfer_bits = 0U;
    server->transfer_quiet = 0U;
}

/* Sets server->sink for an input, or server->source for an output or rows. Refuses a tensor or range that is not
 * there. */
static int find_ends(tigris_serve *server, const tigris_serve_model *model, const tigris_serve_query *query)
{
    const tigris_serve_range *range = &query->range;
    uint32_t bytes;

    server->sink = NULL;
    server->source = NULL;
    if (TIGRIS_SERVE_QUERY_DIRECTION(query) == (uint8_t)TIGRIS_SERVE_DIRECTION_ROWS) {
        const tigris_serve_rows *rows = tigris_serve_find_rows(server, model, range->index);
        if (rows == NULL) {
            return 0;
        }
        server->source = rows->data;
        bytes = rows->bytes;
    } else if (TIGRIS_SERVE_QUERY_DIRECTION(query) == (uint8_t)TIGRIS_SERVE_DIRECTION_OUTPUT) {
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

void tigris_serve_transfer_request(tigris_serve *server, const tigris_serve_model *model,
                                   const tigris_serve_query *query)
{
    const tigris_serve_range *range = &query->range;
    tigris_serve_checksum answer = {0, 0U};
    uint16_t frame_data;

    if (query->data_bytes != sizeof(tigris_serve_transfer) - sizeof *range) {
        tigris_serve_refuse(server, TIGRIS_SERVE_REFUSAL_LENGTH);
        return;
    }
    memcpy(&frame_data, query->data, sizeof frame_data);
    if (!find_ends(server, model, query)) {
        return;
    }
    if (frame_data == 0U || frame_data > TIGRIS_SERVE_TRANSFER ||
        range->count > (uint32_t)frame_data * TIGRIS_SERVE_MOST_TRANSFER_FRAMES) {
        tigris_serve_refuse(server, TIGRIS_SERVE_REFUSAL_RANGE);
        return;
    }
    open_transfer(server, range, frame_data);
    if (server->source != NULL) {
        server->source += range->first;
        answer.crc32 = tigris_crc32(server->source, range->count);
    } else {
        server->sink += range->first;
        tigris_serve_invalidate_outputs(server);
    }
    tigris_serve_respond(server, &answer, (uint32_t)sizeof answer);
}

static uint32_t bytes_of(const tigris_serve *server, uint32_t number)
{
    const uint32_t left = server->transfer_bytes - number * server->frame_data;

    return left < server->frame_data ? left : server->frame_data;
}

static void acknowledge(const tigris_serve *server)
{
    const tigris_serve_progress ack = {server->transfer_next, 0U, server->transfer_bits};

    tigris_serve_send_unstored(server, &server->request, TIGRIS_SERVE_TRANSFER_FRAME_ACK, &ack, (uint32_t)sizeof ack);
}

/* Receives a frame of an input. A frame that arrives twice is not written again, but acknowledged: the host lacks an
 * ACK. */
static void receive_data(tigris_serve *server, const uint8_t *payload, uint32_t bytes)
{
    uint16_t number;

    if (bytes < sizeof number) {
        return;
    }
    memcpy(&number, payload, sizeof number);
    if (number >= server->transfer_frames || bytes != sizeof number + bytes_of(server, number) ||
        number >= server->transfer_next + TIGRIS_SERVE_IN_FLIGHT) {
        return;
    }
    const int had_gap = server->transfer_bits != 0U;
    const int is_new =
        number >= server->transfer_next && (server->transfer_bits >> (number - server->transfer_next) & 1U) == 0U;
    if (is_new) {
        memcpy(server->sink + (size_t)number * server->frame_data, payload + sizeof number, bytes - sizeof number);
        server->transfer_bits |= 1U << (number - server->transfer_next);
        while ((server->transfer_bits & 1U) != 0U) {
            server->transfer_bits >>= 1;
            server->transfer_next++;
        }
    }
    if (!is_new || had_gap || server->transfer_bits != 0U || server->transfer_next == server->transfer_frames ||
        server->transfer_next % ACK_EVERY == 0U) {
        acknowledge(server);
    }
}

/* Receives a CREDIT: the frames of an output that the host has, and those to send again. */
static void receive_credit(tigris_serve *server, const uint8_t *payload, uint32_t bytes)
{
    tigris_serve_progress progress;

    if (bytes != sizeof progress) {
        return;
    }
    memcpy(&progress, payload, sizeof progress);
    if (progress.next < server->transfer_next || progress.next > server->transfer_sent) {
        return;
    }
    const uint32_t forward = (uint32_t)progress.next - server->transfer_next;
    const uint32_t sent = (uint32_t)server->transfer_sent - progress.next; /* at most TIGRIS_SERVE_IN_FLIGHT */
    const uint32_t known = sent < 32U ? (1U << sent) - 1U : UINT32_MAX;
    server->transfer_bits = ((forward < 32U ? server->transfer_bits >> forward : 0U) | progress.bits) & known;
    server->transfer_next = progress.next;
    if (server->transfer_next == server->transfer_frames) {
        server->transfer_frames = 0U;
    }
}

void tigris_serve_transfer_receive(tigris_serve *server, const tigris_serve_header *header, const uint8_t *payload)
{
    if (!server->is_connected || header->connection != server->connection) {
        tigris_serve_refuse_frame(server, header, TIGRIS_SERVE_REFUSAL_CONNECTION);
        return;
    }
    if (tigris_serve_sequence(header) != server->sequence || server->transfer_frames == 0U) {
        return; /* of a finished transfer: nobody waits for an answer */
    }
    server->transfer_quiet = 0U;
    if (header->type == (uint8_t)TIGRIS_SERVE_TRANSFER_FRAME_DATA && server->sink != NULL) {
        receive_data(server, payload, header->length);
    } else if (header->type == (uint8_t)TIGRIS_SERVE_TRANSFER_FRAME_CREDIT && server->source != NULL) {
        receive_credit(server, payload, header->length);
    }
}

int tigris_serve_transfer_send(tigris_serve *server)
{
    uint32_t number = server->transfer_next;

    if (server->transfer_frames == 0U || server->source == NULL) {
        return 0;
    }
    if (server->transfer_bits != 0U) {
        while ((server->transfer_bits >> (number - server->transfer_next) & 1U) == 0U) {
            number++;
        }
        server->transfer_bits &= server->transfer_bits - 1U;
    } else if (server->transfer_sent < server->transfer_frames &&
               server->transfer_sent < server->transfer_next + TIGRIS_SERVE_IN_FLIGHT) {
        number = server->transfer_sent++;
    } else {
        return 0;
    }
    tigris_serve_send_data(server, number, server->source + (size_t)number * server->frame_data,
                           bytes_of(server, number));
    return 1;
}

int tigris_serve_transfer_is_expected(const tigris_serve *server)
{
    return server->transfer_frames != 0U && !server->transfer_quiet &&
           !(server->sink != NULL && server->transfer_next == server->transfer_frames);
}
