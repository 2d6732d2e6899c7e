/* A simulated NOR flash chip with one partition, `model`, and power failures.
 *
 * Erasing sets a sector's bits. Programming clears bits, in erased bytes only. A call that breaks this rule or an alignment
 * ends the program with status 3. The chip counts operations. At the operation that nor_start names, power fails: the
 * operation is done in part, and the program continues at nor_lost. */
#ifndef NOR_H
#define NOR_H

#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>

#define NOR_BYTES (8U * 4096U)

typedef enum nor_tear {
    NOR_BEFORE,   /* the operation did nothing */
    NOR_PREFIX,   /* the first bytes are done */
    NOR_BITS,     /* some bits are done */
    NOR_UNSTABLE, /* some bits are done, and read differently after each start until they are erased */
    NOR_GARBAGE,  /* an erasure leaves any bytes; programming misses one bit */
    NOR_AFTER,    /* the operation is complete */
    NOR_TEARS
} nor_tear;

typedef struct nor_chip {
    /* Bits that are neither old nor new: they read as base | any value. */
    uint8_t unstable[4096];
    uint32_t unstable_at, unstable_bytes;
    uint8_t bytes[NOR_BYTES] __attribute__((aligned(64))); /* last, so that sanitisers see reads behind them */
} nor_chip;

/* A plan in memory. */
typedef struct image {
    uint8_t bytes[16384] __attribute__((aligned(64)));
    size_t size;
} image;

extern nor_chip nor;
extern uint32_t nor_operations; /* erased sectors and program operations since nor_start */
extern uint32_t nor_held;       /* mappings that were not released since nor_start */
extern uint32_t nor_fails_from; /* the first operation that fails without effect; UINT32_MAX: none */
extern int nor_is_worn;         /* 1: the lowest programmed bit stays set, and no error is reported */
extern int nor_fails_late;      /* 1: operations fail after their effect */
extern jmp_buf nor_lost;

/* Erases the chip and writes a plan to it. */
void nor_format(uint32_t offset, const uint8_t *plan, size_t bytes);

/* Reads a plan from a file. Returns 0 if it is missing or empty. */
int nor_load(const char *path, image *plan);

/* Turns the power on and counts operations from 0. Power fails at operation `at`; UINT32_MAX: never. */
void nor_start(uint32_t at, nor_tear tear);

/* Evenly distributed numbers, the same in each run. */
uint32_t nor_random(void);

#endif
