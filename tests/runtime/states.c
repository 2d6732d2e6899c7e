/* A run that is stopped is no step: states PLAN [PERCENT].
 *
 * Two sessions of one plan take the same steps. One runs undisturbed; the other's run is first cancelled at its first
 * yield, then at its second, and so on, until one run gets through. Nothing that lives from run to run may change
 * before that, and the outputs must be the other's. With PERCENT in so much of the planned fast memory and plenty of slow.
 * Prints the number of cancelled runs. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "extents.h"
#include "memory.h"

#define STEPS 4U

typedef struct model {
    tigris_session session;
    uint8_t *kept; /* all states, one after another */
} model;

static void fail(const char *what)
{
    fprintf(stderr, "states: %s\n", what);
    exit(1);
}

static uint8_t *reserve(size_t bytes)
{
    void *memory = NULL;
    if (posix_memalign(&memory, 64U, bytes + 1U) != 0) {
        fail("out of memory");
    }
    memset(memory, 0x5A, bytes + 1U);
    return memory;
}

static uint8_t *read_file(const char *path, size_t *bytes)
{
    FILE *file = fopen(path, "rb");
    if (file == NULL || fseek(file, 0, SEEK_END) != 0) {
        fail("the plan cannot be read");
    }
    *bytes = (size_t)ftell(file);
    rewind(file);
    uint8_t *data = reserve(*bytes);
    if (fread(data, 1U, *bytes, file) != *bytes) {
        fail("the plan cannot be read");
    }
    fclose(file);
    return data;
}

/* Copies all states to `kept`, or compares them with it; their bytes. */
static uint32_t keep(model *m, int compare)
{
    const tigris_plan *plan = m->session.plan;
    uint32_t bytes = 0U;
    for (uint32_t i = 0; i < plan->header->tensor_count; i++) {
        const tigris_tensor_record *tensor = &plan->tensors[i];
        if ((tensor->flags & TIGRIS_TENSOR_FLAG_STATE) == 0U) {
            continue;
        }
        const uint8_t *at =
            tigris_address(&m->session, tensor->home, TIGRIS_PLACED_HOME, tensor, tensor->home_offset);
        if (!compare) {
            memcpy(m->kept + bytes, at, tigris_tensor_bytes(tensor));
        } else if (memcmp(m->kept + bytes, at, tigris_tensor_bytes(tensor)) != 0) {
            fail("a run that was cancelled changed a state");
        }
        bytes += tigris_tensor_bytes(tensor);
    }
    return bytes;
}

static void start(model *m, const tigris_plan *plan, uint32_t percent)
{
    const uint32_t fast = percent == 0U ? plan->header->fast_bytes : plan->header->fast_bytes * percent / 100U;
    const uint32_t slow = plan->header->slow_bytes + (percent == 0U ? 0U : 2U * plan->header->fast_bytes);
    const tigris_status status = percent == 0U
        ? tigris_session_init(&m->session, plan, reserve(fast), fast, reserve(slow), slow, NULL)
        : tigris_session_init_dynamic(&m->session, plan, reserve(fast), fast, reserve(slow), slow, NULL);
    if (status != TIGRIS_OK) {
        fail(tigris_status_text(status));
    }
    m->kept = reserve(fast + slow);
}

static void write_inputs(const tigris_session *session, uint32_t seed)
{
    uint8_t *input;
    for (uint32_t i = 0; (input = tigris_input(session, i)) != NULL; i++) {
        for (uint32_t k = 0; k < tigris_input_bytes(session, i); k++) {
            seed = seed * 1664525U + 1013904223U;
            input[k] = (uint8_t)(seed >> 24 & 0x3FU);
        }
    }
}

static int count_down(void *context)
{
    uint32_t *left = context;
    return --*left == 0U;
}

/* One step; returns how many runs were cancelled before it. */
static uint32_t step_at_last(model *m, uint32_t seed)
{
    for (uint32_t after = 1U;; after++) {
        uint32_t left = after;
        write_inputs(&m->session, seed);
        (void)keep(m, 0);
        m->session.yield = count_down;
        m->session.yield_context = &left;
        const tigris_status status = tigris_run(&m->session);
        m->session.yield = NULL;
        if (status == TIGRIS_OK) {
            return after - 1U;
        }
        if (status != TIGRIS_ERR_CANCELLED || left != 0U) {
            fail("a cancelled run went on");
        }
        (void)keep(m, 1);
    }
}

static void compare_outputs(const tigris_session *one, const tigris_session *other)
{
    for (uint32_t i = 0; tigris_output(one, i) != NULL; i++) {
        if (memcmp(tigris_output(one, i), tigris_output(other, i), tigris_output_bytes(one, i)) != 0) {
            fail("the outputs differ");
        }
    }
}

int main(int count, char **arguments)
{
    static tigris_plan plan;
    static model calm;
    static model hurried;
    size_t bytes = 0U;
    if (count != 2 && count != 3) {
        fail("a plan is needed");
    }
    const uint8_t *data = read_file(arguments[1], &bytes);
    if (tigris_plan_open(&plan, data, bytes) != TIGRIS_OK) {
        fail("the plan cannot be opened");
    }
    if (tigris_session_reset(NULL) != TIGRIS_ERR_ARGUMENT || tigris_session_reset(&calm.session) != TIGRIS_ERR_ARGUMENT ||
        tigris_run(&calm.session) != TIGRIS_ERR_ARGUMENT) {
        fail("a session that never began was reset or run");
    }
    const uint32_t percent = count == 3 ? (uint32_t)strtoul(arguments[2], NULL, 10) : 0U;
    start(&calm, &plan, percent);
    start(&hurried, &plan, percent);
    if (keep(&hurried, 0) == 0U) {
        fail("the plan has no state");
    }
    uint32_t cancelled = 0U;
    for (uint32_t round = 0; round < 2U; round++) {
        if (tigris_session_reset(&calm.session) != TIGRIS_OK || tigris_session_reset(&hurried.session) != TIGRIS_OK) {
            fail("a session was not reset");
        }
        for (uint32_t step = 0; step < STEPS; step++) {
            write_inputs(&calm.session, step);
            if (tigris_run(&calm.session) != TIGRIS_OK) {
                fail("a run failed");
            }
            cancelled += step_at_last(&hurried, step);
            compare_outputs(&calm.session, &hurried.session);
        }
    }
    printf("%u\n", (unsigned)cancelled);
    return 0;
}
