/* Runs plans from standard input, each behind its length (uint32, little-endian), and prints what run_plan.h says of
 * each. A crash ends the output at the plan that caused it. */
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
        const run_plan_outcome outcome = run_plan(data, bytes);
        printf("%d %d %d %d %u\n", (int)outcome.status, outcome.ran, outcome.ran_small, outcome.differs,
               (unsigned)outcome.outputs);
        fflush(stdout);
        free(data);
    }
    return 0;
}
