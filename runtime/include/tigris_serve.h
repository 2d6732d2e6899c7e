/* The board's side of the serial harness: any firmware can serve it from its loop.
 *
 *     static const tigris_serve_transport uart = {uart_read, uart_write, NULL};
 *     static const tigris_serve_board board = {"my board", cycles, NULL, 240000000U, "cycles", 0U};
 *     static tigris_serve_counts profile[TIGRIS_MODEL_DIGITS_OPS];
 *     static tigris_serve server;
 *
 *     const tigris_serve_model models[] = {{.plan = &plan, .session = &session, .status = status, .arenas = &arenas,
 *                                           .profile = profile, .profile_count = TIGRIS_MODEL_DIGITS_OPS}};
 *     tigris_serve_init(&server, &uart, &board, models, 1U);
 *     for (;;)
 *         if (!tigris_serve_poll(&server))
 *             sleep_until_something_arrives();
 *
 * The transport must carry all 256 byte values as they are: no newline translation, no echo, no XON/XOFF.
 * The host skips text that the firmware prints between answers. docs/protocol.md describes the messages.
 * No heap, no globals. Received bytes are hostile input: they are never written outside the server's buffers
 * and the models' inputs. */
#ifndef TIGRIS_SERVE_H
#define TIGRIS_SERVE_H

#include "tigris.h"
#include "tigris_protocol.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Largest payload of a request in bytes, at least TIGRIS_SERVE_LEAST_PAYLOAD, at most 65519. The host sends one frame
 * (payload and 15 bytes, 1 more for each 254) and waits for the answer. So a frame must fit the transport's receive
 * buffer: a UART's FIFO holds 128 bytes. */
#ifndef TIGRIS_SERVE_PAYLOAD
#define TIGRIS_SERVE_PAYLOAD TIGRIS_SERVE_LEAST_PAYLOAD
#endif
TIGRIS_STATIC_ASSERT(TIGRIS_SERVE_PAYLOAD >= TIGRIS_SERVE_LEAST_PAYLOAD && TIGRIS_SERVE_PAYLOAD <= 65519,
                     tigris_serve_payload);

/* Most data bytes of a transfer's frame; 17 bytes go with them on the line, 1 more for each 254. Raise it for speed.
 * It may exceed the transport's receive buffer, because the server keeps reading during a transfer. */
#ifndef TIGRIS_SERVE_TRANSFER
#define TIGRIS_SERVE_TRANSFER 240U
#endif
TIGRIS_STATIC_ASSERT(TIGRIS_SERVE_TRANSFER >= 16 && TIGRIS_SERVE_TRANSFER <= 65517, tigris_serve_transfer_data);

/* Bytes of the longest response, of the longest DATA frame, and of the longest received frame, before COBS. */
#define TIGRIS_SERVE_REPLY (8U + TIGRIS_SERVE_PAYLOAD + TIGRIS_SERVE_CHECKSUM_BYTES)
#define TIGRIS_SERVE_DATA_FRAME (8U + 2U + TIGRIS_SERVE_TRANSFER + TIGRIS_SERVE_CHECKSUM_BYTES)
#define TIGRIS_SERVE_FRAME (TIGRIS_SERVE_REPLY > TIGRIS_SERVE_DATA_FRAME ? TIGRIS_SERVE_REPLY : TIGRIS_SERVE_DATA_FRAME)

/* The serial line. Both functions get `context`. */
typedef struct tigris_serve_transport {
    /* Moves up to `bytes` received bytes to `data`; returns how many, 0 if none wait. Never blocks. */
    size_t (*read)(void *context, uint8_t *data, size_t bytes);
    /* Sends `bytes` bytes, at most 128; may block while the line is slow. A frame may take several calls. */
    void (*write)(void *context, const uint8_t *data, size_t bytes);
    void *context;
} tigris_serve_transport;

/* The board's description for the host. Strings are truncated: the name to 31 bytes, the unit to 15. */
typedef struct tigris_serve_board {
    const char *name;
    tigris_counter_hook counter; /* NULL: runs are not measured */
    void *counter_context;
    uint32_t counter_hz;      /* counts per second; 0: unknown, or no measure of time */
    const char *counter_unit; /* "cycles", "instructions", "ns"; NULL: "" */
    uint32_t busy_counts;     /* counts between two BUSY frames during a run; 0, or no counter: one at every yield */
} tigris_serve_board;

/* Storage for one operator's measurements. */
typedef struct tigris_serve_counts {
    uint64_t elapsed;
    uint32_t calls;
} tigris_serve_counts;

/* One model. Serve a model that could not be opened too, so that the host can say why. Such a model has its status,
 * and plan and session as the failure left them, or NULL. */
typedef struct tigris_serve_model {
    const tigris_plan *plan;
    tigris_session *session;     /* zeroed, as a static one is, if tigris_session_init was not called */
    tigris_status status;        /* of the first failure, else TIGRIS_OK */
    const tigris_arenas *arenas; /* given to the session, for the host's report; NULL: none */
    tigris_serve_counts *profile; /* profile_count entries, one for each operator; NULL: no profile */
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
    uint32_t output_run;   /* that model's run count then; the outputs are stale if the firmware has run it since */
    uint32_t rows_model;   /* whose `rows` are valid; model_count: none */
    tigris_serve_rows rows[TIGRIS_MAX_OPERANDS + 1U]; /* of the last traced call's output, then its operands */

    /* Receiving: COBS is decoded byte by byte into frame. */
    uint8_t chunk[32];
    uint32_t chunk_at;
    uint32_t chunk_bytes;
    uint32_t frame_bytes;
    uint32_t block_left; /* bytes until the next COBS code */
    uint8_t block_code;  /* code of the block being read; 0: none yet */
    uint8_t damaged;
    uint8_t frame[TIGRIS_SERVE_FRAME];

    /* The current connection, and the one that the last HELLO was offered. */
    uint16_t connection;
    uint8_t is_connected; /* connection is valid */
    uint8_t has_offer;    /* nonce, hello_connection and hello_sequence are valid */
    uint16_t nonce;
    uint16_t hello_connection;
    uint32_t hello_sequence;
    uint32_t sequence; /* of the last accepted request */

    /* Sending. The last response stays, for a repetition of its request. */
    tigris_serve_header request; /* the current or last request */
    uint32_t request_crc;
    uint32_t reply_bytes;
    uint8_t reply[TIGRIS_SERVE_REPLY];

    /* The transfer that the last request opened: an input has a sink, an output has a source. */
    uint8_t *sink;
    const uint8_t *source;
    uint32_t transfer_bytes;  /* in all */
    uint16_t frame_data;      /* bytes of each frame but the last */
    uint16_t transfer_frames; /* 0: no transfer, or it is done */
    uint16_t transfer_next;   /* all frames before this one have arrived; transfer_frames: all have */
    uint16_t transfer_sent;   /* of an output: all frames before this one were sent */
    uint32_t transfer_bits;   /* bit i is frame transfer_next + i: it has arrived, or must be sent again */
    uint8_t transfer_quiet;   /* the line was quiet for a while */

    /* A run in progress. */
    const tigris_serve_model *running;
    tigris_yield_hook yield;
    void *yield_context;
    const tigris_session *rows_session; /* the session with the streamed rows */
    uint64_t elapsed;
    uint32_t resumed;   /* counter when the run last resumed */
    uint32_t last_busy; /* counter at the last BUSY */
    uint32_t yields;
} tigris_serve;

/* `models` has `model_count` entries. All pointers must stay valid while the server is used. */
void tigris_serve_init(tigris_serve *server, const tigris_serve_transport *transport, const tigris_serve_board *board,
                       const tigris_serve_model *models, uint32_t model_count);

/* Handles at most one request or one frame of a transfer; returns 1 if it did, else 0. A RUN is done within the
 * call. During it the session's yield hook is called, its profile hook is not; during TRACE its trace and counter
 * hooks are not either. During a transfer without new bytes, the call keeps reading for 0.1 s before it returns 0,
 * or 65536 times if the counter measures no time. A caller that sleeps after 0, and never after 1, loses no byte of
 * a transfer. */
int tigris_serve_poll(tigris_serve *server);

#ifdef __cplusplus
}
#endif

#endif
