/* Partitions of the emulated boards: their whole flash chip is mapped at all times. */
#if defined(BOARD_EMULATED)

#include "board.h"
#include "tigris_port.h"

tigris_status tigris_port_find_partition(const char *label, const void **data, size_t *bytes)
{
    uint32_t offset = 0;
    uint32_t size = 0;
    if (!board_find_partition(label, &offset, &size))
        return TIGRIS_ERR_PARTITION;
    *data = board_flash() + offset;
    *bytes = size;
    return TIGRIS_OK;
}

#else
typedef int tigris_port_emulated_unused;
#endif
