/* The taps of a sliding kernel that lie inside the input. */
#ifndef TIGRIS_WINDOW_H
#define TIGRIS_WINDOW_H

#include <stdint.h>

/* Taps [first, end), possibly empty. */
typedef struct tigris_taps {
    int32_t first;
    int32_t end;
} tigris_taps;

/* tigris_valid_taps for any position, also at the border. */
tigris_taps tigris_border_taps(int32_t start, int32_t kernel, int32_t dilation, int32_t extent);

/* Taps k of `kernel` whose position start + k * dilation lies in [0, extent). The inline path: all of them. */
static inline tigris_taps tigris_valid_taps(int32_t start, int32_t kernel, int32_t dilation, int32_t extent)
{
    const tigris_taps all = {0, kernel};
    const int inside = start >= 0 && start + (kernel - 1) * dilation < extent;
    return inside ? all : tigris_border_taps(start, kernel, dilation, extent);
}

#endif
