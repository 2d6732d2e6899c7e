/* A board for tests: serves a model on standard input and output until the input ends.
 *
 *     board [--boot TEXT] [--chatter 1] [--fast BYTES] [--sleep MICROSECONDS] [--hang YIELDS] [--as STATE]
 *           [--busy NANOSECONDS] [--counter looks] [--fault SPEC] [--dynamic SLOW] --model FILE …
 *
 * --boot: printed first. --chatter: the firmware prints at each yield. --fast: arena size; default: the plan's.
 * --sleep: at each yield, without reading. --hang: hangs at the yield of this number. --busy: between signs of life.
 * --counter looks: each reading of the clock is a tick. --as: how the server gets the model: `null`, without plan and
 * session; `unbound`, with a session that was never initialised. --fault: see faults.c. --dynamic: the fast arena may be
 * smaller than planned; the slow one has this many bytes. If built with STANDIN, models are those of standin.c. */
#define _POSIX_C_SOURCE 200809L

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tigris_kernel.h"
#include "tigris_serve.h"

#define MOST_MODELS 4

const tigris_backend *faulty_backend(const char *spec, const tigris_session *session);
void standin_open(tigris_plan *plan, tigris_session *session, const char *name);

static int has_ended;
static long chatter, sleep_us, hang_after, fast_bytes, slow_bytes, busy_ns = 20000000;
static const char *as = "", *counter = "", *fault;

static const struct {
    const char *name;
    long *number;
    const char **text;
} options[] = {
    {"--chatter", &chatter, NULL}, {"--sleep", &sleep_us, NULL}, {"--hang", &hang_after, NULL},
    {"--fast", &fast_bytes, NULL}, {"--dynamic", &slow_bytes, NULL}, {"--busy", &busy_ns, NULL},
    {"--as", NULL, &as}, {"--counter", NULL, &counter}, {"--fault", NULL, &fault},
};

static size_t line_read(void *context, uint8_t *data, size_t bytes)
{
    struct pollfd ready = {0, POLLIN, 0};

    (void)context;
    if (has_ended || poll(&ready, 1, 0) <= 0)
        return 0U;
    const ssize_t got = read(0, data, bytes);
    has_ended = got <= 0;
    return got > 0 ? (size_t)got : 0U;
}

static void line_write(void *context, const uint8_t *data, size_t bytes)
{
    (void)context;
    while (bytes > 0U) {
        const ssize_t sent = write(1, data, bytes);
        if (sent <= 0)
            exit(0);
        data += sent;
        bytes -= (size_t)sent;
    }
}

static int slow_yield(void *context)
{
    const struct timespec pause_time = {sleep_us / 1000000, (sleep_us % 1000000) * 1000};

    if (chatter)
        line_write(context, (const uint8_t *)"I (123) app: still alive\r\n", 26U);
    nanosleep(&pause_time, NULL);
    if (hang_after > 0 && --hang_after == 0)
        for (;;)
            pause();
    return 0;
}

static uint32_t nanoseconds(void *context)
{
    struct timespec now;

    (void)context;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint32_t)now.tv_sec * 1000000000U + (uint32_t)now.tv_nsec;
}

/* Each reading of the clock is a tick, so a run's time is the number of readings. */
static uint32_t looks(void *context)
{
    static uint32_t count;

    (void)context;
    return ++count;
}

typedef struct model_memory {
    tigris_arenas arenas;
    tigris_plan plan;
    tigris_session session;
    tigris_serve_counts profile[256];
} model_memory;

#ifndef STANDIN
static void *aligned(size_t bytes)
{
    void *memory = NULL;

    if (posix_memalign(&memory, 64U, bytes + 64U) != 0)
        exit(2);
    return memory;
}

static void open_model(tigris_serve_model *model, model_memory *memory, const char *path)
{
    FILE *file = fopen(path, "rb");
    if (file == NULL)
        exit(2);
    fseek(file, 0, SEEK_END);
    const size_t bytes = (size_t)ftell(file);
    rewind(file);
    uint8_t *data = (uint8_t *)aligned(bytes);
    if (fread(data, 1, bytes, file) != bytes)
        exit(2);
    fclose(file);
    model->status = tigris_plan_open(&memory->plan, data, bytes);
    if (model->status != TIGRIS_OK)
        return;
    memory->arenas.fast_bytes = fast_bytes != 0 ? (size_t)fast_bytes : memory->plan.header->fast_bytes;
    memory->arenas.slow_bytes = slow_bytes != 0 ? (size_t)slow_bytes : memory->plan.header->slow_bytes;
    memory->arenas.fast = aligned(memory->arenas.fast_bytes);
    memory->arenas.slow = aligned(memory->arenas.slow_bytes);
    model->status = tigris_session_bind(&memory->session, &memory->plan, &memory->arenas,
                                        fault != NULL ? faulty_backend(fault, &memory->session) : &tigris_portable_backend,
                                        slow_bytes != 0 ? &tigris_dynamic_placement : NULL, TIGRIS_HEADERS);
}
#else
static void open_model(tigris_serve_model *model, model_memory *memory, const char *name)
{
    standin_open(&memory->plan, &memory->session, name);
    (void)model;
    memory->arenas.fast_bytes = (size_t)fast_bytes;
}
#endif

static tigris_serve_model served_model(model_memory *memory, const char *name)
{
    tigris_serve_model model = {.plan = &memory->plan, .session = &memory->session, .arenas = &memory->arenas};

    open_model(&model, memory, name);
    if (memory->plan.header != NULL) {
        model.profile = memory->profile;
        model.profile_count = memory->plan.header->op_count;
    }
    if (strcmp(as, "null") == 0) {
        model.plan = NULL;
        model.session = NULL;
    } else if (strcmp(as, "unbound") == 0) {
        memset(&memory->session, 0, sizeof memory->session);
    }
    if (model.session != NULL && (hang_after != 0 || sleep_us != 0 || chatter))
        model.session->hooks.yield = slow_yield;
    return model;
}

int main(int argc, char **argv)
{
    static model_memory memory[MOST_MODELS];
    static tigris_serve server;
    static tigris_serve_model models[MOST_MODELS];
    const tigris_serve_transport transport = {line_read, line_write, NULL};
    uint32_t count = 0;

    for (int i = 1; i + 1 < argc; i += 2) {
        const char *value = argv[i + 1];
        int is_known = strcmp(argv[i], "--boot") == 0 || strcmp(argv[i], "--model") == 0;
        for (size_t at = 0; at < sizeof options / sizeof *options; at++) {
            if (strcmp(argv[i], options[at].name) != 0)
                continue;
            is_known = 1;
            if (options[at].number != NULL)
                *options[at].number = strtol(value, NULL, 10);
            else
                *options[at].text = value;
        }
        if (!is_known)
            return 2;
        if (strcmp(argv[i], "--boot") == 0)
            line_write(NULL, (const uint8_t *)value, strlen(value));
        if (strcmp(argv[i], "--model") == 0 && count < MOST_MODELS) {
            models[count] = served_model(&memory[count], value);
            count++;
        }
    }
    const tigris_serve_board board = {"test board", strcmp(counter, "looks") == 0 ? looks : nanoseconds, NULL, 1000000000U,
                                      "ns", (uint32_t)busy_ns};
    tigris_serve_init(&server, &transport, &board, models, count);
    while (!has_ended) {
        struct pollfd ready = {0, POLLIN, 0};
        if (!tigris_serve_poll(&server) && !has_ended)
            poll(&ready, 1, 1000);
    }
    return 0;
}
