/* A NOR flash chip of one partition `model`, and power that fails.
 *
 * Erasing sets a sector's bits; programming clears bits, and of bytes that are erased only. Whoever breaks that, or an
 * alignment, ends the program with status 3. Operations are counted; at the one that nor_cut names power fails:
 * it is done in part, and nor_lost is where the program goes on. */
#ifndef NOR_H
#define NOR_H

#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>

#define NOR_BYTES (8U * 4096U)

typedef enum nor_tear {
    NOR_BEFORE,   /* nothing of it is done */
    NOR_PREFIX,   /* its first bytes are done */
    NOR_BITS,     /* any of its bits are done */
    NOR_UNSTABLE, /* the same, and which ones is another matter after each start, until they are erased */
    NOR_GARBAGE,  /* an erasure leaves anything, a program operation all bits but one */
    NOR_AFTER,    /* all of it is done */
    NOR_TEARS
} nor_tear;

typedef struct nor_chip {
    /* Bits between what they were and what they were to be: base | anything. */
    uint8_t unstable[4096];
    uint32_t unstable_at, unstable_bytes;
    uint8_t bytes[NOR_BYTES] __attribute__((aligned(64))); /* last: the sanitisers see what is read behind them */
} nor_chip;

/* A plan in memory. */
typedef struct image {
    uint8_t bytes[16384] __attribute__((aligned(64)));
    size_t size;
} image;

extern nor_chip nor;
extern uint32_t nor_operations; /* erased sectors and program operations since nor_start */
extern uint32_t nor_held;       /* mappings that were not released since nor_start */
extern uint32_t nor_fails_from; /* from this operation on the chip refuses, and nothing is done; UINT32_MAX: it works */
extern int nor_is_worn;         /* 1: the lowest bit that is programmed stays set, and it does not say so */
extern int nor_fails_late;      /* 1: it refuses after having done it */
extern jmp_buf nor_lost;

/* A chip that is erased but for a plan. */
void nor_format(uint32_t offset, const uint8_t *plan, size_t bytes);

/* Whether there was something in the file. */
int nor_load(const char *path, image *plan);

/* Power is on: operations are counted from 0, and power fails at operation `at`; UINT32_MAX: never. */
void nor_start(uint32_t at, nor_tear tear);

/* An even spread of numbers, the same in each run. */
uint32_t nor_random(void);

#endif
