/* Feeds fuzz_serve.c's target the inputs on standard input, each behind its length in four bytes; prints how many requests
 * were served. Built with the sanitisers on: whatever arrives, nothing outside the buffers may be touched. */
#include <stdio.h>

#include "fuzz_serve.c"

int main(void)
{
    static uint8_t input[1U << 20];
    uint32_t bytes;

    while (fread(&bytes, sizeof bytes, 1, stdin) == 1 && bytes <= sizeof input && fread(input, 1, bytes, stdin) == bytes)
        (void)LLVMFuzzerTestOneInput(input, bytes);
    printf("%lu\n", all_served);
    return 0;
}
