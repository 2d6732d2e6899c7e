/* The runtime as a shared library for Python (tigris_pio/host): one handle with a plan, a session,
 * per-operator times and, on request, every operator's output. Not part of firmware. */
#ifndef _POSIX_C_SOURCE
#define _POSIX_C_SOURCE 199309L
#endif

#include <string.h>
#include <time.h>

#include "tigris.h"
#include "../src/memory.h"
#include "../src/extents.h"
#include "../src/serve_calls.h"
#include "tigris_kernel.h"
#include "host_export.h"

/* Raise when a function or struct below changes: Python refuses a library of another version. */
#define TIGRIS_HOST_VERSION 9U

/* Calls and nanoseconds of one operator, over all runs. */
typedef struct tigris_host_profile {
    uint64_t calls;
    uint64_t nanoseconds;
} tigris_host_profile;

/* One kernel call, with the rows of its operands that it read. */
typedef struct tigris_host_call {
    tigris_call call;
    uint32_t first[TIGRIS_MAX_OPERANDS];
    uint32_t rows[TIGRIS_MAX_OPERANDS];
} tigris_host_call;

/* The results of tigris_host_calls; the caller owns all arrays. */
typedef struct tigris_host_watch {
    tigris_host_call *calls; /* `capacity` entries; further calls are only counted */
    uint32_t capacity;
    uint32_t count;
    uint32_t wanted;      /* number of the call, from 1, whose rows are copied to `data`; 0: none */
    uint8_t *const *data; /* buffers for its output and then each operand, each as large as the largest tensor */
    uint32_t bytes[TIGRIS_MAX_OPERANDS + 1U]; /* bytes copied to each buffer */
} tigris_host_watch;

typedef struct tigris_host {
    tigris_plan plan;
    tigris_session session;
    tigris_host_profile *profile; /* the caller's, one for each operator of the plan */
    uint8_t *const *trace;        /* the caller's, a buffer for each operator's whole output; NULL: no trace */
    uint64_t started;
    uint64_t stopped;
} tigris_host;

TIGRIS_HOST_API uint32_t tigris_host_version(void);
TIGRIS_HOST_API size_t tigris_host_bytes(void);
TIGRIS_HOST_API int32_t tigris_host_open(tigris_host *host, const void *plan, size_t bytes);
TIGRIS_HOST_API int32_t tigris_host_check_crc(const tigris_host *host);
TIGRIS_HOST_API int32_t tigris_host_bind(tigris_host *host, void *fast, size_t fast_bytes, void *slow,
                                         size_t slow_bytes, tigris_host_profile *profile);
TIGRIS_HOST_API void tigris_host_rows(tigris_host *host, tigris_fetch_rows_hook fetch, tigris_take_rows_hook take);
TIGRIS_HOST_API void tigris_host_parallel(tigris_host *host, tigris_parallel_hook parallel);
TIGRIS_HOST_API int32_t tigris_host_run(tigris_host *host, uint8_t *const *trace, tigris_usage *usage);
TIGRIS_HOST_API int32_t tigris_host_calls(tigris_host *host, tigris_host_watch *watch, tigris_usage *usage);
TIGRIS_HOST_API int32_t tigris_host_reset(tigris_host *host);
TIGRIS_HOST_API const void *tigris_host_state(const tigris_host *host, uint32_t tensor);
TIGRIS_HOST_API uint32_t tigris_host_bytes_short(const tigris_host *host);
TIGRIS_HOST_API uint32_t tigris_host_fault(const tigris_host *host, char *text, size_t bytes);
TIGRIS_HOST_API void *tigris_host_input(const tigris_host *host, uint32_t index);
TIGRIS_HOST_API const void *tigris_host_output(const tigris_host *host, uint32_t index);
TIGRIS_HOST_API const char *tigris_host_status_text(int32_t status);
TIGRIS_HOST_API size_t tigris_host_kernel_count(void);
TIGRIS_HOST_API uint32_t tigris_host_kernel(size_t index);

static uint64_t now_nanoseconds(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000U + (uint64_t)time.tv_nsec;
}

/* The runtime's counter has 32 bits, 4 s in nanoseconds, so the host keeps a counter of 64 bits. */
static uint32_t count(void *context)
{
    tigris_host *host = context;
    host->started = host->stopped;
    host->stopped = now_nanoseconds();
    return (uint32_t)host->stopped;
}

static void profile(void *context, uint32_t op, uint32_t elapsed)
{
    tigris_host *host = context;
    (void)elapsed;
    host->profile[op].calls++;
    host->profile[op].nanoseconds += host->stopped - host->started;
}

static void trace(void *context, uint32_t op, uint32_t image, const tigris_band *output)
{
    const tigris_host *host = context;
    const tigris_tensor_record *tensor = output->tensor;
    const uint32_t image_bytes = tigris_tensor_bytes(tensor) / tensor->batch;
    memcpy(host->trace[op] + image * image_bytes + (uint32_t)output->first * tigris_row_step(tensor), output->data,
           tigris_rows_bytes(tensor, (uint32_t)output->rows));
}

uint32_t tigris_host_version(void)
{
    return TIGRIS_HOST_VERSION << 16 | TIGRIS_FORMAT_VERSION;
}

size_t tigris_host_bytes(void)
{
    return sizeof(tigris_host);
}

int32_t tigris_host_open(tigris_host *host, const void *plan, size_t bytes)
{
    memset(host, 0, sizeof *host);
    return tigris_plan_open(&host->plan, plan, bytes);
}

int32_t tigris_host_check_crc(const tigris_host *host)
{
    return tigris_plan_check_crc(&host->plan);
}

int32_t tigris_host_bind(tigris_host *host, void *fast, size_t fast_bytes, void *slow, size_t slow_bytes,
                         tigris_host_profile *profile_records)
{
    const tigris_arenas arenas = {fast, fast_bytes, slow, slow_bytes};
    const tigris_status status = tigris_session_init_dynamic(&host->session, &host->plan, &arenas, NULL);
    host->profile = profile_records;
    host->session.hooks.counter = count;
    host->session.hooks.profile = profile;
    host->session.hooks.profile_context = host;
    return status;
}

void tigris_host_rows(tigris_host *host, tigris_fetch_rows_hook fetch, tigris_take_rows_hook take)
{
    host->session.hooks.fetch_rows = fetch;
    host->session.hooks.take_rows = take;
}

/* Sets the parallel hook: from now on, operators that the plan allows to split are split. */
void tigris_host_parallel(tigris_host *host, tigris_parallel_hook parallel)
{
    host->session.split = tigris_split_rows;
    host->session.hooks.parallel = parallel;
}

int32_t tigris_host_run(tigris_host *host, uint8_t *const *trace_buffers, tigris_usage *usage)
{
    host->trace = trace_buffers;
    host->session.hooks.trace = trace_buffers != NULL ? trace : NULL;
    host->session.hooks.trace_context = host;
    const tigris_status status = tigris_run(&host->session);
    *usage = host->session.usage;
    return status;
}

static int watch_call(void *context, const tigris_call *call, const tigris_band *bands)
{
    tigris_host_watch *watch = context;
    if (watch->count < watch->capacity) {
        tigris_host_call *record = &watch->calls[watch->count];
        record->call = *call;
        for (uint32_t i = 0; i < call->operand_count; i++) {
            record->first[i] = (uint32_t)bands[i].first;
            record->rows[i] = tigris_call_rows(call, bands, i);
        }
    }
    watch->count++;
    for (uint32_t i = 0; watch->count == watch->wanted && i <= call->operand_count; i++) {
        const uint32_t index = i == 0U ? call->operand_count : i - 1U;
        watch->bytes[i] = tigris_call_bytes(call, bands, index);
        memcpy(watch->data[i], bands[index].data, watch->bytes[i]);
    }
    return 0;
}

/* Runs the plan and records each kernel call in *watch. */
int32_t tigris_host_calls(tigris_host *host, tigris_host_watch *watch, tigris_usage *usage)
{
    tigris_call_trace calls;
    host->session.hooks.trace = NULL;
    watch->count = 0U;
    tigris_start_call_trace(&calls, &host->session, watch_call, watch);
    const tigris_status status = tigris_run(&host->session);
    tigris_stop_call_trace(&calls);
    *usage = host->session.usage;
    return status;
}

int32_t tigris_host_reset(tigris_host *host)
{
    return tigris_session_reset(&host->session);
}

/* The address of a state. */
const void *tigris_host_state(const tigris_host *host, uint32_t tensor)
{
    const tigris_tensor_record *record = &host->plan.tensors[tensor];
    return tigris_address(&host->session, record->home, TIGRIS_PLACED_HOME, record, record->home_offset);
}

/* Bytes that the arena lacks which a failed bind found too small. */
uint32_t tigris_host_bytes_short(const tigris_host *host)
{
    return host->session.bytes_short;
}

/* Writes the fault's place as text; returns the index of its operator. */
uint32_t tigris_host_fault(const tigris_host *host, char *text, size_t bytes)
{
    const tigris_fault *fault = tigris_fault_of(&host->plan, &host->session);

    (void)tigris_fault_text(fault, &host->plan, text, bytes);
    return fault->op;
}

void *tigris_host_input(const tigris_host *host, uint32_t index)
{
    return tigris_input(&host->session, index);
}

const void *tigris_host_output(const tigris_host *host, uint32_t index)
{
    return tigris_output(&host->session, index);
}

const char *tigris_host_status_text(int32_t status)
{
    return tigris_status_text((tigris_status)status);
}

size_t tigris_host_kernel_count(void)
{
    return tigris_portable_backend.kernel_count;
}

/* Kind and dtype of a portable kernel: kind << 8 | dtype. */
uint32_t tigris_host_kernel(size_t index)
{
    const tigris_kernel_entry *entry = tigris_portable_backend.kernels[index];
    return (uint32_t)entry->kind << 8 | entry->dtype;
}
