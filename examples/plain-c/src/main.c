/* Reads handwritten digits with a network that is C. */
#include "board.h"
#include "digits.h"
#include "pictures.h"

static DIGITS_ALIGNED uint8_t fast[DIGITS_FAST_BYTES];

static char largest(const int8_t scores[DIGITS_OUTPUT_BYTES])
{
    unsigned best = 0U;
    for (unsigned digit = 1U; digit < DIGITS_OUTPUT_BYTES; digit++) {
        best = scores[digit] > scores[best] ? digit : best;
    }
    return (char)('0' + best);
}

int main(void)
{
    char line[] = "picture 0 is a 0, read as 0\n";
    for (unsigned i = 0U; i < PICTURES; i++) {
        int8_t scores[DIGITS_OUTPUT_BYTES];
        if (digits_run(pictures[i], scores, fast) != DIGITS_OK) {
            board_print("the network did not run\n");
            return 1;
        }
        line[8] = (char)('0' + i);
        line[15] = labels[i];
        line[26] = largest(scores);
        board_print(line);
    }
    return 0;
}
