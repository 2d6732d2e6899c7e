#define _POSIX_C_SOURCE 200112L

#include "run_plan.h"

#include <stdlib.h>
#include <string.h>

#include "plan.h"
#include "tigris_kernel.h"

#define PLAN_ALIGNMENT 16U
#define MOST_KERNEL_CALLS 2000U

static uint8_t *allocate(size_t bytes, size_t alignment)
{
    void *memory = NULL;
    if (posix_memalign(&memory, alignment < sizeof(void *) ? sizeof(void *) : alignment, bytes == 0U ? 1U : bytes) !=
        0) {
        abort();
    }
    /* Not zeros: values that a plan never wrote must not harm either. */
    memset(memory, 0x81, bytes);
    return memory;
}

static int count_down(void *context)
{
    uint32_t *left = context;
    return --*left == 0U;
}

/* Every byte of every output, read. */
static uint32_t sum_outputs(const tigris_session *session)
{
    uint32_t sum = 0U;
    const uint8_t *output;
    for (uint32_t i = 0; (output = tigris_output(session, i)) != NULL; i++) {
        for (uint32_t k = 0; k < tigris_output_bytes(session, i); k++) {
            sum += output[k];
        }
    }
    return sum;
}

static void add_row_bytes(const tigris_band *band, uint32_t *sum)
{
    const uint32_t bytes = tigris_rows_bytes(band->tensor, (uint32_t)band->rows);
    for (uint32_t i = 0; i < bytes; i++) {
        *sum += band->data[i];
    }
}

/* Every byte of every band a kernel wrote, read while it is valid. */
static void read_band(void *context, uint32_t op, uint32_t image, const tigris_band *output)
{
    (void)op;
    (void)image;
    add_row_bytes(output, context);
}

static tigris_status run_twice(tigris_session *session)
{
    uint32_t left = MOST_KERNEL_CALLS;
    session->yield = count_down;
    session->yield_context = &left;
    uint32_t written = 0U;
    session->trace = read_band;
    session->trace_context = &written;
    tigris_status status = TIGRIS_OK;
    for (uint32_t times = 0; times < 2U && status == TIGRIS_OK; times++) {
        uint8_t *input;
        for (uint32_t i = 0; (input = tigris_input(session, i)) != NULL; i++) {
            memset(input, (int)(0x7F - times), tigris_input_bytes(session, i));
        }
        status = tigris_run(session);
        volatile uint32_t used = sum_outputs(session);
        (void)used;
    }
    return status;
}

static tigris_status bind_and_run(const tigris_plan *plan, int *ran)
{
    const tigris_header_record *header = plan->header;
    if (header->fast_bytes > RUN_PLAN_LARGEST_ARENA || header->slow_bytes > RUN_PLAN_LARGEST_ARENA) {
        return TIGRIS_OK;
    }
    uint8_t *fast = allocate(header->fast_bytes, header->alignment);
    uint8_t *slow = allocate(header->slow_bytes, header->alignment);
    tigris_session session;
    tigris_status status = tigris_session_init(&session, plan, fast, header->fast_bytes, slow, header->slow_bytes, NULL);
    if (status == TIGRIS_OK) {
        *ran = 1;
        status = run_twice(&session);
    }
    free(fast);
    free(slow);
    return status;
}

tigris_status run_plan(const uint8_t *data, size_t bytes, int *ran)
{
    uint8_t *copy = allocate(bytes, PLAN_ALIGNMENT);
    if (bytes != 0U) {
        memcpy(copy, data, bytes);
    }
    *ran = 0;
    tigris_plan plan;
    tigris_status status = tigris_plan_open(&plan, copy, bytes);
    if (status == TIGRIS_OK) {
        (void)(tigris_plan_check_crc(&plan) == TIGRIS_OK);
        status = bind_and_run(&plan, ran);
    }
    free(copy);
    return status;
}
