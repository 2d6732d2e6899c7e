/* The functions of a machine that the bench firmware calls. Each start-up file provides all of them. */
#ifndef BENCH_H
#define BENCH_H

#include <stddef.h>
#include <stdint.h>

/* Placed by the emulator before the program starts: the plan, and the input with the output expected for it. */
extern const uint8_t bench_plan[];
extern const uint8_t bench_samples[];

/* Instructions since reset, modulo 2^32. Resolution: 1 on RISC-V, 40 on Cortex-M. */
uint32_t bench_instructions(void);

void bench_print(const char *text);

/* Ends the emulation. */
void bench_exit(void) __attribute__((noreturn));

/* Called by the start-up code. */
void bench_main(void);

/* Lowest address of the stack, and one past its highest. */
extern uint32_t bench_stack_low[];
extern uint32_t bench_stack_high[];

#endif
