/* libFuzzer target: hostile bytes on the serial line.
 *
 * The input is a byte, odd for a host that sends nothing during a run, and a sequence of pieces: a byte of flags, a
 * byte of length, so many bytes. With FRAME a piece is what a frame holds before its checksum: its length is set
 * right, and it is sent with a checksum and coded, so that requests are reached; without, it is sent as it is. With
 * GREET a HELLO comes first, and the frame is the first of the connection that it opens. With NEXT it is the next
 * request of that connection, with SAME it has the number of the last one: a frame of a transfer, perhaps. Models
 * and their buffers are the stand-in's. */
#include <stdlib.h>
#include <string.h>

#include "../../runtime/src/crc32.h"
#include "tigris_serve.h"

#define FRAME 1U
#define GREET 2U
#define LONG 4U /* length counts fours */
#define NEXT 8U
#define SAME 16U
#define HEADER_BYTES ((uint32_t)sizeof(tigris_serve_header))
#define MOST_FRAME (HEADER_BYTES + 4U * 255U + TIGRIS_SERVE_CHECKSUM_BYTES)

void standin_open(tigris_plan *plan, tigris_session *session, const char *name);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);
extern int standin_is_running;
static unsigned long all_served;

/* The bytes for the server, how many have arrived, and the connection. */
typedef struct feed {
    uint8_t *data;
    size_t bytes;
    size_t at;
    uint16_t nonce;
    uint8_t greetings;
    uint16_t connection; /* and the number of its last request */
    uint32_t sequence;
    int is_patient; /* nothing is sent during a run, when requests would be dropped */
    uint32_t reads;
    int in_frame; /* the server is sending a frame */
} feed;

static size_t feed_read(void *context, uint8_t *data, size_t bytes)
{
    feed *f = context;
    const size_t left = f->bytes - f->at;
    size_t piece = bytes < left ? bytes : left;
    f->reads++;
    if (f->is_patient && (standin_is_running || f->reads % 3U == 0U)) { /* now and then nothing has arrived */
        return 0U;
    }
    if (f->is_patient && piece != 0U) { /* nothing behind the end of a frame: it would be there during a run */
        const uint8_t *end = memchr(f->data + f->at, 0, piece);
        piece = end != NULL ? (size_t)(end - (f->data + f->at)) + 1U : piece;
    }
    if (piece != 0U)
        memcpy(data, f->data + f->at, piece);
    f->at += piece;
    return piece;
}

/* Time passes with the reads; 64 of them are a tenth of a second, after which a transfer is quiet. The low bits,
 * which go into what HELLO offers, stay zero. */
#define COUNTS_PER_SECOND (640U * 1024U)

static uint32_t feed_count(void *context)
{
    return ((const feed *)context)->reads * 1024U;
}

/* A frame has delimiters around it and none inside; the server may send it in pieces. */
static void feed_write(void *context, const uint8_t *data, size_t bytes)
{
    feed *f = context;
    if (bytes < 1U || bytes > 128U)
        abort();
    for (size_t i = 0; i < bytes; i++) {
        if (!f->in_frame && data[i] != 0U)
            abort();
        if (data[i] == 0U)
            f->in_frame = !f->in_frame;
    }
}

static void append(feed *f, const uint8_t *data, size_t bytes)
{
    uint8_t *longer = realloc(f->data, f->bytes + bytes + 1U);
    if (longer == NULL)
        abort();
    f->data = longer;
    if (bytes != 0U)
        memcpy(f->data + f->bytes, data, bytes);
    f->bytes += bytes;
}

/* COBS: a block is a code and code - 1 bytes; it stands for these bytes and a zero. */
static void append_coded(feed *f, const uint8_t *frame, uint32_t bytes)
{
    static const uint8_t delimiter = 0U;
    uint32_t at = 0U;
    append(f, &delimiter, 1U);
    while (at <= bytes) {
        uint32_t run = 0U;
        while (at + run < bytes && frame[at + run] != 0U && run < 254U)
            run++;
        const uint8_t code = (uint8_t)(run + 1U);
        append(f, &code, 1U);
        append(f, frame + at, run);
        at += run == 254U ? run : run + 1U;
    }
    append(f, &delimiter, 1U);
}

/* A frame of `type` with `bytes` bytes of payload. */
static void append_frame(feed *f, uint8_t type, uint32_t sequence, uint16_t connection, const uint8_t *payload,
                         uint32_t bytes)
{
    uint8_t frame[MOST_FRAME] = {0};
    const uint16_t high = (uint16_t)(sequence >> 8);
    const tigris_serve_header header = {type, (uint8_t)sequence, connection, (uint16_t)bytes, high};
    memcpy(frame, &header, sizeof header);
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
    const uint16_t connection = (uint16_t)(data[2] | data[3] << 8);
    if ((flags & GREET) != 0U) {
        /* The next nonce of a board whose counter's low bits are zero. */
        f->nonce = (uint16_t)(f->nonce * 25173U + 13849U);
        f->greetings = (uint8_t)(f->greetings + 2U);
        f->connection = (uint16_t)(connection ^ f->nonce);
        f->sequence = f->greetings;
        append_frame(f, TIGRIS_SERVE_REQUEST_HELLO, f->sequence, connection, data, 4U);
    }
    if ((flags & (GREET | NEXT)) != 0U)
        f->sequence++;
    if ((flags & (GREET | NEXT | SAME)) != 0U) {
        append_frame(f, data[0], f->sequence, f->connection, data + 4, bytes - 4U);
    } else {
        append_frame(f, data[0], data[1], connection, data + 4, bytes - 4U);
    }
}

static void serve(feed *f)
{
    static tigris_plan plan;
    static tigris_session session;
    tigris_serve_counts counts[20] = {{0U, 0U}};
    tigris_serve_model models[2];
    const tigris_serve_board board = {"fuzz", feed_count, f, COUNTS_PER_SECOND, NULL, 0U};
    const tigris_serve_transport transport = {feed_read, feed_write, f};
    if (plan.header == NULL)
        standin_open(&plan, &session, "digits");
    memset(models, 0, sizeof models);
    models[0].plan = &plan;
    models[0].session = &session;
    models[0].profile = counts;
    models[0].profile_count = 20U;
    models[1].status = TIGRIS_ERR_NOT_A_PLAN;
    tigris_serve *server = malloc(sizeof *server);
    if (server == NULL)
        abort();
    tigris_serve_init(server, &transport, &board, models, 2U);
    for (int did = 1; did || f->at < f->bytes;) {
        did = tigris_serve_poll(server);
        all_served += (unsigned)did;
    }
    free(server);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    feed f = {0};
    if (bytes != 0U) {
        f.is_patient = *data++ & 1;
        bytes--;
    }
    while (bytes >= 2U) {
        const uint32_t flags = data[0];
        uint32_t length = data[1] * ((flags & LONG) != 0U ? 4U : 1U);
        length = length < bytes - 2U ? length : (uint32_t)(bytes - 2U);
        append_piece(&f, flags, data + 2, length);
        data += 2U + length;
        bytes -= 2U + length;
    }
    serve(&f);
    if (f.is_patient && f.in_frame)
        abort();
    free(f.data);
    return 0;
}
