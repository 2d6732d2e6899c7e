/* The functions of a machine that the bench firmware calls, of which each start-up file provides all; and what the
 * programs share: samples, numbers as text, and the stack that was used. */
#ifndef BENCH_H
#define BENCH_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

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

/* The input of the samples, or the output expected for it. */
static inline const uint8_t *sample(uint32_t output, uint32_t *bytes)
{
    uint32_t sizes[2];
    memcpy(sizes, bench_samples, sizeof sizes);
    *bytes = sizes[output];
    return bench_samples + sizeof sizes + (output != 0U ? sizes[0] : 0U);
}

#define STACK_PAINT 0x5A17AB1EU

static inline void print_decimal(uint32_t value)
{
    char text[12];
    size_t at = sizeof text - 1U;
    text[at] = '\0';
    do {
        text[--at] = (char)('0' + value % 10U);
        value /= 10U;
    } while (value != 0U);
    bench_print(" ");
    bench_print(text + at);
}

static inline void print_number(const char *name, uint32_t value)
{
    bench_print(name);
    print_decimal(value);
    bench_print("\n");
}

/* Prints an error and ends the emulation. */
__attribute__((noreturn, unused)) static void fail(const char *what, const char *why)
{
    bench_print("error ");
    bench_print(what);
    bench_print(": ");
    bench_print(why);
    bench_print("\n");
    bench_exit();
}

/* FNV-1a: tells whether two programs put out the same bytes. */
static inline uint32_t hash_of(const void *data, uint32_t bytes)
{
    const uint8_t *at = data;
    uint32_t hash = 2166136261U;
    for (uint32_t i = 0; i < bytes; i++) {
        hash = (hash ^ at[i]) * 16777619U;
    }
    return hash;
}

/* Its own frame, so that it paints below its caller's. */
__attribute__((noinline, unused)) static void paint_stack(void)
{
    volatile uint32_t *here = (volatile uint32_t *)__builtin_frame_address(0) - 16;
    for (volatile uint32_t *word = bench_stack_low; word < here; word++) {
        *word = STACK_PAINT;
    }
}

static inline uint32_t painted_bytes_used(const void *from)
{
    const uint32_t *word = bench_stack_low;
    while (*word == STACK_PAINT) {
        word++;
    }
    return (uint32_t)((const uint8_t *)from - (const uint8_t *)word);
}

#endif
