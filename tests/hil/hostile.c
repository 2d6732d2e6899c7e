/* Feeds a server what standard input holds, as fuzz_serve.c does; prints how many requests were served and how many bytes
 * were sent. Built with the sanitisers on: whatever arrives, nothing outside the buffers may be touched. */
#include <stdio.h>

#include "fuzz_serve.c"

int main(void)
{
    static uint8_t received[1U << 26];
    feed f = {.is_patient = 1};

    append(&f, received, fread(received, 1, sizeof received, stdin));
    const unsigned served = serve(&f);
    if (f.in_frame)
        abort();
    free(f.data);
    printf("%u %zu\n", served, f.sent);
    return 0;
}
