/* CRC-32 with the polynomial of zlib and Ethernet (reflected 0xEDB88320). */
#ifndef TIGRIS_CRC32_H
#define TIGRIS_CRC32_H

#include <stddef.h>
#include <stdint.h>

uint32_t tigris_crc32(const uint8_t *data, size_t bytes);

/* The checksum of what `crc` is that of, followed by `data`; that of nothing is 0. */
uint32_t tigris_crc32_of_more(uint32_t crc, const uint8_t *data, size_t bytes);

#endif
