/* Copies of bytes, by words where C libraries copy byte by byte. */
#ifndef TIGRIS_MOVE_H
#define TIGRIS_MOVE_H

#include <stdint.h>

/* Copies `bytes` bytes as if one by one, from the first to the last. If `to` lies n bytes after `from` and n < bytes,
 * the first n bytes repeat, as LZ4 needs. */
void tigris_copy_forward(uint8_t *to, const uint8_t *from, uint32_t bytes);

/* The same as memmove. */
void tigris_move(uint8_t *to, const uint8_t *from, uint32_t bytes);

#endif
