/* Products of packed weights (tigris_pio/compiler/weights/packing.py) with vectors of taps, eight channels and four
 * vectors at a time: the part that convolutions and fully connected layers share. */
#ifndef TIGRIS_HOST_LAYER_H
#define TIGRIS_HOST_LAYER_H

#include "lanes.h"
#include "scale.h"

#if TIGRIS_HOST_AVX2 || TIGRIS_HOST_NEON

/* Vectors of a call: what is done once a call for eight channels counts little then. */
#define TIGRIS_HOST_VECTORS 16
/* Taps that they may have together, filled up. They lie in the stack. */
#define TIGRIS_HOST_TAPS 20480

typedef struct tigris_host_layer {
    const int8_t *weights;
    const int32_t *bias;
    const int32_t *multiplier;
    const int8_t *shift;
    int32_t step;   /* of scales: 1, or 0 when one serves all */
    int32_t length; /* taps of a channel */
    int32_t outputs;
    tigris_output_stage stage;
} tigris_host_layer;

/* Taps from a vector to the next: as many as are put in order at a time. */
static inline int32_t tigris_host_filled(int32_t taps)
{
    return (taps + 15) & ~15;
}

/* How many vectors go together; 0 when one is too long. */
static inline int32_t tigris_host_together(int32_t taps)
{
    const int32_t most = TIGRIS_HOST_TAPS / tigris_host_filled(taps);
    return most < 4 ? most : most < TIGRIS_HOST_VECTORS ? most & ~3 : TIGRIS_HOST_VECTORS;
}

/* Taps in the order of packed weights, the last tile filled up with zeros. */
TIGRIS_HOST_INLINE void tigris_host_order(tigris_host_tap *to, const int8_t *from, int32_t count)
{
    for (; count >= 16; count -= 16) {
        tigris_host_order_sixteen(to, from);
        to += 16;
        from += 16;
    }
    for (; count >= TIGRIS_HOST_TILE; count -= TIGRIS_HOST_TILE) {
        tigris_host_order_four(to, from);
        to += TIGRIS_HOST_TILE;
        from += TIGRIS_HOST_TILE;
    }
    if (count > 0) {
        const int8_t second = count > 1 ? from[1] : (int8_t)0, third = count > 2 ? from[2] : (int8_t)0;
        const int8_t last[TIGRIS_HOST_TILE] = {from[0], second, third, 0};
        tigris_host_order_four(to, last);
    }
}

/* The outputs of `vectors` vectors, which lie `apart` from one to the next. A vector's taps are as tigris_host_order
 * leaves them, tigris_host_filled from one to the next. */
void tigris_host_run_layer(const tigris_host_layer *layer, const tigris_host_tap *taps, int32_t vectors, int8_t *output,
                           int32_t apart);

#endif
#endif
