/* libFuzzer target: the decompressor alone. The first two bytes say how large the result is to be (little-endian), the
 * rest is the block; both lie in memory of exactly their size. Only a block that determines every byte is accepted. */
#include <stdlib.h>
#include <string.h>

#include "lz4.h"

#define SIZE_BYTES 2U

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

static uint8_t *allocate(size_t bytes, int value)
{
    uint8_t *memory = malloc(bytes);
    if (memory == NULL && bytes != 0U)
        abort();
    if (bytes != 0U)
        memset(memory, value, bytes);
    return memory;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    if (bytes <= SIZE_BYTES)
        return 0;
    const uint32_t block_bytes = (uint32_t)(bytes - SIZE_BYTES);
    const uint32_t output_bytes = (uint32_t)data[0] | (uint32_t)data[1] << 8;
    uint8_t *block = allocate(block_bytes, 0);
    memcpy(block, data + SIZE_BYTES, block_bytes);
    uint8_t *first = allocate(output_bytes, 0x00);
    uint8_t *second = allocate(output_bytes, 0xFF);
    const int accepted = tigris_lz4_decompress(block, block_bytes, first, output_bytes);
    if (accepted != tigris_lz4_decompress(block, block_bytes, second, output_bytes) ||
        (accepted && output_bytes != 0U && memcmp(first, second, output_bytes) != 0))
        abort();
    free(block);
    free(first);
    free(second);
    return 0;
}
