/* The part of tile_int16.c with the DSP instructions of Armv7E-M (Cortex-M4, M7) and Armv8-M: SMLAD computes two
 * products. Four rows share a vector's taps: for 16 products 6 loads of words, 2 PKH, 8 SXTB16 and 8 SMLAD. */
#ifndef TIGRIS_DSP_TILE_INT16_H
#define TIGRIS_DSP_TILE_INT16_H

#include "../tile_int16.h"
#include "arm_dsp.h"

#define TIGRIS_HAS_THREE 0 /* three vectors at once: their sums need more registers */

/* Adds the products of four taps and of a row's next weights. `even`: the first and the third tap. */
TIGRIS_INLINE uint32_t tigris_add_int16_taps(uint32_t sum, tigris_pair even, tigris_pair odd, const int8_t **weights)
{
    uint32_t word;
    TIGRIS_LOAD_WORD(word, *weights, 4);
    const tigris_taps_4 w = tigris_widen_word(word);
    return tigris_add_both(odd, w.odd, tigris_add_both(even, w.even, sum));
}

/* Adds `count` products to each sum of one vector and a block of rows. */
TIGRIS_INLINE void tigris_add_int16_block(int32_t vectors, const tigris_tile_int16 *tile, const int16_t *vector,
                                          const int8_t *a, int32_t count, uint32_t *part)
{
    const int8_t *b = a + tile->row_step, *c = b + tile->row_step, *d = c + tile->row_step;
    const int8_t *taps = (const int8_t *)(const void *)vector, *const end = taps + 2 * (count & ~3);
    uint32_t s[TIGRIS_ROW_BLOCK] = {0U};
    tigris_load_sums(tile, vectors, part, s);
    while (taps != end) {
        uint32_t first, second;
        TIGRIS_LOAD_WORD(first, taps, 4);
        TIGRIS_LOAD_WORD(second, taps, 4);
        const tigris_pair even = (tigris_pair)tigris_first_of_both((tigris_pair)first, (tigris_pair)second);
        const tigris_pair odd = (tigris_pair)tigris_second_of_both((tigris_pair)first, (tigris_pair)second);
        s[0] = tigris_add_int16_taps(s[0], even, odd, &a);
        s[1] = tigris_add_int16_taps(s[1], even, odd, &b);
        s[2] = tigris_add_int16_taps(s[2], even, odd, &c);
        s[3] = tigris_add_int16_taps(s[3], even, odd, &d);
    }
    for (int32_t k = count & ~3; k < count; k++) {
        s[0] += (uint32_t)(vector[k] * *a++), s[1] += (uint32_t)(vector[k] * *b++);
        s[2] += (uint32_t)(vector[k] * *c++), s[3] += (uint32_t)(vector[k] * *d++);
    }
    tigris_store_sums(vectors, s, part);
}

#endif
