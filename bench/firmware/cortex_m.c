/* QEMU's MPS2 boards: CMSDK UART 0 and timer 0, semihosting to end the emulation. */
#include "bench.h"

#define REG32(address) (*(volatile uint32_t *)(uintptr_t)(address))
#define UART_DATA REG32(0x40004000u)
#define UART_STATE REG32(0x40004004u)
#define UART_CTRL REG32(0x40004008u)
#define UART_BAUD_DIVIDER REG32(0x40004010u)
#define STATE_SEND_FULL 1u
#define TIMER_CTRL REG32(0x40000000u)
#define TIMER_VALUE REG32(0x40000004u)
#define TIMER_RELOAD REG32(0x40000008u)
/* The timer runs at 25 MHz and the emulator takes 1 ns an instruction. */
#define INSTRUCTIONS_PER_TICK 40u
#define CPACR REG32(0xE000ED88u)

void reset(void);

void reset(void)
{
    CPACR |= 0xFu << 20; /* floating-point unit on */
    UART_BAUD_DIVIDER = 16;
    UART_CTRL = 1;
    TIMER_RELOAD = 0xFFFFFFFFu;
    TIMER_VALUE = 0xFFFFFFFFu;
    TIMER_CTRL = 1;
    bench_main();
}

typedef void (*vector)(void);

__attribute__((section(".start"), used)) static const vector vectors[] = {(vector)(uintptr_t)bench_stack_high, reset,
                                                                         bench_exit, bench_exit};

uint32_t bench_instructions(void)
{
    return (0xFFFFFFFFu - TIMER_VALUE) * INSTRUCTIONS_PER_TICK;
}

void bench_print(const char *text)
{
    while (*text != '\0') {
        while ((UART_STATE & STATE_SEND_FULL) != 0u) {
        }
        UART_DATA = (uint32_t)(uint8_t)*text++;
    }
}

/* SYS_EXIT with ADP_Stopped_ApplicationExit: Arm's semihosting specification. */
void bench_exit(void)
{
    register uint32_t operation __asm__("r0") = 0x18u;
    register uint32_t reason __asm__("r1") = 0x20026u;
    __asm__ volatile("bkpt 0xab" ::"r"(operation), "r"(reason));
    for (;;) {
    }
}
