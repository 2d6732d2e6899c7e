/* Runs fuzz_serve.c's target on the inputs of standard input, each after its length in four bytes; prints the number of
 * served requests. Sanitisers detect any access outside the buffers. */
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
