/* QEMU's MPS2 boards (AN386, AN500) and the MPS3 board AN547 (Cortex-M55): CMSDK UART 0, a counter, flash image in
 * the external memory. Armv8-M starts in the secure state and stays there. */
#include "board.h"
#include "board_image.h"

#if defined(BOARD_EMU_CORTEX_M4)
#define FLASH_BASE 0x21000000u
#else
#define FLASH_BASE 0x60000000u
#endif

#define REG32(address) (*(volatile uint32_t *)(uintptr_t)(address))

#define UART_DATA REG32(UART_BASE + 0x0)
#define UART_STATE REG32(UART_BASE + 0x4)
#define UART_CTRL REG32(UART_BASE + 0x8)
#define UART_INT_CLEAR REG32(UART_BASE + 0xC)
#define UART_BAUD_DIVIDER REG32(UART_BASE + 0x10)
#define STATE_SEND_FULL 0x1u
#define STATE_RECEIVED 0x2u

#if __ARM_ARCH >= 8
#define UART_BASE 0x59303000u
#define UART_RECEIVE_IRQ 33u
/* The system counter runs at 32 MHz and an emulated instruction takes 1 ns: 31.25 instructions for each tick. */
#define COUNTER_ENABLE REG32(0x58100000u)
#define COUNTER_LOW REG32(0x58100008u)
#define COUNTER_HIGH REG32(0x5810000Cu)
#define INSTRUCTIONS_PER_4_TICKS 125u
#else
#define UART_BASE 0x40004000u
#define UART_RECEIVE_IRQ 0u
/* The timer runs at 25 MHz; an emulated instruction takes 1 ns. */
#define TIMER_CTRL REG32(0x40000000u)
#define TIMER_VALUE REG32(0x40000004u)
#define TIMER_RELOAD REG32(0x40000008u)
#define INSTRUCTIONS_PER_TICK 40u
#endif

#define NVIC_ENABLE REG32(0xE000E100u + UART_RECEIVE_IRQ / 32u * 4u)
#define NVIC_CLEAR_PENDING REG32(0xE000E280u + UART_RECEIVE_IRQ / 32u * 4u)
#define NVIC_BIT (1u << UART_RECEIVE_IRQ % 32u)
#define MPU_CTRL REG32(0xE000ED94u)
#define MPU_REGION REG32(0xE000ED98u)
#define MPU_BASE REG32(0xE000ED9Cu)
#define MPU_SIZE REG32(0xE000EDA0u)
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
    NVIC_ENABLE = NVIC_BIT;
#if __ARM_ARCH >= 8
    COUNTER_ENABLE = 1;
#else
    if (!(TIMER_CTRL & 1u)) {
        TIMER_RELOAD = 0xFFFFFFFFu;
        TIMER_VALUE = 0xFFFFFFFFu;
        TIMER_CTRL = 1;
    }
#endif
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
    NVIC_CLEAR_PENDING = NVIC_BIT;
}

/* Modulo 2^32. */
uint32_t board_instructions(void)
{
#if __ARM_ARCH >= 8
    uint32_t high, low;
    do {
        high = COUNTER_HIGH;
        low = COUNTER_LOW;
    } while (high != COUNTER_HIGH);
    return (uint32_t)(((uint64_t)high << 32 | low) * INSTRUCTIONS_PER_4_TICKS / 4u);
#else
    return (0xFFFFFFFFu - TIMER_VALUE) * INSTRUCTIONS_PER_TICK;
#endif
}

/* MPU region 0 makes the 16 MB that stand for flash read-only; the rest is as without the MPU.
 * Encoding: Armv7-M and Armv8-M architecture reference manuals, "Protected Memory System Architecture". */
void board_protect_flash(void)
{
    MPU_REGION = 0;
#if __ARM_ARCH >= 8
    MPU_MEMORY = 0xFFu;                               /* memory 0: normal, write-back */
    MPU_BASE = FLASH_BASE | (3u << 1);                /* read-only */
    MPU_SIZE = ((FLASH_BASE + 0x00FFFFFFu) & ~31u) | 1u; /* to this address, memory 0, on */
#else
    MPU_BASE = FLASH_BASE;
    MPU_SIZE = (6u << 24) | (23u << 1) | 1u; /* read-only, 2^24 bytes, on */
#endif
    MPU_CTRL = 0x4u | 0x1u; /* default map for the rest, on */
    __asm__ volatile("dsb\n\tisb");
}

void board_jump(uint32_t entry)
{
    const uint32_t *vectors = (const uint32_t *)(uintptr_t)entry;
    SCB_VTOR = entry;
    __asm__ volatile("dsb\n\tisb\n\tmsr msp, %0\n\tbx %1" ::"r"(vectors[0]), "r"(vectors[1]));
    __builtin_unreachable();
}
