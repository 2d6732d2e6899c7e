/* Slices at positions of a tensor, which GATHER and SCATTER share.
 *
 * Positions and slices lie in order [outer, count, inner]: `count` slices for each of `outer`, `inner` elements each; a
 * step of 0 along an axis is one position for all of it. */
#ifndef TIGRIS_SLICES_H
#define TIGRIS_SLICES_H

#include "check.h"

/* float32 represents integers exactly up to here. */
#define TIGRIS_MOST_POSITIONS (1U << 24)

typedef struct tigris_slice_place {
    uint32_t outer;
    uint32_t count;
    uint32_t inner;
} tigris_slice_place;

/* The place of flattened element `at`. */
static inline tigris_slice_place tigris_slice_place_of(uint32_t at, uint32_t count, uint32_t inner)
{
    const tigris_slice_place place = {at / inner / count, at / inner % count, at % inner};
    return place;
}

/* The index of a place's position in input 1. */
static inline uint32_t tigris_slice_position(tigris_slice_place place, const uint32_t *step)
{
    return place.outer * step[0] + place.count * step[1] + place.inner * step[2];
}

/* The last position lies inside input 1, and no dimension is 0. */
static inline int tigris_check_slices(const tigris_check_call *call, const uint32_t *step, uint32_t outer,
                                      uint32_t count, uint32_t inner, uint32_t length)
{
    const uint64_t last = (uint64_t)(outer - 1U) * step[0];
    const uint64_t there = (uint64_t)(count - 1U) * step[1];
    const uint64_t here = (uint64_t)(inner - 1U) * step[2];
    const uint64_t most = tigris_call_elements(call, call->inputs[1]);
    return length <= TIGRIS_MOST_POSITIONS && last < most && there < most && here < most && last + there + here < most;
}

#endif
