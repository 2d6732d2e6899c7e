/* Runs plans from standard input, each behind its length (uint32, little-endian), and prints for each
 * its status and whether it ran. A crash ends the output at the plan that caused it. */
#include <stdio.h>
#include <stdlib.h>

#include "run_plan.h"

int main(void)
{
    uint32_t bytes;
    while (fread(&bytes, sizeof bytes, 1U, stdin) == 1U) {
        uint8_t *data = malloc(bytes + 1U);
        if (data == NULL || fread(data, 1U, bytes, stdin) != bytes) {
            return 2;
        }
        int ran;
        const tigris_status status = run_plan(data, bytes, &ran);
        printf("%d %d\n", (int)status, ran);
        fflush(stdout);
        free(data);
    }
    return 0;
}
