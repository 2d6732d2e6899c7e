/* Runs plans with TIGRIS_DEFAULT_BACKEND. Cases from standard input: four words (plan, fast, slow and input bytes;
 * little-endian), then the plan and the input. Writes for each case three words (status, bytes missing, output bytes)
 * and the output. Arenas are allocations of exactly their size, for AddressSanitizer. */
#define _POSIX_C_SOURCE 200112L

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tigris.h"

#define ALIGNMENT 64U

static void *allocate(size_t bytes)
{
    void *memory = NULL;
    if (posix_memalign(&memory, ALIGNMENT, bytes > 0U ? bytes : 1U) != 0) {
        abort();
    }
    memset(memory, 0xA5, bytes);
    return memory;
}

static void *read_block(size_t bytes)
{
    void *memory = allocate(bytes);
    if (fread(memory, 1, bytes, stdin) != bytes) {
        abort();
    }
    return memory;
}

static void answer(tigris_status status, uint32_t missing, const void *output, uint32_t bytes)
{
    const uint32_t words[3] = {(uint32_t)status, missing, bytes};
    fwrite(words, sizeof words, 1, stdout);
    fwrite(output, 1, bytes, stdout);
}

int main(void)
{
    uint32_t sizes[4];
    while (fread(sizes, sizeof sizes, 1, stdin) == 1) {
        tigris_plan plan;
        tigris_session session;
        void *data = read_block(sizes[0]);
        void *input = read_block(sizes[3]);
        void *fast = allocate(sizes[1]); /* the scratch is its top: one byte more is past the allocation */
        uint8_t *slow = allocate(sizes[2]);
        tigris_status status = tigris_plan_open(&plan, data, sizes[0]);
        memset(&session, 0, sizeof session);
        if (status == TIGRIS_OK) {
            status = tigris_session_init(&session, &plan, fast, sizes[1], slow, sizes[2], NULL);
        }
        if (status == TIGRIS_OK && tigris_input_bytes(&session, 0) == sizes[3]) {
            memcpy(tigris_input(&session, 0), input, sizes[3]);
            status = tigris_run(&session);
        }
        answer(status, session.bytes_short, status == TIGRIS_OK ? tigris_output(&session, 0) : "",
               status == TIGRIS_OK ? tigris_output_bytes(&session, 0) : 0U);
        free(data);
        free(input);
        free(fast);
        free(slow);
    }
    return 0;
}
