/* Runs plans from standard input and prints what run_plan.h says of each. Before each plan come its length and the bytes
 * of the smaller fast and slow arena, UINT32_MAX: any (three uint32, little-endian). A crash ends the output at the plan
 * that caused it. */
#include <stdio.h>
#include <stdlib.h>

#include "run_plan.h"

int main(void)
{
    uint32_t words[3];
    while (fread(words, sizeof words, 1U, stdin) == 1U) {
        uint8_t *data = malloc(words[0] + 1U);
        if (data == NULL || fread(data, 1U, words[0], stdin) != words[0])
            return 2;
        const run_plan_outcome o = run_plan(data, words[0], words[1] == UINT32_MAX ? NULL : &words[1]);
        printf("%d %d %d %d %u %d %u %u\n", (int)o.status, o.ran, o.ran_small, o.differs, (unsigned)o.outputs,
               (int)o.small, (unsigned)o.missing, (unsigned)o.scratch);
        fflush(stdout);
        free(data);
    }
    return 0;
}
