/* Messages of the serial harness, generated from tigris_pio/hil/protocol.py by
 * python -m tigris_pio.hil.c_header. Do not edit. Little-endian; docs/protocol.md describes them. */
#ifndef TIGRIS_PROTOCOL_H
#define TIGRIS_PROTOCOL_H

#include "tigris_format.h"

#define TIGRIS_SERVE_PROTOCOL 3U
#define TIGRIS_SERVE_LEAST_PAYLOAD 112U
#define TIGRIS_SERVE_CHECKSUM_BYTES 4U
#define TIGRIS_SERVE_RESPONSE_BIT 0x80U
#define TIGRIS_SERVE_SEQUENCES 0x1000000U
#define TIGRIS_SERVE_IN_FLIGHT 32U
#define TIGRIS_SERVE_MOST_TRANSFER_FRAMES 65535U

/* Types of the frames that the host sends. */
typedef enum tigris_serve_request {
    /* asks for a connection; tigris_serve_hello_request, answered by tigris_serve_hello */
    TIGRIS_SERVE_REQUEST_HELLO = 1,
    /* describes a model; tigris_serve_select, answered by tigris_serve_info */
    TIGRIS_SERVE_REQUEST_INFO = 2,
    /* describes an input or output; tigris_serve_select, answered by tigris_serve_tensor */
    TIGRIS_SERVE_REQUEST_TENSOR = 3,
    /* tigris_serve_range and that many bytes for an input; the response is empty */
    TIGRIS_SERVE_REQUEST_WRITE = 4,
    /* one inference; tigris_serve_select, answered by tigris_serve_result */
    TIGRIS_SERVE_REQUEST_RUN = 5,
    /* tigris_serve_range; answered by that many bytes of an output */
    TIGRIS_SERVE_REQUEST_READ = 6,
    /* CRC-32 of an output; tigris_serve_select, answered by tigris_serve_checksum */
    TIGRIS_SERVE_REQUEST_CHECKSUM = 7,
    /* tigris_serve_range, in operators; answered by as many tigris_serve_profile as fit */
    TIGRIS_SERVE_REQUEST_PROFILE = 8,
    /* checks the plan's CRC-32; tigris_serve_select, answered by tigris_serve_checksum */
    TIGRIS_SERVE_REQUEST_PLAN_CHECK = 9,
    /* tigris_serve_status; answered by a sentence, UTF-8 without a final zero */
    TIGRIS_SERVE_REQUEST_STATUS_TEXT = 10,
    /* stops a run, which then ends with TIGRIS_ERR_CANCELLED; without a run the response is empty */
    TIGRIS_SERVE_REQUEST_CANCEL = 11,
    /* where a model was refused or a run failed; tigris_serve_select, answered by
     * tigris_serve_fault */
    TIGRIS_SERVE_REQUEST_FAULT = 12,
    /* gives all states their first values; tigris_serve_select, answered by tigris_serve_status */
    TIGRIS_SERVE_REQUEST_RESET = 13,
    /* opens a transfer of an input or output; tigris_serve_transfer, answered by
     * tigris_serve_checksum */
    TIGRIS_SERVE_REQUEST_TRANSFER = 14,
    /* a run that stops after a kernel call; tigris_serve_range, answered by tigris_serve_trace */
    TIGRIS_SERVE_REQUEST_TRACE = 15,
    /* tigris_serve_range; answered by that many bytes of rows that the last call of TRACE made or
     * read */
    TIGRIS_SERVE_REQUEST_ROWS = 16
} tigris_serve_request;

/* Types of a transfer's frames. They carry the connection and sequence number of the TRANSFER that
 * opened it. */
typedef enum tigris_serve_transfer_frame {
    /* u16 number of the frame and its bytes: to the board for an input, to the host for an output */
    TIGRIS_SERVE_TRANSFER_FRAME_DATA = 241,
    /* to the host, of an input: tigris_serve_progress, whose bits are the frames that have arrived */
    TIGRIS_SERVE_TRANSFER_FRAME_ACK = 242,
    /* to the board, of an output: tigris_serve_progress, whose bits are the frames to send again */
    TIGRIS_SERVE_TRANSFER_FRAME_CREDIT = 243
} tigris_serve_transfer_frame;

/* Types of the frames that move rows of streamed inputs and outputs during a run. They come in
 * pairs. The board repeats the first until the second arrives. They carry the connection and
 * sequence number of the RUN or TRACE, and begin with tigris_serve_moved. */
typedef enum tigris_serve_rows_frame {
    /* to the host: the run waits for these bytes of an input */
    TIGRIS_SERVE_ROWS_FRAME_WANT = 244,
    /* to the board: the same record, then the bytes */
    TIGRIS_SERVE_ROWS_FRAME_GIVE = 245,
    /* to the host: the run has made these bytes of an output, which follow */
    TIGRIS_SERVE_ROWS_FRAME_MADE = 246,
    /* to the board: the same record, without the bytes */
    TIGRIS_SERVE_ROWS_FRAME_TOOK = 247
} tigris_serve_rows_frame;

/* Types of the frames that the board sends besides responses. */
typedef enum tigris_serve_answer {
    /* tigris_serve_busy: the board still works on the request */
    TIGRIS_SERVE_ANSWER_BUSY = 240,
    /* tigris_serve_error: the request was refused */
    TIGRIS_SERVE_ANSWER_ERROR = 255
} tigris_serve_answer;

/* Why the board refused a request. */
typedef enum tigris_serve_refusal {
    /* unknown type */
    TIGRIS_SERVE_REFUSAL_REQUEST = 1,
    /* the payload is shorter or longer than the request's */
    TIGRIS_SERVE_REFUSAL_LENGTH = 2,
    /* not the connection that the last HELLO opened: the board restarted, or serves another host */
    TIGRIS_SERVE_REFUSAL_CONNECTION = 3,
    /* no model of this index */
    TIGRIS_SERVE_REFUSAL_MODEL = 4,
    /* no input or output of this index */
    TIGRIS_SERVE_REFUSAL_TENSOR = 5,
    /* offset and bytes reach outside the tensor, or outside one frame */
    TIGRIS_SERVE_REFUSAL_RANGE = 6,
    /* the model cannot run; its INFO has the status */
    TIGRIS_SERVE_REFUSAL_NOT_READY = 7,
    /* no run has succeeded since inputs were written, or the firmware has run the model since */
    TIGRIS_SERVE_REFUSAL_NO_OUTPUT = 8,
    /* a late duplicate: neither the last request again nor the next sequence number */
    TIGRIS_SERVE_REFUSAL_SEQUENCE = 9,
    /* a HELLO while the board runs a model for another host */
    TIGRIS_SERVE_REFUSAL_BUSY = 10,
    /* no TRACE since the last write or run */
    TIGRIS_SERVE_REFUSAL_NO_CALL = 11
} tigris_serve_refusal;

/* Which of a model's tensors a request concerns. */
typedef enum tigris_serve_direction {
    TIGRIS_SERVE_DIRECTION_INPUT = 0,
    TIGRIS_SERVE_DIRECTION_OUTPUT = 1,
    /* TRANSFER only: the rows that request ROWS reads */
    TIGRIS_SERVE_DIRECTION_ROWS = 2
} tigris_serve_direction;

/* Options of a run, in tigris_serve_select.index. */
typedef enum tigris_serve_run_flag {
    /* the per-operator counters start from zero */
    TIGRIS_SERVE_RUN_FLAG_CLEAR_PROFILE = 1
} tigris_serve_run_flag;

/* First bytes of every frame. */
typedef struct tigris_serve_header {
    /* tigris_serve_request, the same with the response bit, or tigris_serve_answer */
    uint8_t type;
    /* the host counts its requests; an answer repeats its request's */
    uint8_t sequence;
    /* HELLO: any number; else that number xor the nonce of HELLO's response. An answer repeats it */
    uint16_t connection;
    /* bytes of payload */
    uint16_t length;
    /* upper 16 bits of the sequence number; an answer repeats them */
    uint16_t sequence_high;
} tigris_serve_header;
TIGRIS_STATIC_ASSERT(sizeof(tigris_serve_header) == 8U, tigris_serve_header_size);

/* Request HELLO. */
typedef struct tigris_serve_hello_request {
    /* protocol version of the host */
    uint16_t protocol;
    /* 0 */
    uint16_t reserved;
} tigris_serve_hello_request;
TIGRIS_STATIC_ASSERT(sizeof(tigris_serve_hello_request) == 4U, tigris_serve_hello_request_size);

/* Response to HELLO. Its first two fields have the same place in every protocol version. */
typedef struct tigris_serve_hello {
    /* protocol version of the board */
    uint16_t protocol;
    /* largest payload the board receives and sends */
    uint16_t payload_bytes;
    /* version of the plans it reads */
    uint16_t format_version;
    /* models it serves */
    uint16_t model_count;
    /* counts per second; 0: unknown, or no measure of time */
    uint32_t counter_hz;
    /* unit of the counter: cycles, instructions, ns; empty: no counter */
    char counter_unit[16];
    /* name of the board */
    char board[32];
    /* xor the number in HELLO's header: the connection, which the next request in it opens */
    uint16_t nonce;
    /* most data bytes of a transfer's frame */
    uint16_t transfer_bytes;
    /* BUSY comes at the first yield after this time; 0: at every yield, or not known */
    uint32_t busy_ms;
} tigris_serve_hello;
TIGRIS_STATIC_ASSERT(sizeof(tigris_serve_hello) == 68U, tigris_serve_hello_size);

/* Request about a model, or one of its tensors. */
typedef struct tigris_serve_select {
    /* index of the model */
    uint8_t model;
    /* tigris_serve_direction */
    uint8_t direction;
    /* index of the tensor; flags of RUN */
    uint16_t index;
} tigris_serve_select;
TIGRIS_STATIC_ASSERT(sizeof(tigris_serve_select) == 4U, tigris_serve_select_size);

/* Request about a part of a tensor, of the profile or of a run's kernel calls. ROWS: index 0 is the
 * output of the last call of TRACE, i + 1 its operand i; first and count are bytes. TRACE: the
 * board takes a checksum after first kernel calls and after each count more, at most 11. After
 * index checksums the run stops, after the operator of that call; 0: it runs to its end. */
typedef struct tigris_serve_range {
    /* index of the model */
    uint8_t model;
    /* 0 */
    uint8_t reserved;
    /* index of the input (WRITE) or output (READ); see above */
    uint16_t index;
    /* first byte; first operator; kernel calls */
    uint32_t first;
    /* bytes; operators; kernel calls */
    uint32_t count;
} tigris_serve_range;
TIGRIS_STATIC_ASSERT(sizeof(tigris_serve_range) == 12U, tigris_serve_range_size);

/* Request TRANSFER. It begins like tigris_serve_range. */
typedef struct tigris_serve_transfer {
    /* index of the model */
    uint8_t model;
    /* tigris_serve_direction */
    uint8_t direction;
    /* index of the input or output; for direction ROWS as in request ROWS */
    uint16_t index;
    /* first byte */
    uint32_t first;
    /* bytes */
    uint32_t count;
    /* data bytes of each frame but the last: 1 to HELLO's transfer_bytes */
    uint16_t frame_bytes;
    /* 0 */
    uint16_t reserved;
} tigris_serve_transfer;
TIGRIS_STATIC_ASSERT(sizeof(tigris_serve_transfer) == 16U, tigris_serve_transfer_size);

/* Payload of ACK and CREDIT. */
typedef struct tigris_serve_progress {
    /* all frames before this number have arrived; the number of frames: the transfer is done */
    uint16_t next;
    /* 0 */
    uint16_t reserved;
    /* bit i is frame next + i: it has arrived (ACK), or must be sent again (CREDIT) */
    uint32_t bits;
} tigris_serve_progress;
TIGRIS_STATIC_ASSERT(sizeof(tigris_serve_progress) == 8U, tigris_serve_progress_size);

/* Response to INFO. */
typedef struct tigris_serve_info {
    /* tigris_status of opening the plan and its session; the rest is 0 without a plan */
    int32_t status;
    /* size of the plan */
    uint32_t plan_bytes;
    /* checksum in its header */
    uint32_t plan_crc32;
    /* bytes of fast arena that the plan needs, with scratch that the kernel library lacks now */
    uint32_t fast_needed;
    /* bytes of fast arena that the firmware provides */
    uint32_t fast_given;
    /* bytes of slow arena that the plan needs */
    uint32_t slow_needed;
    /* bytes of slow arena that the firmware provides */
    uint32_t slow_given;
    /* model inputs */
    uint16_t input_count;
    /* model outputs */
    uint16_t output_count;
    /* SHA-256 of the plan's source model, with its data files */
    uint8_t source_sha256[32];
    /* model name */
    char name[48];
} tigris_serve_info;
TIGRIS_STATIC_ASSERT(sizeof(tigris_serve_info) == 112U, tigris_serve_info_size);

/* Response to TENSOR. */
typedef struct tigris_serve_tensor {
    /* its size */
    uint32_t stored_bytes;
    /* tigris_dtype as stored */
    uint8_t dtype;
    /* 0 */
    uint8_t reserved[3];
    /* its name, truncated to this field */
    char name[48];
} tigris_serve_tensor;
TIGRIS_STATIC_ASSERT(sizeof(tigris_serve_tensor) == 56U, tigris_serve_tensor_size);

/* Response to RUN. */
typedef struct tigris_serve_result {
    /* tigris_status of tigris_run */
    int32_t status;
    /* counts spent in tigris_run outside the yield hook, low word first */
    uint32_t elapsed[2];
    /* tigris_usage */
    uint32_t fast_peak;
    /* tigris_usage */
    uint32_t slow_peak;
    /* tigris_usage */
    uint32_t slow_read;
    /* tigris_usage */
    uint32_t slow_written;
    /* of the inputs as the run found them, one after another */
    uint32_t inputs_crc32;
} tigris_serve_result;
TIGRIS_STATIC_ASSERT(sizeof(tigris_serve_result) == 32U, tigris_serve_result_size);

/* Response to TRACE. A kernel call makes some rows of one image of an operator's output. The
 * checksum of several calls is one CRC-32. Each call adds op, image, first, rows and the CRC-32 of
 * each operand's rows before the call, 32 bits each, then the rows that it made. */
typedef struct tigris_serve_trace {
    /* tigris_status of tigris_run; TIGRIS_ERR_CANCELLED: it was stopped, and states are as before */
    int32_t status;
    /* of the inputs as the run found them, one after another */
    uint32_t inputs_crc32;
    /* kernel calls observed, up to the one after which the run stopped; the rest describes the last */
    uint32_t calls;
    /* operator */
    uint32_t op;
    /* image of the batch */
    uint32_t image;
    /* first row of that image that it made */
    uint32_t first;
    /* rows that it made; of all images if one call takes the whole batch */
    uint32_t rows;
    /* checksum of all calls observed */
    uint32_t crc32;
    /* CRC-32 of each operand's rows before the call; unused entries 0 */
    uint32_t operands[8];
    /* checksums of the calls at the requested places; unused entries 0 */
    uint32_t checksums[11];
} tigris_serve_trace;
TIGRIS_STATIC_ASSERT(sizeof(tigris_serve_trace) == 108U, tigris_serve_trace_size);

/* Response to CHECKSUM, PLAN_CHECK and TRANSFER. */
typedef struct tigris_serve_checksum {
    /* tigris_status of tigris_plan_check_crc; 0 for an output or a transfer */
    int32_t status;
    /* of the output; of the plan's header; of the transferred bytes, 0 for an input */
    uint32_t crc32;
} tigris_serve_checksum;
TIGRIS_STATIC_ASSERT(sizeof(tigris_serve_checksum) == 8U, tigris_serve_checksum_size);

/* One operator's share of the runs since the profile was cleared. */
typedef struct tigris_serve_profile {
    /* kernel calls: one for each band and image */
    uint32_t calls;
    /* counts spent in them, low word first */
    uint32_t elapsed[2];
} tigris_serve_profile;
TIGRIS_STATIC_ASSERT(sizeof(tigris_serve_profile) == 12U, tigris_serve_profile_size);

/* Request STATUS_TEXT, and response to RESET. */
typedef struct tigris_serve_status {
    /* tigris_status */
    int32_t status;
} tigris_serve_status;
TIGRIS_STATIC_ASSERT(sizeof(tigris_serve_status) == 4U, tigris_serve_status_size);

/* Payload of BUSY. */
typedef struct tigris_serve_busy {
    /* times the run reached its yield hook */
    uint32_t yields;
} tigris_serve_busy;
TIGRIS_STATIC_ASSERT(sizeof(tigris_serve_busy) == 4U, tigris_serve_busy_size);

/* Beginning of the payload of the frames that move rows. */
typedef struct tigris_serve_moved {
    /* index of the input, or of the output */
    uint32_t index;
    /* first byte in it */
    uint32_t first;
    /* number of bytes */
    uint32_t bytes;
} tigris_serve_moved;
TIGRIS_STATIC_ASSERT(sizeof(tigris_serve_moved) == 12U, tigris_serve_moved_size);

/* Response to FAULT: indices in the plan, 0xFFFFFFFF for none. */
typedef struct tigris_serve_fault {
    /* tigris_status of the refusal; 0: nothing was refused */
    int32_t status;
    /* stage */
    uint32_t stage;
    /* operator */
    uint32_t op;
    /* tensor */
    uint32_t tensor;
    /* name of the operator, else of the tensor, truncated; empty: not known */
    char name[96];
} tigris_serve_fault;
TIGRIS_STATIC_ASSERT(sizeof(tigris_serve_fault) == 112U, tigris_serve_fault_size);

/* Payload of ERROR. */
typedef struct tigris_serve_error {
    /* tigris_serve_refusal */
    uint32_t refusal;
} tigris_serve_error;
TIGRIS_STATIC_ASSERT(sizeof(tigris_serve_error) == 4U, tigris_serve_error_size);

#endif
