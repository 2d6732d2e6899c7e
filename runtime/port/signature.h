/* The trailer of signed plans, for firmware that is compiled with TIGRIS_SIGNED. */
#ifndef TIGRIS_SIGNATURE_H
#define TIGRIS_SIGNATURE_H

#include "tigris_port.h"

/* Bytes behind a plan that belong to it. */
#if defined(TIGRIS_SIGNED)
#define TIGRIS_TRAILER_BYTES ((uint32_t)sizeof(tigris_signature_record))
#else
#define TIGRIS_TRAILER_BYTES 0U
#endif

/* Whether a plan of `plan_bytes` and its trailer fit `limit` bytes. */
static inline int tigris_fits_with_trailer(uint32_t plan_bytes, uint32_t limit)
{
    return (uint64_t)plan_bytes + TIGRIS_TRAILER_BYTES <= limit;
}

/* verify_library.c has tigris_port_sha256 and tigris_port_verify. */
#if defined(ESP_PLATFORM) || defined(TIGRIS_MBEDTLS) || defined(TIGRIS_PSA)
#define TIGRIS_LIBRARY_VERIFIES 1
#endif

#endif
