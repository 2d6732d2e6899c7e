/* QEMU's MPS3 board AN547: CMSDK UART 0, the system counter of its SSE-300, flash image in the external DDR memory. The
 * processor starts in the secure state and stays there. */
#include "board.h"
#include "board_image.h"

#define FLASH_BASE 0x60000000u
#define FLASH_WINDOW 0x01000000u
#define UART_BASE 0x59303000u
#define COUNTER_CONTROL 0x58100000u

#define REG32(address) (*(volatile uint32_t *)(uintptr_t)(address))

#define UART_DATA REG32(UART_BASE + 0x0)
#define UART_STATE REG32(UART_BASE + 0x4)
#define UART_CTRL REG32(UART_BASE + 0x8)
#define UART_INT_CLEAR REG32(UART_BASE + 0xC)
#define UART_BAUD_DIVIDER REG32(UART_BASE + 0x10)
#define STATE_SEND_FULL 0x1u
#define STATE_RECEIVED 0x2u
#define UART_RECEIVE_IRQ 33u

#define COUNTER_ENABLE REG32(COUNTER_CONTROL + 0x0)
#define COUNTER_LOW REG32(COUNTER_CONTROL + 0x8)
#define COUNTER_HIGH REG32(COUNTER_CONTROL + 0xC)
/* The counter runs at 32 MHz and an emulated instruction takes 1 ns: 31.25 instructions for each tick. */
#define INSTRUCTIONS_PER_4_TICKS 125u

#define NVIC_ENABLE_1 REG32(0xE000E104u)
#define NVIC_CLEAR_PENDING_1 REG32(0xE000E284u)
#define NVIC_BIT (1u << (UART_RECEIVE_IRQ - 32u))
#define MPU_CTRL REG32(0xE000ED94u)
#define MPU_REGION REG32(0xE000ED98u)
#define MPU_BASE REG32(0xE000ED9Cu)
#define MPU_LIMIT REG32(0xE000EDA0u)
#define MPU_MEMORY REG32(0xE000EDC0u)
#define SCB_VTOR REG32(0xE000ED08u)

const uint8_t *board_flash(void)
{
    return (const uint8_t *)(uintptr_t)FLASH_BASE;
}

uint32_t board_flash_bytes(void)
{
    return BOARD_FLASH_BYTES;
}

/* The flash chip is an image in RAM, so writes would be lost at power-off. */
int board_flash_program(uint32_t offset, const void *from, size_t bytes)
{
    (void)offset, (void)from, (void)bytes;
    return 0;
}

int board_flash_erase(uint32_t offset)
{
    (void)offset;
    return 0;
}

/* The interrupt only wakes `wfi`. It stays masked, so no handler can race with a reader. */
void board_uart_init(void)
{
    __asm__ volatile("cpsid i");
    UART_BAUD_DIVIDER = 16;
    UART_CTRL = 0x1u | 0x2u | 0x8u; /* send, receive, receive interrupt */
    NVIC_ENABLE_1 = NVIC_BIT;
    COUNTER_ENABLE = 1;
}

size_t board_uart_read(uint8_t *data, size_t capacity)
{
    size_t taken = 0;
    while (taken < capacity && (UART_STATE & STATE_RECEIVED))
        data[taken++] = (uint8_t)UART_DATA;
    return taken;
}

void board_uart_write(const uint8_t *data, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++) {
        while (UART_STATE & STATE_SEND_FULL) {
        }
        UART_DATA = data[i];
    }
}

void board_wait_uart(void)
{
    if (UART_STATE & STATE_RECEIVED)
        return;
    __asm__ volatile("wfi");
    UART_INT_CLEAR = 0x2;
    NVIC_CLEAR_PENDING_1 = NVIC_BIT;
}

/* Modulo 2^32. */
uint32_t board_instructions(void)
{
    uint32_t high, low;
    do {
        high = COUNTER_HIGH;
        low = COUNTER_LOW;
    } while (high != COUNTER_HIGH);
    return (uint32_t)(((uint64_t)high << 32 | low) * INSTRUCTIONS_PER_4_TICKS / 4u);
}

/* MPU region 0 makes the 16 MB that stand for flash read-only; the rest is as without the MPU.
 * Encoding: Armv8-M architecture reference manual, "Protected Memory System Architecture". */
void board_protect_flash(void)
{
    MPU_MEMORY = 0xFFu; /* memory 0: normal, write-back */
    MPU_REGION = 0;
    MPU_BASE = FLASH_BASE | (3u << 1);                      /* read-only */
    MPU_LIMIT = ((FLASH_BASE + FLASH_WINDOW - 1u) & ~31u) | 1u; /* memory 0, on */
    MPU_CTRL = 0x4u | 0x1u;                                 /* default map for the rest, on */
    __asm__ volatile("dsb\n\tisb");
}

void board_jump(uint32_t entry)
{
    const uint32_t *vectors = (const uint32_t *)(uintptr_t)entry;
    SCB_VTOR = entry;
    __asm__ volatile("dsb\n\tisb\n\tmsr msp, %0\n\tbx %1" ::"r"(vectors[0]), "r"(vectors[1]));
    __builtin_unreachable();
}
