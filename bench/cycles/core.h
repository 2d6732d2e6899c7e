/* A 32-bit RISC-V core (I, M and C; little-endian) that counts the cycles of a short in-order pipeline, and a cache
 * before its flash.
 *
 * Hazards and latencies are those of OpenHW's CV32E40P: its user manual, chapter "Pipeline Details", and its RTL where
 * the manual is silent (tests/emulation/cycles compares). struct core_timing holds them. Memory without a cache answers
 * in one cycle. A jump to a register that was loaded before a misaligned load is a cycle short; compilers make no such
 * code. */
#ifndef BENCH_CORE_H
#define BENCH_CORE_H

#include <stdint.h>

/* Cycles of what takes more than one. */
typedef struct core_timing {
    uint32_t high_product; /* MULH and its like */
    uint32_t division;     /* by a divisor without leading zeros, which take one more each */
    uint32_t branch;       /* that is taken */
    uint32_t jump;
    uint32_t flush;      /* FENCE, and a read of a counter */
    uint32_t load_use;   /* more, where the next instruction reads what was loaded */
    uint32_t misaligned; /* more, for each access or branch target that crosses a word */
} core_timing;

/* One cache, of code and data, before the flash; least recently used lines go first. */
typedef struct core_cache {
    uint32_t bytes; /* 0: no cache, and flash is as fast as memory */
    uint32_t ways;
    uint32_t line; /* bytes, a multiple of 16 */
    uint32_t miss; /* cycles to fetch a line */
} core_cache;

/* Counted since reset. */
typedef struct core_counts {
    uint64_t instructions;
    uint64_t cycles;
    uint64_t data_misses; /* lines */
    uint64_t code_misses;
} core_counts;

typedef struct core core;

enum { CORE_ENDED = -1, CORE_FAILED = -2 };

/* A core with cleared memory. Flash: the program's code in the first `code_bytes`, and from `flash_start` up to
 * `flash_end`; all else is SRAM. NULL without memory. */
core *core_new(const core_timing *timing, const core_cache *cache, uint32_t code_bytes, uint32_t flash_start,
               uint32_t flash_end);
void core_free(core *core);

/* Copies bytes into the memory. 0 if they do not fit. */
int core_load(core *core, uint32_t address, const uint8_t *bytes, uint32_t count);

/* Runs until the next instruction is at one of the addresses, and returns its index; CORE_ENDED when the program wrote
 * to the test device; CORE_FAILED at an illegal instruction or address. */
int core_run(core *core, const uint32_t *addresses, uint32_t count);

uint32_t core_register(const core *core, uint32_t number);
uint32_t core_program_counter(const core *core);
core_counts core_now(const core *core);

/* The counts at the program's last (0) or last but one (1) read of `minstret`. */
core_counts core_read(const core *core, uint32_t back);

/* Forgets which lines of flash were read as data; counts them. */
void core_forget_lines(core *core);
uint32_t core_distinct_lines(const core *core);

/* The text that the program printed, `*count` bytes. */
const char *core_printed(const core *core, uint32_t *count);

#endif
