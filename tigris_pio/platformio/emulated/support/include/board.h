/* What an application may use of an emulated board.
 *
 * The flash chip is mapped read-only: bootloader, partition table, application and data, as they were
 * uploaded. Code runs from a copy that the bootloader made, as behind a flash cache. What board_flash_program and
 * board_flash_erase change lasts, as on a chip, until the next upload to that place.
 */
#ifndef BOARD_H
#define BOARD_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* BOARD_NAME is the board's name in platformio.ini, a string. */

/* Puts a zero-initialised object into external RAM, which is outside the board's RAM figure. */
#define BOARD_EXTERNAL_RAM __attribute__((section(".external_ram")))

/* The mapped flash chip and its bytes. */
const uint8_t *board_flash(void);
uint32_t board_flash_bytes(void);

/* Programs bytes at an offset of the chip, both multiples of 4, `from` on a 4-byte boundary. Bits can be cleared only.
 * Returns 1, or 0 when that is not possible: outside the chip, over a cleared bit, or on a board whose chip is for
 * reading only, which the emulated Cortex-M boards are. An erasure sets all bits of the 4096 bytes at an offset that is a
 * multiple of that. Neither is done at once: power may fail between any two words. */
int board_flash_program(uint32_t offset, const void *from, size_t bytes);
int board_flash_erase(uint32_t offset);

/* Reads the bytes that have arrived, at most `capacity`; returns their number, 0 when none. Never waits. */
size_t board_uart_read(uint8_t *data, size_t capacity);

/* Reads that many bytes, sleeping until they have arrived. */
void board_uart_read_all(uint8_t *data, size_t bytes);

/* Writes all bytes, waiting for the line where needed. */
void board_uart_write(const uint8_t *data, size_t bytes);

/* Sleeps until a byte has arrived; returns at once if one is there. May return early. */
void board_wait_uart(void);

/* Instructions executed since reset, modulo 2^32. The emulator counts them exactly, so equal runs give
 * equal figures. Resolution: 1 on RISC-V, 40 on Cortex-M (its timer ticks every 40 instructions). */
uint32_t board_instructions(void);

/* Where a partition of the flash chip lies, by label (at most 16 characters). Returns 0 when there is
 * none, or when it reaches beyond the chip. */
int board_find_partition(const char *label, uint32_t *offset, uint32_t *bytes);

/* Prints the text and stops for ever. */
void board_panic(const char *text);

#ifdef __cplusplus
}
#endif

#endif
