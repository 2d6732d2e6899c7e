/* Runs a plan on this machine with a backend whose kernels are interpreted: each call of one is asked of the other end of
 * the pipe (pipe.py).
 *
 * Reads four words (bytes of plan, fast and slow memory, input; little-endian), the plan and the inputs. A request is a
 * name of 64 bytes, the number of arguments, and the arguments: each three words and the bytes of those that are read.
 * The answer is the function's result and the bytes of what is written. At the end it writes a request of no name, whose
 * arguments are the status and the output. */
#define _POSIX_C_SOURCE 200112L

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tigris_backends.h"

/* POINTERS: a structure of `place` pointers to the next arguments, and `value` bytes behind them. */
enum { NUMBER, READ, WRITTEN, POINTERS };

typedef struct argument {
    uint32_t kind;
    uint32_t value; /* a number, or how many bytes */
    uint32_t place; /* where the bytes lie modulo 16 */
    const void *bytes;
} argument;

static void *allocate(uint32_t bytes)
{
    void *memory = NULL;
    if (posix_memalign(&memory, 64U, bytes > 0U ? bytes : 1U) != 0) {
        abort();
    }
    return memory;
}

static void get(void *to, uint32_t bytes)
{
    if (fread(to, 1U, bytes, stdin) != bytes) {
        exit(2);
    }
}

static void put(const void *from, uint32_t bytes)
{
    if (fwrite(from, 1U, bytes, stdout) != bytes) {
        exit(2);
    }
}

static argument number(int32_t value)
{
    const argument a = {NUMBER, (uint32_t)value, 0U, NULL};
    return a;
}

static argument bytes(uint32_t kind, const void *at, uint32_t size)
{
    const argument a = {kind, size, (uint32_t)((uintptr_t)at & 15U), at};
    return a;
}

static inline argument pointers(uint32_t count, const void *behind, uint32_t size)
{
    const argument a = {POINTERS, size, count, behind};
    return a;
}

static void request(const char *name, const argument *arguments, uint32_t count)
{
    char padded[64] = "";
    strncpy(padded, name, sizeof padded - 1U);
    put(padded, sizeof padded);
    put(&count, sizeof count);
    for (uint32_t i = 0; i < count; i++) {
        put(&arguments[i], 3U * sizeof(uint32_t));
        if (arguments[i].kind == READ || arguments[i].kind == POINTERS) {
            put(arguments[i].bytes, arguments[i].value);
        }
    }
    fflush(stdout);
}

static int32_t ask(const char *name, const argument *arguments, uint32_t count)
{
    int32_t result;
    request(name, arguments, count);
    get(&result, sizeof result);
    for (uint32_t i = 0; i < count; i++) {
        if (arguments[i].kind == WRITTEN) {
            get((void *)(uintptr_t)arguments[i].bytes, arguments[i].value);
        }
    }
    return result;
}

#define ASK(name, arguments) ask(name, arguments, sizeof(arguments) / sizeof(arguments)[0])

/* Says of which operator the calls before were. */
static void tell(void *context, uint32_t op, uint32_t elapsed)
{
    const argument a = number((int32_t)op);
    (void)context;
    (void)elapsed;
    request("op", &a, 1U);
}

static uint32_t no_time(void *context)
{
    (void)context;
    return 0U;
}

static int run_with(const tigris_backend *backend)
{
    uint32_t sizes[4];
    tigris_plan plan;
    tigris_session session;
    get(sizes, sizeof sizes);
    void *data = allocate(sizes[0]), *input = allocate(sizes[3]);
    get(data, sizes[0]);
    get(input, sizes[3]); /* before anything is asked */
    argument last[] = {number(0), bytes(READ, "", 0U)};
    tigris_status status = tigris_plan_open(&plan, data, sizes[0]);
    if (status == TIGRIS_OK) {
        const tigris_arenas arenas = {allocate(sizes[1]), sizes[1], allocate(sizes[2]), sizes[2]};
        status = tigris_session_init(&session, &plan, &arenas, backend);
    }
    if (status == TIGRIS_OK) {
        session.hooks.counter = no_time;
        session.hooks.profile = tell;
        const uint8_t *from = input;
        for (uint32_t i = 0; i < plan.header->input_count; from += tigris_input_bytes(&session, i++)) {
            memcpy(tigris_input(&session, i), from, tigris_input_bytes(&session, i));
        }
        status = tigris_run(&session);
        last[1] = bytes(READ, tigris_output(&session, 0), tigris_output_bytes(&session, 0));
    }
    last[0] = number((int32_t)status);
    request("", last, 2U);
    return 0;
}
