/* Sums of products of two pixels with packed int8 weights, a block of four output channels at a time.
 *
 * The taps of both pixels are first copied into a patch and widened, once for all output channels. Blocks of weights
 * (tigris_pio/format/packing.py) are then multiplied with the patch. dsp/block_int8.h holds taps of 16 bits
 * and computes two products an instruction; portable/block_int8.h holds the taps of both pixels in one 32-bit word and
 * computes two products a multiplication.
 *
 * Sums are unsigned: they wrap instead of being undefined. */
#ifndef TIGRIS_BLOCK_INT8_H
#define TIGRIS_BLOCK_INT8_H

#include <stdint.h>
#include <string.h>

#include "inlining.h"
#include "instruction_set.h"

#define TIGRIS_CHANNEL_BLOCK 4
#define TIGRIS_TILE_TAPS 4   /* taps of a weight tile: consecutive taps of one channel */
#define TIGRIS_PATCH_TAPS 64 /* taps of a patch, a multiple of TIGRIS_TILE_TAPS; a word each */

static inline uint32_t tigris_product(int8_t a, int8_t b)
{
    const int32_t product = (int32_t)a * b;
    return (uint32_t)product;
}

/* Initialises sums with the bias. Small machines avoid memcpy: small C libraries copy byte by byte. */
TIGRIS_INLINE void tigris_init_sums(uint32_t *sums, const int32_t *bias, int32_t count)
{
#if defined(TIGRIS_IN_ORDER)
    for (const int32_t *const end = bias + count; bias != end;) {
        *sums++ = (uint32_t)*bias++;
        TIGRIS_STEP(); /* else GCC calls memcpy: 4.4 % of sww */
    }
#else
    memcpy(sums, bias, (size_t)count * sizeof *sums);
#endif
}

#if defined(TIGRIS_DSP)
#include "dsp/block_int8.h"
#else
#include "portable/block_int8.h"
#endif

#endif
