/* Decompressor of one LZ4 block (github.com/lz4/lz4, doc/lz4_Block_format.md; no frame, no dictionary). */
#ifndef TIGRIS_LZ4_H
#define TIGRIS_LZ4_H

#include <stdint.h>

/* Decompresses `input` to exactly `output_bytes` bytes of `output`. Returns 1; 0 if the block is damaged or has another
 * length. Never reads outside the input or writes outside the output. */
int tigris_lz4_decompress(const uint8_t *input, uint32_t input_bytes, uint8_t *output, uint32_t output_bytes);

#endif
