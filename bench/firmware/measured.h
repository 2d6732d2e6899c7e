/* Shared by the bench's programs: numbers as text, and the stack that was used. */
#ifndef MEASURED_H
#define MEASURED_H

#include "bench.h"

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
