#include "board.h"
#include "board_image.h"

static int label_equals(const char *stored, const char *label)
{
    for (unsigned i = 0; i < sizeof((board_partition *)0)->label; i++) {
        if (stored[i] != label[i])
            return 0;
        if (label[i] == '\0')
            return 1;
    }
    return label[sizeof((board_partition *)0)->label] == '\0';
}

int board_find_partition(const char *label, uint32_t *offset, uint32_t *bytes)
{
    const board_partition *entry = (const board_partition *)(const void *)(board_flash() + BOARD_PARTITION_TABLE_OFFSET);
    const board_partition *end = entry + BOARD_PARTITION_TABLE_BYTES / sizeof *entry;
    for (; entry < end && entry->magic == BOARD_PARTITION_MAGIC; entry++) {
        if (!label_equals(entry->label, label))
            continue;
        if (entry->offset > board_flash_bytes() || entry->bytes > board_flash_bytes() - entry->offset)
            return 0;
        *offset = entry->offset;
        *bytes = entry->bytes;
        return 1;
    }
    return 0;
}
