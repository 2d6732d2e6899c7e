/* Works on four bits at a time: a table of 64 bytes in place of 1,024, at half the speed. */
#include "crc32.h"

#include "tigris.h"

#define POLYNOMIAL 0xEDB88320U
#define STEP(c) (((c) & 1U) != 0U ? POLYNOMIAL ^ ((c) >> 1) : (c) >> 1)
#define NIBBLE(n) STEP(STEP(STEP(STEP((uint32_t)(n)))))

static const uint32_t table[16] = {
    NIBBLE(0), NIBBLE(1), NIBBLE(2),  NIBBLE(3),  NIBBLE(4),  NIBBLE(5),  NIBBLE(6),  NIBBLE(7),
    NIBBLE(8), NIBBLE(9), NIBBLE(10), NIBBLE(11), NIBBLE(12), NIBBLE(13), NIBBLE(14), NIBBLE(15),
};

uint32_t tigris_crc32(const uint8_t *data, size_t bytes)
{
    return tigris_crc32_append(0U, data, bytes);
}

uint32_t tigris_crc32_append(uint32_t crc, const uint8_t *data, size_t bytes)
{
    crc = ~crc;
    for (size_t i = 0; i < bytes; i++) {
        crc ^= data[i];
        crc = (crc >> 4) ^ table[crc & 15U];
        crc = (crc >> 4) ^ table[crc & 15U];
    }
    return ~crc;
}

tigris_status tigris_plan_check_crc(const tigris_plan *plan)
{
    if (plan == NULL || plan->header == NULL) {
        return TIGRIS_ERR_ARGUMENT;
    }
    const size_t bytes = plan->header->total_bytes - TIGRIS_CRC_COVERS_FROM;
    return tigris_crc32(plan->base + TIGRIS_CRC_COVERS_FROM, bytes) == plan->header->crc32 ? TIGRIS_OK
                                                                                             : TIGRIS_ERR_CRC;
}
