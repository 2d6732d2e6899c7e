/* QEMU's MPS3 AN547: CMSDK UART 0 and SysTick, semihosting to end the emulation. */
#include "bench.h"

#define REG32(address) (*(volatile uint32_t *)(uintptr_t)(address))
#define UART_DATA REG32(0x59303000u)
#define UART_STATE REG32(0x59303004u)
#define UART_CTRL REG32(0x59303008u)
#define UART_BAUD_DIVIDER REG32(0x59303010u)
#define STATE_SEND_FULL 1u
#define SYSTICK_CTRL REG32(0xE000E010u)
#define SYSTICK_RELOAD REG32(0xE000E014u)
#define SYSTICK_VALUE REG32(0xE000E018u)
#define SYSTICK_LARGEST 0xFFFFFFu
#define PROCESSOR_CLOCK 4u
/* The clock runs at 32 MHz and the emulator takes 1 ns an instruction: 31.25 of them a tick. */
#define INSTRUCTIONS_PER_4_TICKS 125u
#define CPACR REG32(0xE000ED88u)

void reset(void);

void reset(void)
{
    CPACR |= 0xFu << 20; /* floating point and vectors on */
    __asm__ volatile("dsb\n\tisb");
    UART_BAUD_DIVIDER = 16;
    UART_CTRL = 1;
    SYSTICK_RELOAD = SYSTICK_LARGEST;
    SYSTICK_VALUE = 0;
    SYSTICK_CTRL = PROCESSOR_CLOCK | 1u;
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

/* Half a second of the emulated time until it wraps: 2^24 ticks. */
uint32_t bench_instructions(void)
{
    return (uint32_t)((uint64_t)(SYSTICK_LARGEST - SYSTICK_VALUE) * INSTRUCTIONS_PER_4_TICKS / 4u);
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
