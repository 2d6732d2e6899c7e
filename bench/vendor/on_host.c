/* Runs a sweep on this machine. If an argument names a file, memory and stack lie in it, at addresses of 32 bits, and
 * another program interprets some functions: a line "? name arguments" asks for a call. The answer is its result, "none"
 * or "crash". */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "sweep.h"

#define POOL 0x100000 /* bench/vendor/vectors.py has these numbers too */
#define STACK 0x80000
#define ARGUMENTS 24

static uint8_t *pool;
static sigjmp_buf before_call;

uint8_t *sweep_memory(void)
{
    return pool + STACK;
}

void sweep_print(const char *text)
{
    fputs(text, stdout);
}

static void leave_call(int number)
{
    siglongjmp(before_call, number);
}

int sweep_call(sweep_run *run, const sweep_layer *layer, int32_t scratch_bytes)
{
    return sigsetjmp(before_call, 1) != 0 ? SWEEP_CRASHED : run(layer, scratch_bytes);
}

#ifdef STUBS
static int64_t ask(const char *name, const int64_t arguments[ARGUMENTS])
{
    char answer[32] = "";
    printf("? %s", name);
    for (int i = 0; i < ARGUMENTS; i++) {
        printf(" %u", (uint32_t)arguments[i]);
    }
    putchar('\n');
    fflush(stdout);
    if (fgets(answer, sizeof answer, stdin) == NULL) {
        exit(2);
    }
    if (strncmp(answer, "crash", 5U) == 0) {
        siglongjmp(before_call, 1);
    }
    sweep_not_run |= strncmp(answer, "none", 4U) == 0;
    return (int32_t)strtoul(answer, NULL, 10);
}

#define SIX(end) int64_t a##end, int64_t b##end, int64_t c##end, int64_t d##end, int64_t e##end, int64_t f##end
#define GIVEN(end) a##end, b##end, c##end, d##end, e##end, f##end
/* Arguments that the caller does not give are whatever lies there. */
#define STUB(name)                                                                                                     \
    int64_t name(SIX(0), SIX(1), SIX(2), SIX(3))                                                                       \
    {                                                                                                                  \
        const int64_t arguments[ARGUMENTS] = {GIVEN(0), GIVEN(1), GIVEN(2), GIVEN(3)};                                 \
        return ask(#name, arguments);                                                                                  \
    }
STUBS
#endif

static void *sweep_in_thread(void *unused)
{
    (void)unused;
    sweep();
    return NULL;
}

int main(int count, char **names)
{
    pthread_t thread;
    pthread_attr_t attributes;
    const int file = count == 2 ? open(names[1], O_RDWR) : -1;
    const int flags = MAP_FIXED_NOREPLACE | (count == 2 ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS);
    const int signals[] = {SIGSEGV, SIGBUS, SIGFPE};
    const struct sigaction action = {.sa_handler = leave_call};
    for (unsigned i = 0; i < sizeof signals / sizeof *signals; i++) {
        sigaction(signals[i], &action, NULL);
    }
    pool = mmap((void *)(uintptr_t)POOL, STACK + SWEEP_BYTES, PROT_READ | PROT_WRITE, flags, file, POOL);
    if (pool == MAP_FAILED || pthread_attr_init(&attributes) != 0 ||
        pthread_attr_setstack(&attributes, pool, STACK) != 0 ||
        pthread_create(&thread, &attributes, sweep_in_thread, NULL) != 0) {
        return 1;
    }
    return pthread_join(thread, NULL);
}
