/* What the server's parts share: a request that was accepted, and how it is answered. */
#ifndef TIGRIS_SERVE_REQUESTS_H
#define TIGRIS_SERVE_REQUESTS_H

#include "tigris_serve.h"

/* A request about a model. Its record is a tigris_serve_range, or the beginning of one: a tigris_serve_select, whose
 * direction stands where a range has a reserved byte. */
typedef struct tigris_serve_asked {
    tigris_serve_range range;
    const uint8_t *data; /* what follows the record, in server->frame */
    uint32_t data_bytes;
} tigris_serve_asked;

#define TIGRIS_SERVE_ASKED_DIRECTION(asked) ((asked)->range.reserved)

void tigris_serve_respond(tigris_serve *server, const void *payload, uint32_t bytes);
void tigris_serve_refuse(tigris_serve *server, tigris_serve_refusal refusal);

/* Refuses a frame that is not the session's next request, which says nothing about the session. */
void tigris_serve_refuse_aside(const tigris_serve *server, const tigris_serve_header *header,
                               tigris_serve_refusal refusal);

/* The sequence number in a header, and the one that follows another. */
uint32_t tigris_serve_sequence(const tigris_serve_header *header);
uint32_t tigris_serve_next_sequence(uint32_t sequence);

/* Copies as much of a string as fits with its final zero; `to` is zeroed already. */
void tigris_serve_copy_text(char *to, const char *from, size_t bytes);

/* The board's counter; 0 when it has none. */
uint32_t tigris_serve_count(const tigris_serve *server);

/* The plan of a model that was opened, and its session if it can run; NULL otherwise. */
const tigris_plan *tigris_serve_plan(const tigris_serve_model *model);
tigris_session *tigris_serve_session(const tigris_serve_model *model);

/* Begins work that takes long: the first sign of life. tigris_serve_go_on sends the next ones when they are due, calls the
 * session's own yield hook, and returns 1 when that or the host asks to stop. */
void tigris_serve_start_work(tigris_serve *server, const tigris_session *session);
int tigris_serve_go_on(tigris_serve *server);

/* What arrives during work: nothing more, a request to stop, or a frame that moves rows of the run, whose header is then
 * in `header` and whose payload lies in server->frame. Another host is told that it must wait. */
typedef enum tigris_serve_heard {
    TIGRIS_SERVE_HEARD_NOTHING,
    TIGRIS_SERVE_HEARD_STOP,
    TIGRIS_SERVE_HEARD_ROWS
} tigris_serve_heard;
tigris_serve_heard tigris_serve_hear(tigris_serve *server, tigris_serve_header *header);

/* Adds the time since the network went on to that of the run. */
void tigris_serve_stop_clock(tigris_serve *server);

/* tigris_run, with rows of what is streamed from the host and to it; the session's own hooks come back afterwards. */
tigris_status tigris_serve_run_session(tigris_serve *server, tigris_session *session);

/* Is [first, first + count) inside the `bytes` bytes at `memory`, NULL if there is no such tensor? Has the model outputs
 * of its last run, with the inputs written since? Both refuse the request when not. */
int tigris_serve_inside(tigris_serve *server, const void *memory, uint32_t bytes, const tigris_serve_range *range);
int tigris_serve_has_output(tigris_serve *server, const tigris_serve_model *model);

/* Streams. A frame that came, whose payload lies in server->frame; and the next frame of an output that the host waits
 * for: returns 0 when there is none to be sent. A stream is waited for until its end or until it was quiet for a while. */
void tigris_serve_stream_take(tigris_serve *server, const tigris_serve_header *header, const uint8_t *payload);
int tigris_serve_stream_give(tigris_serve *server);
int tigris_serve_stream_is_awaited(const tigris_serve *server);
/* What request ROWS is about: 0 the output of the last call that was traced, i + 1 operand i. NULL: it was refused. */
const tigris_serve_rows *tigris_serve_find_rows(tigris_serve *server, const tigris_serve_model *model, uint32_t index);

/* Nothing that a run left can be read any more. */
void tigris_serve_forget(tigris_serve *server);

/* What a run is computed from, so that the host can tell that it is what it wrote. */
uint32_t tigris_serve_inputs_crc32(const tigris_session *session);

/* The requests. */
typedef void tigris_serve_handler(tigris_serve *server, const tigris_serve_model *model,
                                  const tigris_serve_asked *asked);
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
tigris_serve_handler tigris_serve_stream_request;
tigris_serve_handler tigris_serve_trace_request;
tigris_serve_handler tigris_serve_rows_request;

#endif
