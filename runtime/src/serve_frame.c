/* Frames: COBS, checksum, sending and receiving. */
#include "serve_frame.h"

#include <string.h>

#include "crc32.h"

#define HEADER_BYTES ((uint32_t)sizeof(tigris_serve_header))

static void keep(tigris_serve *server, uint8_t byte)
{
    if (server->frame_bytes < TIGRIS_SERVE_FRAME) {
        server->frame[server->frame_bytes++] = byte;
    } else {
        server->damaged = 1U;
    }
}

/* Undoes COBS for one byte other than the delimiter. A block of code n is n - 1 bytes and then a zero,
 * which the frame's last block and blocks of code 255 lack. */
static void decode(tigris_serve *server, uint8_t byte)
{
    if (server->block_left > 0U) {
        server->block_left--;
        keep(server, byte);
        return;
    }
    if (server->block_code != 0U && server->block_code != 255U) {
        keep(server, 0U);
    }
    server->block_code = byte;
    server->block_left = (uint32_t)byte - 1U;
}

/* At a delimiter: is what came since the last one a frame? */
static int accept(tigris_serve *server, tigris_serve_header *header)
{
    uint32_t expected;
    const uint32_t body = server->frame_bytes - TIGRIS_SERVE_CHECKSUM_BYTES;

    if (server->damaged || server->block_left != 0U ||
        server->frame_bytes < HEADER_BYTES + TIGRIS_SERVE_CHECKSUM_BYTES) {
        return 0;
    }
    memcpy(&expected, server->frame + body, sizeof expected);
    if (tigris_crc32(server->frame, body) != expected) {
        return 0;
    }
    memcpy(header, server->frame, sizeof *header);
    return header->length == body - HEADER_BYTES;
}

int tigris_serve_receive(tigris_serve *server, tigris_serve_header *header)
{
    for (;;) {
        if (server->chunk_at == server->chunk_bytes) {
            size_t got = server->transport->read(server->transport->context, server->chunk, sizeof server->chunk);
            if (got == 0U || got > sizeof server->chunk) {
                return 0;
            }
            server->chunk_at = 0U;
            server->chunk_bytes = (uint32_t)got;
        }
        const uint8_t byte = server->chunk[server->chunk_at++];
        if (byte != 0U) {
            decode(server, byte);
            continue;
        }
        const int whole = accept(server, header);
        server->frame_bytes = 0U;
        server->block_left = 0U;
        server->block_code = 0U;
        server->damaged = 0U;
        if (whole) {
            return 1;
        }
    }
}

/* Codes a frame of `bytes` bytes to `wire`; returns how many there are. `plain` may lie FRAME_AT bytes into the same
 * buffer: a code byte is due at most every 254 bytes, so the coded frame never reaches what is not read yet. */
#define FRAME_AT (TIGRIS_SERVE_WIRE - TIGRIS_SERVE_FRAME)

static uint32_t encode(uint8_t *wire, const uint8_t *plain, uint32_t bytes)
{
    uint32_t code_at = 1U, at = 2U;

    wire[0] = 0U; /* ends whatever text came before */
    for (uint32_t i = 0; i < bytes; i++) {
        const uint8_t byte = plain[i];
        if (byte != 0U) {
            wire[at++] = byte;
        }
        if (byte == 0U || at - code_at == 255U) {
            wire[code_at] = (uint8_t)(at - code_at);
            code_at = at++;
        }
    }
    wire[code_at] = (uint8_t)(at - code_at);
    wire[at++] = 0U;
    return at;
}

/* A frame that answers `to`, before it is coded; returns its bytes. */
static uint32_t compose(uint8_t *plain, const tigris_serve_header *to, uint32_t type, const void *payload,
                        uint32_t bytes)
{
    tigris_serve_header header = *to;

    header.type = (uint8_t)type;
    header.length = (uint16_t)bytes;
    memcpy(plain, &header, HEADER_BYTES);
    if (bytes > 0U) {
        memcpy(plain + HEADER_BYTES, payload, bytes);
    }
    const uint32_t crc = tigris_crc32(plain, HEADER_BYTES + bytes);
    memcpy(plain + HEADER_BYTES + bytes, &crc, sizeof crc);
    return HEADER_BYTES + bytes + TIGRIS_SERVE_CHECKSUM_BYTES;
}

void tigris_serve_send(tigris_serve *server, uint32_t type, const void *payload, uint32_t bytes)
{
    uint8_t *plain = server->wire + FRAME_AT;
    const uint32_t frame_bytes = compose(plain, &server->request, type, payload, bytes);

    server->wire_bytes = encode(server->wire, plain, frame_bytes);
    tigris_serve_send_again(server);
}

void tigris_serve_send_again(const tigris_serve *server)
{
    server->transport->write(server->transport->context, server->wire, server->wire_bytes);
}

void tigris_serve_send_aside(const tigris_serve *server, const tigris_serve_header *to, uint32_t type,
                             const void *payload, uint32_t bytes)
{
    uint8_t plain[sizeof(tigris_serve_header) + sizeof(tigris_serve_hello) + TIGRIS_SERVE_CHECKSUM_BYTES];
    uint8_t wire[sizeof plain + 3U];
    const uint32_t frame_bytes = compose(plain, to, type, payload, bytes);

    server->transport->write(server->transport->context, wire, encode(wire, plain, frame_bytes));
}
