/* Writes partitions of the emulated boards. A file of its own, so that firmware whose models have one slot does not
 * link it. */
#if defined(BOARD_EMULATED)

#include "board.h"
#include "tigris_port.h"

static tigris_status find_range(const char *label, uint32_t offset, size_t bytes, uint32_t *start)
{
    uint32_t size = 0;
    if (!board_find_partition(label, start, &size))
        return TIGRIS_ERR_PARTITION;
    return offset > size || bytes > size - offset ? TIGRIS_ERR_PARTITION_TOO_SMALL : TIGRIS_OK;
}

static tigris_status erase(const char *label, uint32_t offset)
{
    uint32_t start = 0;
    const tigris_status status = find_range(label, offset, TIGRIS_FLASH_SECTOR, &start);
    if (status != TIGRIS_OK)
        return status;
    return board_flash_erase(start + offset) ? TIGRIS_OK : TIGRIS_ERR_FLASH;
}

static tigris_status program(const char *label, uint32_t offset, const void *from, size_t bytes)
{
    uint32_t start = 0;
    const tigris_status status = find_range(label, offset, bytes, &start);
    if (status != TIGRIS_OK)
        return status;
    return board_flash_program(start + offset, from, bytes) ? TIGRIS_OK : TIGRIS_ERR_FLASH;
}

static tigris_status is_erased(const char *label, uint32_t offset, size_t bytes, int *erased)
{
    uint32_t start = 0;
    const tigris_status status = find_range(label, offset, bytes, &start);
    *erased = status == TIGRIS_OK;
    for (size_t i = 0; i < bytes && *erased; i++)
        *erased = board_flash()[start + offset + i] == 0xFFU;
    return status;
}

const tigris_flash tigris_port_flash = {erase, program, is_erased};

#else
typedef int tigris_port_emulated_flash_unused;
#endif
