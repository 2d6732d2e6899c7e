/* A board for tests: serves a model on standard input and output until the input ends.
 *
 *     board [--fifo BYTES] [--boot TEXT] [--chatter 1] [--fast BYTES] [--sleep MICROSECONDS] [--hang YIELDS] [--as STATE]
 *           [--busy NANOSECONDS] [--counter looks] [--fault SPEC] [--dynamic SLOW] --model FILE …
 *
 * --fifo: received bytes wait in a buffer of so many; what arrives while it is full is lost, as in a UART.
 * --boot: printed first. --chatter: the firmware prints at each yield. --fast: arena size, the plan's own unless given.
 * --sleep: at each yield, while nothing is read. --hang: at the yield of this number, for ever. --busy: between signs of
 * life. --counter looks: the clock ticks when it is read. --as: how a model is given to the server: `null`, without
 * plan and session, `unbound`, with a session that was never begun. --fault: see faults.c. --dynamic: the
 * fast arena may be smaller than planned, the slow one has so many bytes. Built with STANDIN, models are those of standin.c. */
#define _POSIX_C_SOURCE 200809L

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "faults.h"
#include "tigris_serve.h"

#define MOST_MODELS 4

void standin_open(tigris_plan *plan, tigris_session *session, const char *name);

typedef struct line {
    uint8_t fifo[4096];
    size_t fifo_bytes; /* capacity */
    size_t waiting;
    int ended;
    int chatter;
    long sleep_us;
    long hang_after;
} line;

/* Empties the wire into the FIFO, as the UART did while the firmware was busy. */
static void pump(line *l)
{
    uint8_t incoming[4096];

    for (;;) {
        struct pollfd ready = {0, POLLIN, 0};
        if (l->ended || poll(&ready, 1, 0) <= 0)
            return;
        const ssize_t got = read(0, incoming, sizeof incoming);
        if (got <= 0) {
            l->ended = 1;
            return;
        }
        for (ssize_t i = 0; i < got; i++)
            if (l->waiting < l->fifo_bytes)
                l->fifo[l->waiting++] = incoming[i];
    }
}

static size_t line_read(void *context, uint8_t *data, size_t bytes)
{
    line *l = (line *)context;

    if (l->fifo_bytes == 0U) { /* no FIFO: nothing is lost, the pipe holds it */
        struct pollfd ready = {0, POLLIN, 0};
        if (l->ended || poll(&ready, 1, 0) <= 0)
            return 0U;
        const ssize_t got = read(0, data, bytes);
        if (got <= 0)
            l->ended = 1;
        return got > 0 ? (size_t)got : 0U;
    }
    pump(l);
    bytes = bytes < l->waiting ? bytes : l->waiting;
    memcpy(data, l->fifo, bytes);
    memmove(l->fifo, l->fifo + bytes, l->waiting - bytes);
    l->waiting -= bytes;
    return bytes;
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
    line *l = (line *)context;
    const struct timespec time = {l->sleep_us / 1000000, (l->sleep_us % 1000000) * 1000};

    if (l->chatter)
        line_write(NULL, (const uint8_t *)"I (123) app: still alive\r\n", 26U);
    nanosleep(&time, NULL);
    if (l->hang_after > 0 && --l->hang_after == 0)
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

/* Every look at the clock is a tick: what a run takes is how often it was looked at. */
static uint32_t looks(void *context)
{
    static uint32_t count;

    (void)context;
    return ++count;
}

typedef struct model_memory {
    tigris_plan plan;
    tigris_session session;
    tigris_serve_counts profile[256];
} model_memory;

static const char *fault;
static long dynamic;

#ifndef STANDIN
static void *aligned(size_t bytes)
{
    void *memory = NULL;

    if (posix_memalign(&memory, 64U, bytes + 64U) != 0)
        exit(2);
    return memory;
}

static tigris_serve_model open_model(model_memory *memory, const char *path, uint32_t fast_limit)
{
    tigris_serve_model model = {.plan = &memory->plan, .session = &memory->session};
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
    model.status = tigris_plan_open(&memory->plan, data, bytes);
    if (model.status != TIGRIS_OK)
        return model;
    model.fast_bytes = memory->plan.header->fast_bytes;
    model.slow_bytes = memory->plan.header->slow_bytes;
    if (fast_limit != 0U)
        model.fast_bytes = fast_limit;
    if (dynamic != 0)
        model.slow_bytes = (uint32_t)dynamic;
    model.status = tigris_session_bind(&memory->session, &memory->plan, aligned(model.fast_bytes), model.fast_bytes,
                                       aligned(model.slow_bytes), model.slow_bytes,
                                       fault != NULL ? faulty_backend(fault, &memory->session) : &tigris_portable_backend,
                                       dynamic != 0 ? &tigris_dynamic_placement : NULL);
    model.profile = memory->profile;
    model.profile_count = memory->plan.header->op_count;
    return model;
}
#else
static tigris_serve_model open_model(model_memory *memory, const char *name, uint32_t fast_limit)
{
    tigris_serve_model model = {0};

    standin_open(&memory->plan, &memory->session, name);
    model.plan = &memory->plan;
    model.fast_bytes = fast_limit;
    if (fast_limit != 0U) {
        model.status = TIGRIS_ERR_FAST_TOO_SMALL;
        return model;
    }
    model.session = &memory->session;
    model.profile = memory->profile;
    model.profile_count = memory->plan.header->op_count;
    return model;
}
#endif

int main(int argc, char **argv)
{
    static line wire;
    static model_memory memory[MOST_MODELS];
    static tigris_serve server;
    tigris_serve_model models[MOST_MODELS];
    tigris_serve_transport transport = {line_read, line_write, NULL};
    tigris_serve_board board = {"test board", nanoseconds, NULL, 1000000000U, "ns", 20000000U};
    uint32_t count = 0, fast_limit = 0;
    const char *as = "";

    for (int i = 1; i < argc; i++) {
        const char *value = i + 1 < argc ? argv[i + 1] : "";
        if (strcmp(argv[i], "--fifo") == 0)
            wire.fifo_bytes = strtoul(value, NULL, 10);
        else if (strcmp(argv[i], "--sleep") == 0)
            wire.sleep_us = strtol(value, NULL, 10);
        else if (strcmp(argv[i], "--chatter") == 0)
            wire.chatter = atoi(value);
        else if (strcmp(argv[i], "--fast") == 0)
            fast_limit = (uint32_t)strtoul(value, NULL, 10);
        else if (strcmp(argv[i], "--hang") == 0)
            wire.hang_after = strtol(value, NULL, 10);
        else if (strcmp(argv[i], "--busy") == 0)
            board.busy_counts = (uint32_t)strtoul(value, NULL, 10);
        else if (strcmp(argv[i], "--counter") == 0)
            board.counter = strcmp(value, "looks") == 0 ? looks : nanoseconds;
        else if (strcmp(argv[i], "--fault") == 0)
            fault = value;
        else if (strcmp(argv[i], "--dynamic") == 0)
            dynamic = strtol(value, NULL, 10);
        else if (strcmp(argv[i], "--as") == 0)
            as = value;
        else if (strcmp(argv[i], "--boot") == 0)
            line_write(NULL, (const uint8_t *)value, strlen(value));
        else if (strcmp(argv[i], "--model") == 0 && count < MOST_MODELS) {
            models[count] = open_model(&memory[count], value, fast_limit);
            count++;
        } else
            return 2;
        i++;
    }
    for (uint32_t i = 0; i < count; i++) {
        if (strcmp(as, "null") == 0) {
            models[i].plan = NULL;
            models[i].session = NULL;
        }
        if (strcmp(as, "unbound") == 0)
            memset(models[i].session, 0, sizeof *models[i].session);
    }
    for (uint32_t i = 0; i < count; i++)
        if (models[i].session != NULL && (wire.hang_after != 0 || wire.sleep_us != 0 || wire.chatter)) {
            models[i].session->yield = slow_yield;
            models[i].session->yield_context = &wire;
        }
    transport.context = &wire;
    tigris_serve_init(&server, &transport, &board, models, count);
    while (!wire.ended || wire.waiting > 0U) {
        struct pollfd ready = {0, POLLIN, 0};
        if (!tigris_serve_poll(&server) && !wire.ended && wire.waiting == 0U)
            poll(&ready, 1, 1000);
    }
    return 0;
}
