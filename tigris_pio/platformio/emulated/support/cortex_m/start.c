/* Vector table and reset code of the bootloader (address 0) and of an application. */
#include <stdint.h>

#include "board.h"

void BOARD_ENTRY(void);
void board_reset(void);
void board_fault(void);

extern uint32_t __data_start[], __data_end[], __data_load[], __bss_start[], __bss_end[];
extern uint32_t __external_start[], __external_end[], __stack_top[];

#define CPACR (*(volatile uint32_t *)0xE000ED88u)

void board_reset(void)
{
    CPACR |= 0xFu << 20; /* floating-point unit on */
    __asm__ volatile("dsb\n\tisb");
    const uint32_t *source = __data_load;
    for (uint32_t *word = __data_start; word < __data_end; word++)
        *word = *source++;
    for (uint32_t *word = __bss_start; word < __bss_end; word++)
        *word = 0;
    for (uint32_t *word = __external_start; word < __external_end; word++)
        *word = 0;
    BOARD_ENTRY();
    for (;;) {
    }
}

void board_fault(void)
{
    static const char text[] = "\r\npanic: processor fault\r\n";
    board_uart_write((const uint8_t *)text, sizeof text - 1);
    for (;;)
        __asm__ volatile("wfi");
}

typedef void (*vector)(void);

/* Faults only: interrupts stay masked. 64 entries fill the table's 256-byte alignment. */
__attribute__((section(".vectors"), used)) static const vector vectors[64] = {
    (vector)(uintptr_t)__stack_top, board_reset, board_fault, board_fault, board_fault, board_fault, board_fault,
};
