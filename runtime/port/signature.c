/* tigris_check_signature: whether a plan is signed by the firmware's key. */
#include "signature.h"

#if defined(TIGRIS_SIGNED)

#include <string.h>

#include <tigris_models.h>

TIGRIS_STATIC_ASSERT(sizeof(((tigris_signature_record *)0)->signature) == TIGRIS_SIGNATURE_BYTES, signature_bytes);

static const uint8_t key_bytes[] = {TIGRIS_PUBLIC_KEY};
static const tigris_public_key key = {TIGRIS_PUBLIC_KEY_ALGORITHM, sizeof key_bytes, key_bytes};

tigris_status tigris_check_signature(const void *data, size_t bytes)
{
    uint32_t plan_bytes;
    tigris_signature_record trailer;
    uint8_t digest[TIGRIS_SHA256_BYTES];
    if (data == NULL)
        return TIGRIS_ERR_ARGUMENT;
    if (bytes < sizeof(tigris_header_record))
        return TIGRIS_ERR_TRUNCATED;
    memcpy(&plan_bytes, (const uint8_t *)data + offsetof(tigris_header_record, total_bytes), sizeof plan_bytes);
    if (plan_bytes > bytes - sizeof trailer)
        return TIGRIS_ERR_TRUNCATED;
    memcpy(&trailer, (const uint8_t *)data + plan_bytes, sizeof trailer);
    if (memcmp(trailer.magic, "TGSG", sizeof trailer.magic) != 0 || trailer.record_bytes != sizeof trailer ||
        trailer.algorithm != key.algorithm)
        return TIGRIS_ERR_SIGNATURE;
    tigris_port_sha256(data, plan_bytes, digest);
    return tigris_port_verify(&key, digest, trailer.signature) == 1 ? TIGRIS_OK : TIGRIS_ERR_SIGNATURE;
}

#else
typedef int tigris_port_signature_unused;
#endif
