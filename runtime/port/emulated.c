/* The port of the emulated boards, whose flash chip is always mapped. */
#if defined(BOARD_EMULATED)

#include <string.h>

#include "board.h"
#include "tigris_port.h"

tigris_status tigris_port_map(const char *label, uint32_t offset, size_t bytes, const void **data)
{
    uint32_t start = 0;
    uint32_t size = 0;
    if (!board_find_partition(label, &start, &size))
        return TIGRIS_ERR_PARTITION;
    if (offset > size || bytes > size - offset)
        return TIGRIS_ERR_PARTITION_TOO_SMALL;
    *data = board_flash() + start + offset;
    return TIGRIS_OK;
}

tigris_status tigris_port_read(const char *label, uint32_t offset, void *to, size_t bytes)
{
    const void *data = NULL;
    const tigris_status status = tigris_port_map(label, offset, bytes, &data);
    if (status == TIGRIS_OK)
        memcpy(to, data, bytes);
    return status;
}

#else
typedef int tigris_port_emulated_unused;
#endif
