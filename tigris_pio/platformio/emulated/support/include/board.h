/* The interface of an emulated board for applications.
 *
 * The flash chip is mapped read-only. It holds bootloader, partition table, application and data as they were
 * uploaded. Code runs from a copy that the bootloader made. Changes by board_flash_program and board_flash_erase
 * persist until the next upload to that place. */
#ifndef BOARD_H
#define BOARD_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* BOARD_NAME is the board's name in platformio.ini, a string. */

/* Puts a zero-initialised object into external RAM, which is outside the board's RAM figure. Slow arenas lie there. */
#define BOARD_EXTERNAL_RAM __attribute__((section(".external_ram")))
#undef TIGRIS_SLOW_MEMORY
#define TIGRIS_SLOW_MEMORY BOARD_EXTERNAL_RAM

/* The mapped flash chip and its bytes. */
const uint8_t *board_flash(void);
uint32_t board_flash_bytes(void);

/* board_flash_program writes `bytes` bytes at an offset of the chip, both multiples of 4; `from` has a 4-byte
 * boundary. It can only clear bits. board_flash_erase sets all bits of the 4096 bytes at an offset that is a
 * multiple of 4096. Both return 1, or 0 if they fail: outside the chip, over a cleared bit, or on the emulated
 * Cortex-M boards, whose flash is read-only. Neither is atomic: power may fail between any two words. */
int board_flash_program(uint32_t offset, const void *from, size_t bytes);
int board_flash_erase(uint32_t offset);

/* Reads received bytes, at most `capacity`; returns their number. Never waits. */
size_t board_uart_read(uint8_t *data, size_t capacity);

/* Reads `bytes` bytes, and sleeps until they have arrived. */
void board_uart_read_all(uint8_t *data, size_t bytes);

/* Writes all bytes; waits while the line is busy. */
void board_uart_write(const uint8_t *data, size_t bytes);

/* Sleeps until a byte is received; returns at once if one waits. May return early. */
void board_wait_uart(void);

/* Instructions executed since reset, modulo 2^32. The emulator counts them exactly, so equal runs give
 * equal figures. Resolution: 1 on RISC-V, 40 on Cortex-M (its timer ticks every 40 instructions). */
uint32_t board_instructions(void);

/* Finds a partition of the flash chip by label (at most 16 characters). Returns 1, or 0 if there is none or if it
 * exceeds the chip. */
int board_find_partition(const char *label, uint32_t *offset, uint32_t *bytes);

/* Prints the text and stops; never returns. */
void board_panic(const char *text);

#ifdef __cplusplus
}
#endif

#endif
