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

/* Decodes one byte of COBS other than the delimiter. A block of code n is n - 1 bytes, then a zero; the frame's last
 * block and blocks of code 255 have no zero. */
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

/* At a delimiter: true if the bytes since the last delimiter are an undamaged frame. */
static int check_frame(tigris_serve *server, tigris_serve_header *header)
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
    return header->length == body - HEADER_BYTES &&
           (header->length <= TIGRIS_SERVE_PAYLOAD || header->type == (uint8_t)TIGRIS_SERVE_TRANSFER_FRAME_DATA);
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
        const int whole = check_frame(server, header);
        server->frame_bytes = 0U;
        server->block_left = 0U;
        server->block_code = 0U;
        server->damaged = 0U;
        if (whole) {
            return 1;
        }
    }
}

/* Sending. Frames are encoded in place, in pieces of PIECE_BYTES, so that the transport is not called for each byte. */

#define PIECE_BYTES 128U

typedef struct piece {
    const tigris_serve_transport *transport;
    uint32_t bytes;
    uint8_t data[PIECE_BYTES];
} piece;

static void flush(piece *p)
{
    p->transport->write(p->transport->context, p->data, p->bytes);
    p->bytes = 0U;
}

static void put(piece *p, uint8_t byte)
{
    if (p->bytes == PIECE_BYTES) {
        flush(p);
    }
    p->data[p->bytes++] = byte;
}

typedef struct part {
    const uint8_t *data;
    uint32_t bytes;
} part;

/* Byte `at` of the concatenated parts, which must be longer. */
static uint8_t byte_at(const part *parts, uint32_t at)
{
    while (at >= parts->bytes) {
        at -= parts->bytes;
        parts++;
    }
    return parts->data[at];
}

static void send_parts(const tigris_serve *server, const part *parts, uint32_t bytes)
{
    piece out;
    uint32_t at = 0U;

    out.transport = server->transport;
    out.bytes = 0U;
    put(&out, 0U); /* ends the firmware's text before it */
    while (at <= bytes) { /* a block of up to 254 bytes that are not zero, and the zero that follows it */
        uint32_t block = 0U;
        while (block < 254U && at + block < bytes && byte_at(parts, at + block) != 0U) {
            block++;
        }
        put(&out, (uint8_t)(block + 1U));
        for (uint32_t i = 0; i < block; i++) {
            put(&out, byte_at(parts, at + i));
        }
        at += block < 254U ? block + 1U : block;
    }
    put(&out, 0U);
    flush(&out);
}

static void send_plain(const tigris_serve *server, const uint8_t *plain, uint32_t bytes)
{
    const part whole = {plain, bytes};

    send_parts(server, &whole, bytes);
}

/* Writes the uncoded frame that answers `to`; returns its bytes. */
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
    server->reply_bytes = compose(server->reply, &server->request, type, payload, bytes);
    tigris_serve_resend(server);
}

void tigris_serve_resend(const tigris_serve *server)
{
    send_plain(server, server->reply, server->reply_bytes);
}

void tigris_serve_send_unstored(const tigris_serve *server, const tigris_serve_header *to, uint32_t type,
                                const void *payload, uint32_t bytes)
{
    uint8_t plain[sizeof(tigris_serve_header) + sizeof(tigris_serve_hello) + TIGRIS_SERVE_CHECKSUM_BYTES];

    send_plain(server, plain, compose(plain, to, type, payload, bytes));
}

void tigris_serve_send_data(const tigris_serve *server, uint32_t number, const uint8_t *data, uint32_t bytes)
{
    const uint16_t stored = (uint16_t)number;
    tigris_serve_header header = server->request;
    uint8_t head[sizeof header + sizeof stored];
    uint8_t tail[TIGRIS_SERVE_CHECKSUM_BYTES];
    const part parts[3] = {{head, sizeof head}, {data, bytes}, {tail, sizeof tail}};

    header.type = (uint8_t)TIGRIS_SERVE_TRANSFER_FRAME_DATA;
    header.length = (uint16_t)(sizeof stored + bytes);
    memcpy(head, &header, sizeof header);
    memcpy(head + sizeof header, &stored, sizeof stored);
    const uint32_t crc = tigris_crc32_append(tigris_crc32(head, sizeof head), data, bytes);
    memcpy(tail, &crc, sizeof crc);
    send_parts(server, parts, (uint32_t)(sizeof head + sizeof tail) + bytes);
}
