/* Products of packed weights (tigris_pio/compiler/weights/packing.py) with vectors of taps, eight channels and four
 * vectors at a time: the part that convolutions and fully connected layers share. */
#ifndef TIGRIS_HOST_LAYER_H
#define TIGRIS_HOST_LAYER_H

#include "lanes.h"
#include "scale.h"

#if TIGRIS_HOST_AVX2 || TIGRIS_HOST_NEON

/* Vectors of a call, enough that its work for eight channels counts little. */
#define TIGRIS_HOST_VECTORS 16
/* Taps of all vectors of a call, padded; they lie on the stack. */
#define TIGRIS_HOST_TAPS 20480

typedef struct tigris_host_layer {
    const int8_t *weights;
    const int32_t *bias;
    const int32_t *multiplier;
    const int8_t *shift;
    int32_t step;   /* stride of multipliers and shifts: 1, or 0 if one scale serves all */
    int32_t length; /* taps of a channel */
    int32_t outputs;
    tigris_output_stage stage;
} tigris_host_layer;

/* Stride of vectors in taps: `taps` rounded up to 16, which tigris_host_order reorders at once. */
static inline int32_t tigris_host_filled(int32_t taps)
{
    return (taps + 15) & ~15;
}

/* The largest number of vectors of a call; 0 if one is too long. */
static inline int32_t tigris_host_vectors_at_once(int32_t taps)
{
    const int32_t most = TIGRIS_HOST_TAPS / tigris_host_filled(taps);
    return most < 4 ? most : most < TIGRIS_HOST_VECTORS ? most & ~3 : TIGRIS_HOST_VECTORS;
}

/* Copies taps in the order of packed weights, the last tile padded with zeros. */
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

/* Computes all outputs of `vectors` vectors. Taps are in the order of tigris_host_order, with a stride of
 * tigris_host_filled; `output_stride`: bytes from a vector's outputs to the next. */
void tigris_host_run_layer(const tigris_host_layer *layer, const tigris_host_tap *taps, int32_t vectors, int8_t *output,
                           int32_t output_stride);

#endif
#endif
