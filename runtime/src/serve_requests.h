/* The interface between the server's files: accepted requests, their handlers, and responses. */
#ifndef TIGRIS_SERVE_REQUESTS_H
#define TIGRIS_SERVE_REQUESTS_H

#include "tigris_serve.h"

/* A request about a model. Its record is a tigris_serve_range or a tigris_serve_select. A select is the beginning of a
 * range, with the direction in the range's reserved byte. */
typedef struct tigris_serve_query {
    tigris_serve_range range;
    const uint8_t *data; /* the bytes after the record, in server->frame */
    uint32_t data_bytes;
} tigris_serve_query;

#define TIGRIS_SERVE_QUERY_DIRECTION(query) ((query)->range.reserved)

/* Each handler calls one of these once. */
void tigris_serve_respond(tigris_serve *server, const void *payload, uint32_t bytes);
void tigris_serve_refuse(tigris_serve *server, tigris_serve_refusal refusal);

/* Refuses a frame that is not the connection's next request. The connection and the stored response stay. */
void tigris_serve_refuse_frame(const tigris_serve *server, const tigris_serve_header *header,
                               tigris_serve_refusal refusal);

/* The 24-bit sequence number in a header, and the number after `sequence`. */
uint32_t tigris_serve_sequence(const tigris_serve_header *header);
uint32_t tigris_serve_next_sequence(uint32_t sequence);

/* Copies a string, truncated to `bytes` with its final zero. `to` must be zeroed; `from` may be NULL. */
void tigris_serve_copy_text(char *to, const char *from, size_t bytes);

/* The board's counter; 0 if it has none. */
uint32_t tigris_serve_count(const tigris_serve *server);

/* The model's plan if it was opened, and its session if it can run; else NULL. */
const tigris_plan *tigris_serve_plan(const tigris_serve_model *model);
tigris_session *tigris_serve_session(const tigris_serve_model *model);

/* Starts a request that takes long: sends the first BUSY. Then tigris_serve_yield sends BUSY when due, calls the
 * session's own yield hook, and returns 1 if the hook or the host requests a stop. */
void tigris_serve_start_work(tigris_serve *server, const tigris_session *session);
int tigris_serve_yield(tigris_serve *server);

/* Receives frames while a request runs, and refuses another host's HELLO as BUSY. Returns EVENT_NONE if no more frames
 * have arrived, EVENT_STOP for CANCEL, EVENT_ROWS for a frame with rows of the run: header in `header`, payload in
 * server->frame. */
typedef enum tigris_serve_event {
    TIGRIS_SERVE_EVENT_NONE,
    TIGRIS_SERVE_EVENT_STOP,
    TIGRIS_SERVE_EVENT_ROWS
} tigris_serve_event;
tigris_serve_event tigris_serve_receive_while_busy(tigris_serve *server, tigris_serve_header *header);

/* Adds the time since server->resumed to the run's time. */
void tigris_serve_stop_clock(tigris_serve *server);

/* Calls tigris_run; rows of streamed inputs come from the host, rows of streamed outputs go to it. Restores the
 * session's own row hooks. */
tigris_status tigris_serve_run_session(tigris_serve *server, tigris_session *session);

/* True if [first, first + count) is inside the `bytes` bytes at `memory`; NULL means that there is no such tensor. Else
 * refuses the request. */
int tigris_serve_inside(tigris_serve *server, const void *memory, uint32_t bytes, const tigris_serve_range *range);

/* True if the model has outputs of a run that the host requested, and no input was written since. Else refuses. */
int tigris_serve_has_output(tigris_serve *server, const tigris_serve_model *model);

/* Transfers. `receive` handles a frame of the host, with its payload in server->frame. `send` sends the next frame
 * of an output; it returns 0 if no frame is due. `is_expected`: more frames must arrive, and the line was not quiet
 * for long. */
void tigris_serve_transfer_receive(tigris_serve *server, const tigris_serve_header *header, const uint8_t *payload);
int tigris_serve_transfer_send(tigris_serve *server);
int tigris_serve_transfer_is_expected(const tigris_serve *server);

/* The rows that request ROWS reads: index 0 is the output of the last traced call, i + 1 its operand i. NULL:
 * refused. */
const tigris_serve_rows *tigris_serve_find_rows(tigris_serve *server, const tigris_serve_model *model, uint32_t index);

/* Makes the outputs and the traced rows of all models unreadable. */
void tigris_serve_invalidate_outputs(tigris_serve *server);

/* CRC-32 of all inputs, one after another. The host compares it with the inputs that it wrote. */
uint32_t tigris_serve_inputs_crc32(const tigris_session *session);

/* The requests. */
typedef void tigris_serve_handler(tigris_serve *server, const tigris_serve_model *model,
                                  const tigris_serve_query *query);
tigris_serve_handler tigris_serve_info_request;
tigris_serve_handler tigris_serve_tensor_request;
tigris_serve_handler tigris_serve_write_request;
tigris_serve_handler tigris_serve_read_request;
tigris_serve_handler tigris_serve_checksum_request;
tigris_serve_handler tigris_serve_profile_request;
tigris_serve_handler tigris_serve_plan_check_request;
tigris_serve_handler tigris_serve_run_request;
tigris_serve_handler tigris_serve_fault_request;
tigris_serve_handler tigris_serve_reset_request;
tigris_serve_handler tigris_serve_transfer_request;
tigris_serve_handler tigris_serve_trace_request;
tigris_serve_handler tigris_serve_rows_request;

#endif
