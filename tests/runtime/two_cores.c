/* two_cores PLAN INPUT OUTPUT: one run on two threads, for ThreadSanitizer. Prints the calls that both shared, and
 * those of another run with kernels of a backend that asks for scratch. Exit status 1: other bytes than expected. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tigris.h"
#include "tigris_kernel.h"

#define LARGEST_FILE (1U << 20)

typedef struct half {
    tigris_work work;
    void *argument;
} half;

static TIGRIS_ALIGNED uint8_t plan_bytes[LARGEST_FILE], input[LARGEST_FILE], output[LARGEST_FILE];
static TIGRIS_ALIGNED uint8_t fast[LARGEST_FILE], slow[LARGEST_FILE];

static size_t read_file(const char *path, uint8_t *to)
{
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        perror(path);
        exit(2);
    }
    const size_t bytes = fread(to, 1, LARGEST_FILE, file);
    (void)fclose(file);
    return bytes;
}

static void *run_second(void *context)
{
    const half *second = context;
    second->work(second->argument, 1U);
    return NULL;
}

static void side_by_side(void *context, tigris_work work, void *argument)
{
    half second = {work, argument};
    pthread_t thread;
    if (pthread_create(&thread, NULL, run_second, &second) != 0) {
        exit(2);
    }
    work(argument, 0U);
    (void)pthread_join(thread, NULL);
    ++*(unsigned *)context;
}

static uint32_t some_scratch(const tigris_plan *plan)
{
    (void)plan;
    return 64U;
}

/* Calls that were shared. */
static unsigned run(const tigris_plan *plan, const tigris_backend *backend, size_t output_bytes)
{
    tigris_session session;
    unsigned shared = 0U;
    tigris_status status = tigris_session_init(&session, plan, fast, sizeof fast, slow, sizeof slow, backend);
    session.split = tigris_split;
    session.parallel = side_by_side;
    session.parallel_context = &shared;
    if (status == TIGRIS_OK) {
        memcpy(tigris_input(&session, 0), input, tigris_input_bytes(&session, 0));
        status = tigris_run(&session);
    }
    if (status != TIGRIS_OK || tigris_output_bytes(&session, 0) != output_bytes ||
        memcmp(tigris_output(&session, 0), output, output_bytes) != 0) {
        fprintf(stderr, "wrong: %s\n", tigris_status_text(status));
        exit(1);
    }
    return shared;
}

int main(int count, char **paths)
{
    tigris_plan plan;
    if (count != 4) {
        return 2;
    }
    (void)read_file(paths[2], input);
    const size_t output_bytes = read_file(paths[3], output);
    const tigris_status status = tigris_plan_open(&plan, plan_bytes, read_file(paths[1], plan_bytes));
    if (status != TIGRIS_OK) {
        fprintf(stderr, "%s\n", tigris_status_text(status));
        return 1;
    }
    const tigris_backend with_scratch = {"with scratch", tigris_portable_backend.kernels,
                                         tigris_portable_backend.kernel_count, some_scratch, NULL};
    printf("%u ", run(&plan, &TIGRIS_DEFAULT_BACKEND, output_bytes));
    if (strcmp(TIGRIS_DEFAULT_BACKEND.name, tigris_portable_backend.name) == 0) {
        printf("%u\n", run(&plan, &with_scratch, output_bytes));
    }
    return 0;
}
