/* Moves of bytes, by words where C libraries go byte by byte. */
#ifndef TIGRIS_MOVE_H
#define TIGRIS_MOVE_H

#include <stdint.h>

/* Copies `bytes` bytes as if one after the other, from the first to the last: where `to` lies `n` bytes inside what is
 * copied, the first `n` are repeated. */
void tigris_copy_forward(uint8_t *to, const uint8_t *from, uint32_t bytes);

/* memmove. */
void tigris_move(uint8_t *to, const uint8_t *from, uint32_t bytes);

#endif
