/* Vectors of eight int32 for both processors: avx2.h or neon.h. */
#ifndef TIGRIS_HOST_LANES_H
#define TIGRIS_HOST_LANES_H

#include "avx2.h"
#include "neon.h"

#define TIGRIS_HOST_LANES 8
#define TIGRIS_HOST_TILE 4 /* taps of a tile of packed weights, and channels of a block */

#endif
