/* A port for firmware without a partition table: the linker places the only partition.
 *
 * Define TIGRIS_PORT_LINKED for the runtime, and the two symbols either in the linker script
 *
 *     .model : ALIGN(64) { tigris_partition_start = .; KEEP(*(.model)) tigris_partition_end = .; } > FLASH
 *
 * or in an assembler file that includes the file that `tigris layout` wrote:
 *
 *             .section .rodata
 *             .balign 64
 *             .global tigris_partition_start, tigris_partition_end
 *     tigris_partition_start: .incbin "model.bin"
 *     tigris_partition_end:
 *
 * TIGRIS_PORT_LINKED is the partition's label as a string, such as "model". */
#if defined(TIGRIS_PORT_LINKED)

#include <string.h>

#include "tigris_port.h"

extern const uint8_t tigris_partition_start[];
extern const uint8_t tigris_partition_end[];

tigris_status tigris_port_map(const char *label, uint32_t offset, size_t bytes, const void **data)
{
    const size_t size = (uintptr_t)tigris_partition_end - (uintptr_t)tigris_partition_start;
    if (strcmp(label, TIGRIS_PORT_LINKED) != 0)
        return TIGRIS_ERR_PARTITION;
    if (offset > size || bytes > size - offset)
        return TIGRIS_ERR_PARTITION_TOO_SMALL;
    *data = tigris_partition_start + offset;
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
typedef int tigris_port_linked_unused;
#endif
