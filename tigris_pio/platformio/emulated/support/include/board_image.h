/* The layouts that the bootloader and an application share. */
#ifndef BOARD_IMAGE_H
#define BOARD_IMAGE_H

#include <stdint.h>

#define BOARD_PARTITION_TABLE_OFFSET 0x8000u
#define BOARD_PARTITION_TABLE_BYTES 0xC00u
#define BOARD_PARTITION_MAGIC 0x50AAu /* bytes AA 50 */
#define BOARD_PARTITION_APP 0x00u

/* ESP-IDF's partition table entry: 32 bytes, little-endian. The table ends at the first entry with another magic.
 * Source: ESP-IDF API guide "Partition Tables". */
typedef struct board_partition {
    uint16_t magic;
    uint8_t type;
    uint8_t subtype;
    uint32_t offset;
    uint32_t bytes;
    char label[16]; /* zero-padded, not terminated when 16 long */
    uint32_t flags;
} board_partition;

#define BOARD_IMAGE_MAGIC 0x31474D49u /* "IMG1" */

/* First bytes of an application in its partition. The bootloader copies `bytes` bytes, from the header on, to
 * `load`. */
typedef struct board_image {
    uint32_t magic;
    uint32_t load;  /* address of this header once loaded */
    uint32_t bytes; /* of the whole image */
    uint32_t entry; /* RISC-V: first instruction; Cortex-M: vector table */
} board_image;

/* Per core. */
void board_uart_init(void);
void board_protect_flash(void); /* a write to mapped flash becomes a fault */
void board_jump(uint32_t entry) __attribute__((noreturn));

#endif
