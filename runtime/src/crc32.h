/* CRC-32 with the polynomial of zlib and Ethernet (reflected 0xEDB88320). */
#ifndef TIGRIS_CRC32_H
#define TIGRIS_CRC32_H

#include <stddef.h>
#include <stdint.h>

/* The checksum of `bytes` bytes at `data`. */
uint32_t tigris_crc32(const uint8_t *data, size_t bytes);

/* Extends a checksum: `crc` covers the bytes so far (0 for none), the result covers them followed by `data`. */
uint32_t tigris_crc32_append(uint32_t crc, const uint8_t *data, size_t bytes);

#endif
