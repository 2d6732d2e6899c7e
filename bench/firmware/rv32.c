/* QEMU's `virt` machine: ns16550 UART, and the test device that ends the emulation. */
#include "bench.h"

#define REG8(address) (*(volatile uint8_t *)(uintptr_t)(address))
#define REG32(address) (*(volatile uint32_t *)(uintptr_t)(address))
#define UART_DATA REG8(0x10000000u)
#define TEST_DEVICE REG32(0x00100000u)
#define TEST_PASS 0x5555u

void bench_start(void);
void bench_second_hart(void);

/* The loop of all harts but the first, unless a program replaces it. */
__attribute__((weak)) void bench_second_hart(void)
{
    for (;;) {
        __asm__ volatile("wfi");
    }
}

__attribute__((naked, section(".start"))) void bench_start(void)
{
    __asm__ volatile(".option push\n\t.option norelax\n\tla gp, __global_pointer$\n\t.option pop\n\t"
                     ".option push\n\t.option arch, +zicsr\n\tcsrr a0, mhartid\n\t.option pop\n\t"
                     "la sp, bench_stack_high\n\tbeqz a0, 1f\n\t"
                     "la sp, bench_second_stack_high\n\tcall bench_second_hart\n1:\tcall bench_main");
}

uint32_t bench_instructions(void)
{
    uint32_t instructions;
    __asm__ volatile(".option push\n\t.option arch, +zicsr\n\tcsrr %0, minstret\n\t.option pop" : "=r"(instructions));
    return instructions;
}

void bench_print(const char *text)
{
    while (*text != '\0') {
        UART_DATA = (uint8_t)*text++;
    }
}

void bench_exit(void)
{
    TEST_DEVICE = TEST_PASS;
    for (;;) {
    }
}
