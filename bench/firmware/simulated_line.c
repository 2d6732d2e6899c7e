/* A simulated board at the end of a simulated serial line: the server is the real one, time is simulated.
 *
 * The line carries bytes at its rate, ten bits each, in both directions at once. An adapter hands on what it has at
 * every multiple of its latency, each way. The board has FIFOs of so many bytes; what arrives while the receiving one
 * is full is lost, and a write returns when what is left fits into the sending one. A call of read takes `read_ns`. A
 * poll that served nothing lets the firmware sleep for `sleep_ns`, or until a byte arrives when that is 0.
 *
 * The board runs in a context of its own, from one point of time to the next at which the host may notice something: so
 * both ends see what they would see in reality, and every run gives the same times.
 *
 * Its model is that of tests/hil/standin.c. A run takes `run_ns`. All times are nanoseconds. */
#define _XOPEN_SOURCE 700

#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#include "tigris_serve.h"

#define STACK_BYTES (256U * 1024U)
#define FIFO_MOST 65536U
#define OPS 20

typedef struct line_byte {
    int64_t when; /* it can be read */
    uint8_t value;
} line_byte;

/* One direction. */
typedef struct direction {
    line_byte *bytes;
    size_t first, count, room;
    int64_t free; /* when the last byte has passed */
} direction;

typedef struct simulation {
    int64_t byte_ns, latency_ns, read_ns, sleep_ns, run_ns;
    uint32_t receive_fifo, send_fifo;
    int64_t host_now, board_now, stop; /* the board runs until then */
    direction up, down;
    uint8_t fifo[FIFO_MOST];
    uint32_t fifo_count;
    uint64_t lost; /* bytes that found the FIFO full */
    ucontext_t host, board;
    char *stack;
    tigris_plan plan;
    tigris_session session;
    tigris_serve_model model;
    tigris_serve_transport transport;
    tigris_serve_board description;
    tigris_serve server;
} simulation;

static simulation *now_running;
extern void (*standin_work)(void);
void standin_resize(uint32_t input0_bytes, uint32_t output1_bytes);
void standin_open(tigris_plan *plan, tigris_session *session, const char *name);

/* The line. */

static void push(direction *d, int64_t when, uint8_t value)
{
    if (d->count == d->room) {
        const size_t room = d->room != 0U ? 2U * d->room : 4096U;
        line_byte *bytes = (line_byte *)malloc(room * sizeof *bytes);
        if (bytes == NULL)
            abort();
        for (size_t i = 0; i < d->count; i++)
            bytes[i] = d->bytes[(d->first + i) % d->room];
        free(d->bytes);
        d->bytes = bytes;
        d->first = 0U;
        d->room = room;
    }
    d->bytes[(d->first + d->count++) % d->room] = (line_byte){when, value};
}

static uint8_t pop(direction *d)
{
    const uint8_t value = d->bytes[d->first].value;

    d->first = (d->first + 1U) % d->room;
    d->count--;
    return value;
}

static int is_due(const direction *d, int64_t now)
{
    return d->count > 0U && d->bytes[d->first].when <= now;
}

static int64_t handed_on(const simulation *s, int64_t at)
{
    return s->latency_ns > 0 ? (at / s->latency_ns + 1) * s->latency_ns : at;
}

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* The board's side. */

static void pass(simulation *s, int64_t time)
{
    s->board_now += time;
    if (s->board_now >= s->stop)
        swapcontext(&s->board, &s->host);
}

static size_t board_read(void *context, uint8_t *data, size_t bytes)
{
    simulation *s = (simulation *)context;
    size_t got = 0U;

    pass(s, s->read_ns);
    while (is_due(&s->up, s->board_now)) {
        const uint8_t value = pop(&s->up);
        if (s->fifo_count < s->receive_fifo)
            s->fifo[s->fifo_count++] = value;
        else
            s->lost++;
    }
    got = bytes < s->fifo_count ? bytes : s->fifo_count;
    memcpy(data, s->fifo, got);
    memmove(s->fifo, s->fifo + got, s->fifo_count - got);
    s->fifo_count -= (uint32_t)got;
    return got;
}

static void board_write(void *context, const uint8_t *data, size_t bytes)
{
    simulation *s = (simulation *)context;

    for (size_t i = 0; i < bytes; i++) {
        s->down.free = larger(s->down.free, s->board_now) + s->byte_ns;
        push(&s->down, handed_on(s, s->down.free), data[i]);
    }
    const int64_t first = s->down.bytes[s->down.first].when;
    s->stop = first < s->stop ? first : s->stop;
    pass(s, larger(0, s->down.free - (int64_t)s->send_fifo * s->byte_ns - s->board_now));
}

static uint32_t microseconds(void *context)
{
    return (uint32_t)(((const simulation *)context)->board_now / 1000);
}

static void firmware(void)
{
    simulation *s = now_running;

    for (;;) {
        if (tigris_serve_poll(&s->server))
            continue;
        if (s->sleep_ns > 0)
            pass(s, s->sleep_ns);
        else if (s->up.count > 0U)
            pass(s, larger(0, s->up.bytes[s->up.first].when - s->board_now));
        else
            pass(s, larger(0, s->stop - s->board_now));
    }
}

static void work(void)
{
    pass(now_running, now_running->run_ns / OPS);
}

/* The functions that the host calls. */

/* The board loses power for a moment, and its memory with it. */
void simulation_restart(simulation *s)
{
    memset(tigris_input(&s->session, 0U), 0, tigris_input_bytes(&s->session, 0U));
    s->fifo_count = 0U;
    tigris_serve_init(&s->server, &s->transport, &s->description, &s->model, 1U);
    getcontext(&s->board);
    s->board.uc_stack.ss_sp = s->stack;
    s->board.uc_stack.ss_size = STACK_BYTES;
    s->board.uc_link = NULL;
    makecontext(&s->board, firmware, 0);
}

simulation *simulation_new(int64_t byte_ns, int64_t latency_ns, int64_t read_ns, int64_t sleep_ns, int64_t run_ns,
                           uint32_t fifo, uint32_t input_bytes, uint32_t output1_bytes)
{
    simulation *s = (simulation *)malloc(sizeof *s);
    char *stack = (char *)malloc(STACK_BYTES);

    if (s == NULL || stack == NULL || fifo > FIFO_MOST)
        abort();
    *s = (simulation){
        .byte_ns = byte_ns, .latency_ns = latency_ns, .read_ns = read_ns, .sleep_ns = sleep_ns, .run_ns = run_ns,
        .receive_fifo = fifo, .send_fifo = 128U, .host_now = 1000000000, .board_now = 1000000000, .stack = stack,
        .model = {.plan = &s->plan, .session = &s->session}, .transport = {board_read, board_write, s},
        .description = {"simulated board", microseconds, s, 1000000U, "us", 100000U}};
    standin_work = work;
    standin_resize(input_bytes, output1_bytes);
    standin_open(&s->plan, &s->session, "simulated");
    simulation_restart(s);
    return s;
}

void simulation_free(simulation *s)
{
    free(s->up.bytes);
    free(s->down.bytes);
    free(s->stack);
    free(s);
}

void simulation_write(simulation *s, const uint8_t *data, size_t bytes)
{
    const int64_t released = handed_on(s, s->host_now);

    for (size_t i = 0; i < bytes; i++) {
        s->up.free = larger(s->up.free, released) + s->byte_ns;
        push(&s->up, s->up.free, data[i]);
    }
}

/* Reads the bytes that have arrived when the first one has. Waits until `until` at most; then returns 0. */
size_t simulation_read(simulation *s, int64_t until, uint8_t *data, size_t bytes)
{
    size_t got = 0U;

    while (!is_due(&s->down, s->host_now) && s->host_now < until) {
        const int64_t first = s->down.count > 0U ? s->down.bytes[s->down.first].when : until;
        s->stop = first < until ? first : until;
        if (s->board_now < s->stop) {
            now_running = s;
            swapcontext(&s->host, &s->board);
        } else {
            s->host_now = s->stop;
        }
    }
    while (got < bytes && is_due(&s->down, s->host_now))
        data[got++] = pop(&s->down);
    return got;
}

int64_t simulation_now(const simulation *s)
{
    return s->host_now;
}

void simulation_pause(simulation *s, int64_t time)
{
    s->host_now += time;
}

uint64_t simulation_lost(const simulation *s)
{
    return s->lost;
}
