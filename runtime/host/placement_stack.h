/* Which moments leave too little room, and which to go on with. */
#ifndef TIGRIS_PLACEMENT_STACK_H
#define TIGRIS_PLACEMENT_STACK_H

#include "placement_state.h"

/* Stacks the pieces of each of the first sections, as many as the problem says, on their heads: of the `count` requests
 * in `open`, which are sorted by head, and, where others may still come below them, of those that are placed. 0 when a
 * section ends above the capacity. `pivot`: the section to go on with, that with the lowest open piece; -1: none holds
 * two open pieces. */
int32_t tigris_place_stack(tigris_place_state *s, const int32_t *open, int32_t count, int32_t *pivot);

#endif
