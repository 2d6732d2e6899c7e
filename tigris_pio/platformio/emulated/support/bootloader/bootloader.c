/* Second-stage bootloader: finds the application in the partition table, copies it to its load address and jumps there.
 * Runs from the first 32 KB of flash. */
#include <string.h>

#include "board.h"
#include "board_image.h"

void bootloader_main(void);
void *memcpy(void *to, const void *from, size_t bytes);

static void put(const char *text)
{
    size_t bytes = 0;
    while (text[bytes] != '\0')
        bytes++;
    board_uart_write((const uint8_t *)text, bytes);
}

static void put_hex(uint32_t value)
{
    char text[11] = "0x00000000";
    for (int i = 9; i > 1; i--, value >>= 4)
        text[i] = "0123456789abcdef"[value & 15u];
    put(text);
}

static void stop(const char *text)
{
    put("boot: ");
    put(text);
    put("\r\n");
    for (;;)
        board_wait_uart();
}

void *memcpy(void *to, const void *from, size_t bytes)
{
    uint8_t *target = to;
    const uint8_t *source = from;
    for (; bytes >= 4 && (((uintptr_t)target | (uintptr_t)source) & 3u) == 0; bytes -= 4, target += 4, source += 4)
        *(uint32_t *)(void *)target = *(const uint32_t *)(const void *)source;
    while (bytes-- > 0)
        *target++ = *source++;
    return to;
}

static const board_partition *find_application(void)
{
    const board_partition *entry = (const board_partition *)(const void *)(board_flash() + BOARD_PARTITION_TABLE_OFFSET);
    const board_partition *end = entry + BOARD_PARTITION_TABLE_BYTES / sizeof *entry;
    if (entry->magic != BOARD_PARTITION_MAGIC)
        stop("no partition table at 0x8000");
    for (; entry < end && entry->magic == BOARD_PARTITION_MAGIC; entry++)
        if (entry->type == BOARD_PARTITION_APP)
            return entry;
    stop("the partition table names no application");
    return entry;
}

void bootloader_main(void)
{
    board_uart_init();
    put("\r\nboot: flash ");
    put_hex(board_flash_bytes());
    const board_partition *application = find_application();
    put(" bytes, application at ");
    put_hex(application->offset);
    put("\r\n");
    if (application->offset > board_flash_bytes() || application->bytes > board_flash_bytes() - application->offset)
        stop("the application's partition reaches beyond the flash chip");
    const board_image *image = (const board_image *)(const void *)(board_flash() + application->offset);
    if (image->magic != BOARD_IMAGE_MAGIC)
        stop("the application's partition holds no application");
    if (image->bytes > application->bytes)
        stop("the application is larger than its partition");
    memcpy((void *)(uintptr_t)image->load, image, image->bytes);
    board_protect_flash();
    board_jump(image->entry);
}
