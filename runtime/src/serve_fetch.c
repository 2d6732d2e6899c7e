/* Rows of streamed inputs and outputs: they travel during the run, one frame at a time. The board repeats each frame
 * until the host has answered it. */
#include <string.h>

#include "serve_frame.h"
#include "serve_requests.h"

/* Without an answer the board repeats a frame after 0.25 s, or after QUIET_READS empty reads if no counter measures
 * time. After MOST_TRIES the host counts as gone. */
#define QUIET_READS 65536U
#define MOST_TRIES 40U

/* Bytes of rows in a frame to the host: the same for every TIGRIS_SERVE_PAYLOAD. */
#define MOVED_BYTES (TIGRIS_SERVE_LEAST_PAYLOAD - (uint32_t)sizeof(tigris_serve_moved))

/* True if the received frame answers the one about `place`. Copies its rows to `destination` unless that is NULL. */
static int is_answer(const tigris_serve *server, const tigris_serve_header *header, uint32_t type,
                     const tigris_serve_moved *place, void *destination)
{
    const uint8_t *payload = server->frame + sizeof *header;
    const uint32_t bytes = (uint32_t)sizeof *place + (destination != NULL ? place->bytes : 0U);

    if (header->type != (uint8_t)type || header->length != bytes || memcmp(payload, place, sizeof *place) != 0) {
        return 0;
    }
    if (destination != NULL) {
        memcpy(destination, payload + sizeof *place, place->bytes);
    }
    return 1;
}

/* Waits for the answer. Returns 1 if it arrived, 0 if the line was quiet, -1 if the run must stop. */
static int await_answer(tigris_serve *server, uint32_t type, const tigris_serve_moved *place, void *destination)
{
    const uint32_t hz = server->board->counter != NULL ? server->board->counter_hz : 0U;
    const uint32_t since = tigris_serve_count(server);

    for (uint32_t reads = 0U; reads < 64U * QUIET_READS; reads++) {
        tigris_serve_header header;
        const tigris_serve_event event = tigris_serve_receive_while_busy(server, &header);
        if (event == TIGRIS_SERVE_EVENT_STOP) {
            return -1;
        }
        if (event == TIGRIS_SERVE_EVENT_ROWS && is_answer(server, &header, type, place, destination)) {
            return 1;
        }
        if (hz != 0U ? tigris_serve_count(server) - since >= hz / 4U : reads >= QUIET_READS) {
            break;
        }
    }
    return 0;
}

/* Sends a frame with `bytes` of payload until the host answers by `type`. Returns 0, or 1 if the run must stop. */
static int exchange(tigris_serve *server, uint32_t sent, const uint8_t *frame, uint32_t bytes, uint32_t type,
                    const tigris_serve_moved *place, void *destination)
{
    for (uint32_t tries = 0U; tries < MOST_TRIES; tries++) {
        tigris_serve_send(server, sent, frame, bytes);
        const int came = await_answer(server, type, place, destination);
        if (came != 0) {
            return came < 0;
        }
        if (server->yield != NULL && server->yield(server->yield_context) != 0) {
            return 1;
        }
    }
    return 1;
}

/* The same as tigris_row_bytes, but independent of the served runtime. The constant holds one hexadecimal digit, the
 * bytes of an element, for each type; type 0 is the lowest. */
static uint32_t row_bytes(const tigris_serve *server, uint32_t io)
{
    const tigris_plan *plan = server->rows_session->plan;
    const tigris_tensor_record *tensor = &plan->tensors[plan->io[io].tensor];
    return tensor->width * tensor->channels * (UINT32_C(0x14842110) >> (tensor->dtype * 4U) & 15U);
}

static int fetch_hook(void *context, uint32_t input, uint32_t first, uint32_t rows, void *destination)
{
    tigris_serve *server = (tigris_serve *)context;
    const uint32_t row = row_bytes(server, input);
    const uint32_t most = TIGRIS_SERVE_PAYLOAD - (uint32_t)sizeof(tigris_serve_moved);
    tigris_serve_moved place = {input, first * row, 0U};
    uint8_t *to = (uint8_t *)destination;
    int stop = 0;

    tigris_serve_stop_clock(server);
    for (uint32_t left = rows * row; left > 0U && !stop; left -= place.bytes) {
        place.bytes = left < most ? left : most;
        stop = exchange(server, TIGRIS_SERVE_ROWS_FRAME_WANT, (const uint8_t *)&place, (uint32_t)sizeof place,
                        TIGRIS_SERVE_ROWS_FRAME_GIVE, &place, to);
        to += place.bytes;
        place.first += place.bytes;
    }
    server->resumed = tigris_serve_count(server);
    return stop;
}

static int take_hook(void *context, uint32_t output, uint32_t first, uint32_t rows, const void *source)
{
    tigris_serve *server = (tigris_serve *)context;
    const uint32_t row = row_bytes(server, server->rows_session->plan->header->input_count + output);
    tigris_serve_moved place = {output, first * row, 0U};
    const uint8_t *from = (const uint8_t *)source;
    int stop = 0;

    tigris_serve_stop_clock(server);
    for (uint32_t left = rows * row; left > 0U && !stop; left -= place.bytes) {
        uint8_t frame[TIGRIS_SERVE_LEAST_PAYLOAD];
        place.bytes = left < MOVED_BYTES ? left : MOVED_BYTES;
        memcpy(frame, &place, sizeof place);
        memcpy(frame + sizeof place, from, place.bytes);
        stop = exchange(server, TIGRIS_SERVE_ROWS_FRAME_MADE, frame, (uint32_t)sizeof place + place.bytes,
                        TIGRIS_SERVE_ROWS_FRAME_TOOK, &place, NULL);
        from += place.bytes;
        place.first += place.bytes;
    }
    server->resumed = tigris_serve_count(server);
    return stop;
}

tigris_status tigris_serve_run_session(tigris_serve *server, tigris_session *session)
{
    const tigris_hooks before = session->hooks;

    server->rows_session = session;
    session->hooks.fetch_rows = fetch_hook;
    session->hooks.take_rows = take_hook;
    session->hooks.rows_context = server;
    const tigris_status status = tigris_run(session);
    session->hooks = before;
    return status;
}
