/* The kernel calls of a run in their order, with checksums of what each read and wrote. The order is the plan's, so it is
 * the same on any machine; the host's library does the same, so that both can be compared call by call. */
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
    uint32_t operands[TIGRIS_MAX_OPERANDS]; /* CRC-32 of the rows of each, as they were before the call */
    uint32_t crc32; /* of all calls up to this: of each op, image, first, rows and operands, 32 bits each, then its rows */
} tigris_call;

/* Called after each kernel call. `bands`: its operands' rows and, behind them, its output's, as the call left them. A
 * result other than 0: no more calls are looked at. */
typedef int (*tigris_call_hook)(void *context, const tigris_call *call, const tigris_band *bands);

/* All state. Members are private. */
typedef struct tigris_call_trace {
    tigris_session *session;
    tigris_call_hook hook;
    void *context;
    tigris_call call;
    int is_inside; /* between the two looks at the counter */
    int is_done;
    tigris_counter_hook counter;
    tigris_profile_hook profile;
    void *profile_context;
    tigris_trace_hook trace;
    void *trace_context;
} tigris_call_trace;

/* Takes the session's counter, profile and trace hooks until tigris_end_calls puts them back. Its yield hook stays. */
void tigris_begin_calls(tigris_call_trace *calls, tigris_session *session, tigris_call_hook hook, void *context);
void tigris_end_calls(tigris_call_trace *calls);

/* Rows of operand `index`, or of the output, which is behind them. An operator that reads what it made before has its own
 * output among its operands: only rows above those that the call makes count. */
uint32_t tigris_call_rows(const tigris_call *call, const tigris_band *bands, uint32_t index);

/* Bytes of these rows. */
uint32_t tigris_call_bytes(const tigris_call *call, const tigris_band *bands, uint32_t index);

#endif
