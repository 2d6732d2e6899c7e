/* The kernel calls of a run in their order, with checksums of the rows that each read and wrote. The plan determines
 * the order, so board and host can be compared call by call. */
#ifndef TIGRIS_SERVE_CALLS_H
#define TIGRIS_SERVE_CALLS_H

#include "tigris.h"

/* One kernel call: operator `op` of the plan made rows [first, first + rows) of image `image` of its output. */
typedef struct tigris_call {
    uint32_t op;
    uint32_t image;
    uint32_t first;
    uint32_t rows;
    uint32_t operand_count;
    uint32_t operands[TIGRIS_MAX_OPERANDS]; /* CRC-32 of each operand's rows before the call */
    uint32_t crc32; /* of all calls so far: of each op, image, first, rows and operands, 32 bits each, then its rows */
} tigris_call;

/* Called after each kernel call. `bands` are its operands' rows, then its output's, as the call left them. A result
 * other than 0 ends the observation. */
typedef int (*tigris_call_hook)(void *context, const tigris_call *call, const tigris_band *bands);

/* All state. Members are private. */
typedef struct tigris_call_trace {
    tigris_session *session;
    tigris_call_hook hook;
    void *context;
    tigris_call call;
    int is_inside; /* between the two readings of the counter */
    int is_done;
    tigris_hooks before; /* the session's */
} tigris_call_trace;

/* Replaces the session's counter, profile and trace hooks. tigris_stop_call_trace restores all hooks of before. */
void tigris_start_call_trace(tigris_call_trace *calls, tigris_session *session, tigris_call_hook hook, void *context);
void tigris_stop_call_trace(tigris_call_trace *calls);

/* Rows of operand `index`; index operand_count is the output. If an operator reads its own output of earlier calls,
 * only rows above those that this call makes count. */
uint32_t tigris_call_rows(const tigris_call *call, const tigris_band *bands, uint32_t index);

/* Bytes of these rows. */
uint32_t tigris_call_bytes(const tigris_call *call, const tigris_band *bands, uint32_t index);

#endif
