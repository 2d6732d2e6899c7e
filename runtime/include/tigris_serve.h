/* The board's side of the serial harness: any firmware can serve it from its loop.
 *
 *     static const tigris_serve_transport uart = {uart_read, uart_write, NULL};
 *     static const tigris_serve_board board = {"my board", cycles, NULL, 240000000U, "cycles", 0U};
 *     static tigris_serve_counts profile[TIGRIS_MODEL_DIGITS_OPS];
 *     static tigris_serve server;
 *
 *     const tigris_serve_model models[] = {{.plan = &plan, .session = &session, .status = status,
 *                                           .profile = profile, .profile_count = TIGRIS_MODEL_DIGITS_OPS}};
 *     tigris_serve_init(&server, &uart, &board, models, 1U);
 *     for (;;)
 *         if (!tigris_serve_poll(&server))
 *             sleep_until_something_arrives();
 *
 * The transport must carry all 256 byte values as they are: no newline translation, no echo, no XON/XOFF.
 * Text that the firmware prints between answers is skipped by the host. docs/protocol.md has the messages.
 * No heap, no globals; received bytes are hostile input and never written outside the server's buffers
 * and the models' inputs. */
#ifndef TIGRIS_SERVE_H
#define TIGRIS_SERVE_H

#include "tigris.h"
#include "tigris_protocol.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Largest payload of a request, at least TIGRIS_SERVE_LEAST_PAYLOAD, at most 65535 - 16. The host fills one frame
 * (payload and 15 bytes, 1 more for each 254) and waits for the answer, so what this says must fit the
 * transport's receive buffer: a UART's FIFO holds 128 bytes. */
#ifndef TIGRIS_SERVE_PAYLOAD
#define TIGRIS_SERVE_PAYLOAD TIGRIS_SERVE_LEAST_PAYLOAD
#endif
TIGRIS_STATIC_ASSERT(TIGRIS_SERVE_PAYLOAD >= TIGRIS_SERVE_LEAST_PAYLOAD && TIGRIS_SERVE_PAYLOAD <= 65519,
                     tigris_serve_payload);

/* Most data of a stream's frame, by which inputs and outputs travel; 17 bytes go with it on the line, 1 more for each
 * 254. Raise it for speed. It may be more than the transport's receive buffer: the server reads on while a stream comes. */
#ifndef TIGRIS_SERVE_STREAM
#define TIGRIS_SERVE_STREAM 240U
#endif
TIGRIS_STATIC_ASSERT(TIGRIS_SERVE_STREAM >= 16 && TIGRIS_SERVE_STREAM <= 65517, tigris_serve_stream_data);

/* Bytes of the longest response, and of the longest frame that is received, without what COBS adds. */
#define TIGRIS_SERVE_REPLY (8U + TIGRIS_SERVE_PAYLOAD + TIGRIS_SERVE_CHECKSUM_BYTES)
#define TIGRIS_SERVE_STREAMED (8U + 2U + TIGRIS_SERVE_STREAM + TIGRIS_SERVE_CHECKSUM_BYTES)
#define TIGRIS_SERVE_FRAME (TIGRIS_SERVE_REPLY > TIGRIS_SERVE_STREAMED ? TIGRIS_SERVE_REPLY : TIGRIS_SERVE_STREAMED)

/* The serial line. Both functions get `context`. */
typedef struct tigris_serve_transport {
    /* Moves up to `bytes` received bytes to `data`; returns how many, 0 when none wait. Never blocks. */
    size_t (*read)(void *context, uint8_t *data, size_t bytes);
    /* Sends `bytes` bytes, at most 128; may block while the line is slow. A frame may take several calls. */
    void (*write)(void *context, const uint8_t *data, size_t bytes);
    void *context;
} tigris_serve_transport;

/* What the host is told about the board. Strings are cut to 31 and 15 bytes. */
typedef struct tigris_serve_board {
    const char *name;
    tigris_counter_hook counter; /* NULL: runs are not measured */
    void *counter_context;
    uint32_t counter_hz;      /* counts per second; 0: unknown, or no measure of time */
    const char *counter_unit; /* "cycles", "instructions", "ns"; NULL: "" */
    uint32_t busy_counts;     /* counts between signs of life at work; 0, or no counter: a sign at every yield */
} tigris_serve_board;

/* Storage for one operator's measurements. */
typedef struct tigris_serve_counts {
    uint64_t elapsed;
    uint32_t calls;
} tigris_serve_counts;

/* One model. A model that could not be opened is served too, so that the host can say why: with the status, plan and
 * session as the failure left them, or NULL. */
typedef struct tigris_serve_model {
    const tigris_plan *plan;
    tigris_session *session;   /* zeroed before, as a static one is, when tigris_session_init was not reached */
    tigris_status status;      /* of what failed first, else TIGRIS_OK */
    uint32_t fast_bytes;       /* arenas given to the session, told to the host */
    uint32_t slow_bytes;
    tigris_serve_counts *profile; /* profile_count entries, one an operator; NULL: no profile */
    uint32_t profile_count;
} tigris_serve_model;

/* Bytes that a traced kernel call made or read. */
typedef struct tigris_serve_rows {
    const uint8_t *data; /* NULL: none */
    uint32_t bytes;
} tigris_serve_rows;

/* All state. Members are private. */
typedef struct tigris_serve {
    const tigris_serve_transport *transport;
    const tigris_serve_board *board;
    const tigris_serve_model *models;
    uint32_t model_count;
    uint32_t output_model; /* whose outputs are valid; model_count: none */
    uint32_t output_run;   /* until its session has made another run than that: the firmware's own */
    uint32_t rows_model;   /* the same of `rows` */
    tigris_serve_rows rows[TIGRIS_MAX_OPERANDS + 1U]; /* of the last traced call's output, then its operands */

    /* Receiving: COBS is undone byte by byte into frame. */
    uint8_t chunk[32];
    uint32_t chunk_at;
    uint32_t chunk_bytes;
    uint32_t frame_bytes;
    uint32_t block_left; /* bytes until the next COBS code */
    uint8_t block_code;  /* code of the block being read; 0: none yet */
    uint8_t damaged;
    uint8_t frame[TIGRIS_SERVE_FRAME];

    /* Sessions: the one in being, and the one that the last HELLO was offered. */
    uint16_t host_session;
    uint8_t greeted;   /* host_session is valid */
    uint8_t offered;   /* the following are */
    uint16_t nonce;
    uint16_t hello_session;
    uint32_t hello_sequence;
    uint32_t sequence; /* of the last request that was accepted */

    /* Sending. The last response stays, to be sent again when its request is repeated. */
    tigris_serve_header request; /* being served, or served last */
    uint32_t request_crc;
    uint32_t reply_bytes;
    uint8_t reply[TIGRIS_SERVE_REPLY];

    /* The stream that the last request opened: of an input when it has a sink, of an output when it has a source. */
    uint8_t *sink;
    const uint8_t *source;
    uint32_t stream_bytes;  /* in all */
    uint16_t frame_data;    /* bytes of a frame, but for the last */
    uint16_t stream_frames; /* 0: there is none, or it is done */
    uint16_t stream_next;   /* all frames before this one have come; as many as there are: all */
    uint16_t stream_sent;   /* of an output: all before this one were sent */
    uint32_t stream_bits;   /* bit i is frame stream_next + i: it has come, or shall be sent again */
    uint8_t stream_quiet;   /* nothing came for a while */

    /* A run in progress. */
    const tigris_serve_model *running;
    tigris_yield_hook yield;
    void *yield_context;
    const tigris_session *rows_session; /* whose streamed rows travel */
    uint64_t elapsed;
    uint32_t resumed;   /* counter when the network went on */
    uint32_t told_busy; /* counter at the last sign of life */
    uint32_t yields;
} tigris_serve;

/* All pointers stay in use; `models` has `model_count` entries. */
void tigris_serve_init(tigris_serve *server, const tigris_serve_transport *transport, const tigris_serve_board *board,
                       const tigris_serve_model *models, uint32_t model_count);

/* Handles what has arrived, at most one request or one frame of a stream; returns 1 when it did, else 0. A RUN is done
 * within the call. During it the session's yield hook still is called, its profile hook is not; during a TRACE its trace and
 * counter hooks are not either. While a stream is on
 * and nothing arrives, the call reads on for 0.1 s, or 65536 times where the counter is no measure of time, before it
 * returns 0: a caller that sleeps then, and not after 1, loses no byte of a stream. */
int tigris_serve_poll(tigris_serve *server);

#ifdef __cplusplus
}
#endif

#endif
