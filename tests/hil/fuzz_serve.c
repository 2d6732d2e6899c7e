/* libFuzzer target: hostile bytes on the serial line.
 *
 * The input is a sequence of pieces: a byte of flags, a byte of length, so many bytes. With FRAME a piece is what a frame
 * holds before its checksum: its length is set right, and it is sent with a checksum and coded, so that requests are
 * reached; without, it is sent as it is. With GREET a HELLO comes first, and the frame is the first of the session that it
 * begins. Models and their buffers are the stand-in's. */
#include <stdlib.h>
#include <string.h>

#include "../../runtime/src/crc32.h"
#include "tigris_serve.h"

#define FRAME 1U
#define GREET 2U
#define LONG 4U /* length counts fours */
#define HEADER_BYTES ((uint32_t)sizeof(tigris_serve_header))
#define MOST_FRAME (HEADER_BYTES + 4U * 255U + TIGRIS_SERVE_CHECKSUM_BYTES)

void standin_open(tigris_plan *plan, tigris_session *session, const char *name);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

/* What is on its way to the server, and how much of it has arrived; the sessions that were asked for. */
typedef struct feed {
    uint8_t *data;
    size_t bytes;
    size_t at;
    uint16_t nonce;
    uint8_t greetings;
} feed;

static size_t feed_read(void *context, uint8_t *data, size_t bytes)
{
    feed *f = context;
    const size_t left = f->bytes - f->at;
    const size_t piece = bytes < left ? bytes : left;
    if (piece != 0U) {
        memcpy(data, f->data + f->at, piece);
    }
    f->at += piece;
    return piece;
}

/* A frame has delimiters outside and none inside. */
static void feed_write(void *context, const uint8_t *data, size_t bytes)
{
    (void)context;
    if (bytes < 2U || data[0] != 0U || data[bytes - 1U] != 0U || memchr(data + 1, 0, bytes - 2U) != NULL) {
        abort();
    }
}

static void append(feed *f, const uint8_t *data, size_t bytes)
{
    uint8_t *longer = realloc(f->data, f->bytes + bytes + 1U);
    if (longer == NULL) {
        abort();
    }
    f->data = longer;
    if (bytes != 0U) {
        memcpy(f->data + f->bytes, data, bytes);
    }
    f->bytes += bytes;
}

/* COBS: each block is a code, one more than its bytes, and stands for them and a zero. */
static void append_coded(feed *f, const uint8_t *frame, uint32_t bytes)
{
    static const uint8_t delimiter = 0U;
    uint32_t at = 0U;
    append(f, &delimiter, 1U);
    while (at <= bytes) {
        uint32_t run = 0U;
        while (at + run < bytes && frame[at + run] != 0U && run < 254U) {
            run++;
        }
        const uint8_t code = (uint8_t)(run + 1U);
        append(f, &code, 1U);
        append(f, frame + at, run);
        at += run == 254U ? run : run + 1U;
    }
    append(f, &delimiter, 1U);
}

/* `bytes` bytes behind the header, whose first four are given. */
static void append_frame(feed *f, const uint8_t *start, const uint8_t *payload, uint32_t bytes)
{
    uint8_t frame[MOST_FRAME] = {0};
    const uint16_t length = (uint16_t)bytes;
    memcpy(frame, start, 4U);
    memcpy(frame + 4, &length, sizeof length);
    memcpy(frame + HEADER_BYTES, payload, bytes);
    const uint32_t crc = tigris_crc32(frame, HEADER_BYTES + bytes);
    memcpy(frame + HEADER_BYTES + bytes, &crc, sizeof crc);
    append_coded(f, frame, HEADER_BYTES + bytes + TIGRIS_SERVE_CHECKSUM_BYTES);
}

static void append_piece(feed *f, uint32_t flags, const uint8_t *data, uint32_t bytes)
{
    if ((flags & FRAME) == 0U || bytes < 4U) {
        append(f, data, bytes);
        return;
    }
    if ((flags & GREET) != 0U) {
        /* What a board without a counter offers next. */
        f->nonce = (uint16_t)(f->nonce * 25173U + 13849U);
        f->greetings = (uint8_t)(f->greetings + 2U);
        const uint8_t hello[4] = {TIGRIS_SERVE_REQUEST_HELLO, f->greetings, data[2], data[3]};
        const uint8_t first[4] = {data[0], (uint8_t)(f->greetings + 1U), (uint8_t)(data[2] ^ (f->nonce & 255U)),
                                  (uint8_t)(data[3] ^ (f->nonce >> 8))};
        append_frame(f, hello, hello, 4U);
        append_frame(f, first, data + 4, bytes - 4U);
        return;
    }
    append_frame(f, data, data + 4, bytes - 4U);
}

static void serve(feed *f)
{
    static tigris_plan plan;
    static tigris_session session;
    tigris_serve_counts counts[20] = {{0U, 0U}};
    tigris_serve_model models[2];
    const tigris_serve_board board = {"fuzz", NULL, NULL, 0U, NULL, 0U};
    const tigris_serve_transport transport = {feed_read, feed_write, f};
    if (plan.header == NULL) {
        standin_open(&plan, &session, "digits");
    }
    memset(models, 0, sizeof models);
    models[0].plan = &plan;
    models[0].session = &session;
    models[0].profile = counts;
    models[0].profile_count = 20U;
    models[1].status = TIGRIS_ERR_NOT_A_PLAN;
    tigris_serve *server = malloc(sizeof *server);
    if (server == NULL) {
        abort();
    }
    tigris_serve_init(server, &transport, &board, models, 2U);
    while (tigris_serve_poll(server) || f->at < f->bytes) {
    }
    free(server);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    feed f = {NULL, 0U, 0U, 0U, 0U};
    while (bytes >= 2U) {
        const uint32_t flags = data[0];
        uint32_t length = data[1] * ((flags & LONG) != 0U ? 4U : 1U);
        length = length < bytes - 2U ? length : (uint32_t)(bytes - 2U);
        append_piece(&f, flags, data + 2, length);
        data += 2U + length;
        bytes -= 2U + length;
    }
    serve(&f);
    free(f.data);
    return 0;
}
