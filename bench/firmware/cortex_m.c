/* QEMU's MPS2 boards and the MPS3 AN547 (Cortex-M55): CMSDK UART 0, a timer, semihosting to end the emulation, which takes
 * 1 ns an instruction. */
#include "bench.h"

#define REG32(address) (*(volatile uint32_t *)(uintptr_t)(address))
#define CPACR REG32(0xE000ED88u)
#if __ARM_ARCH >= 8
/* SysTick at 32 MHz: 31.25 instructions a tick, and half a second of the emulated time until it wraps. */
#define UART 0x59303000u
#define TIMER_CTRL REG32(0xE000E010u)
#define TIMER_RELOAD REG32(0xE000E014u)
#define TIMER_VALUE REG32(0xE000E018u)
#define TIMER_ON 5u
#define LARGEST 0xFFFFFFu
#define INSTRUCTIONS_PER_4_TICKS 125u
#else
/* Timer 0 at 25 MHz. */
#define UART 0x40004000u
#define TIMER_CTRL REG32(0x40000000u)
#define TIMER_VALUE REG32(0x40000004u)
#define TIMER_RELOAD REG32(0x40000008u)
#define TIMER_ON 1u
#define LARGEST 0xFFFFFFFFu
#define INSTRUCTIONS_PER_4_TICKS 160u
#endif
#define UART_DATA REG32(UART)
#define UART_STATE REG32(UART + 4u)
#define UART_CTRL REG32(UART + 8u)
#define UART_BAUD_DIVIDER REG32(UART + 16u)
#define STATE_SEND_FULL 1u

void reset(void);

void reset(void)
{
    CPACR |= 0xFu << 20; /* floating point and vectors on */
    __asm__ volatile("dsb\n\tisb");
    UART_BAUD_DIVIDER = 16;
    UART_CTRL = 1;
    TIMER_RELOAD = LARGEST;
    TIMER_VALUE = LARGEST; /* SysTick takes any value for 0 */
    TIMER_CTRL = TIMER_ON;
    bench_main();
}

/* Faults end the emulation. */
static void fault(void)
{
    bench_print("error fault\n");
    bench_exit();
}

typedef void (*vector)(void);

__attribute__((section(".start"), used)) static const vector vectors[] = {
    (vector)(uintptr_t)bench_stack_high, reset, fault, fault, fault, fault, fault, fault};

uint32_t bench_instructions(void)
{
    return (uint32_t)((uint64_t)(LARGEST - TIMER_VALUE) * INSTRUCTIONS_PER_4_TICKS / 4u);
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
