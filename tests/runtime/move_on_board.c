/* Moves on a board, with the instructions that only its processor has, against moves byte by byte. Prints "right", or the
 * first move that is not; a fault ends the emulation and prints neither. */
#include "bench.h"

#include "move.h"

#define BLOCK_BYTES 320U
#define LARGEST 200U
#define LARGEST_APART 80U

static uint32_t words[BLOCK_BYTES / 4U];
static uint8_t expected[BLOCK_BYTES];

/* Every byte of the block, those around what moves too. */
static int is_right(uint32_t to, uint32_t from, uint32_t bytes)
{
    uint8_t *block = (uint8_t *)words;
    for (uint32_t i = 0; i < BLOCK_BYTES; i++) {
        block[i] = (uint8_t)(i * 37U + (i >> 3U) + bytes);
        expected[i] = block[i];
    }
    for (uint32_t i = 0; i < bytes; i++)
        expected[to + i] = block[from + i];
    tigris_move(block + to, block + from, bytes);
    for (uint32_t i = 0; i < BLOCK_BYTES; i++)
        if (block[i] != expected[i])
            return 0;
    return 1;
}

static void take(uint32_t to, uint32_t from, uint32_t bytes)
{
    if (!is_right(to, from, bytes)) {
        bench_print("wrong: to, from, bytes ");
        print_decimal(to);
        print_decimal(from);
        print_decimal(bytes);
        bench_print("\n");
        bench_exit();
    }
}

/* Downward by what overlaps and by what does not, from each place in a word to each; and upward. */
void bench_main(void)
{
    static const uint32_t far[] = {0U, 1U, 2U, 3U, 4U, 5U, 8U, 28U, 31U, 32U, 36U, 64U, LARGEST_APART};
    for (uint32_t bytes = 0; bytes <= LARGEST; bytes++) {
        for (uint32_t low = 8U; low < 12U; low++) {
            for (uint32_t i = 0; i < sizeof far / sizeof *far; i++) {
                take(low, low + far[i], bytes);
                take(low + far[i], low, bytes);
            }
        }
    }
    bench_print("right\n");
    bench_exit();
}
