/* QEMU's mps2-an386: Arm's Cortex-M4 board with a CMSDK UART. The emulator loads each section where it runs. */
#include "board.h"

#include <stdint.h>

#define REG32(address) (*(volatile uint32_t *)(uintptr_t)(address))
#define UART_DATA REG32(0x40004000U)
#define UART_STATE REG32(0x40004004U)
#define UART_CONTROL REG32(0x40004008U)
#define UART_DIVIDER REG32(0x40004010U)
#define STATE_SEND_FULL 1U
#define CPACR REG32(0xE000ED88U) /* access to the floating-point unit */

extern uint32_t stack_top[];
void reset(void);

void board_print(const char *text)
{
    for (; *text != '\0'; text++) {
        while ((UART_STATE & STATE_SEND_FULL) != 0U) {
        }
        UART_DATA = (uint32_t)(uint8_t)*text;
    }
}

/* Arm's semihosting: SYS_EXIT with ADP_Stopped_ApplicationExit. */
static void end(void)
{
    register uint32_t operation __asm__("r0") = 0x18U;
    register uint32_t reason __asm__("r1") = 0x20026U;
    __asm__ volatile("bkpt 0xab" ::"r"(operation), "r"(reason));
    for (;;) {
    }
}

void reset(void)
{
    CPACR |= 0xFU << 20;
    UART_DIVIDER = 16U;
    UART_CONTROL = 1U;
    (void)main();
    end();
}

typedef void (*vector)(void);
__attribute__((section(".vectors"), used)) static const vector vectors[] = {(vector)(uintptr_t)stack_top, reset, end, end};
