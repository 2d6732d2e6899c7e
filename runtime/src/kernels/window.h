/* Which taps of a sliding kernel lie inside the input. */
#ifndef TIGRIS_WINDOW_H
#define TIGRIS_WINDOW_H

#include <stdint.h>

/* Taps [first, end), possibly empty. */
typedef struct tigris_taps {
    int32_t first;
    int32_t end;
} tigris_taps;

/* Taps k of `kernel` whose position start + k * dilation lies in [0, extent). */
static inline tigris_taps tigris_valid_taps(int32_t start, int32_t kernel, int32_t dilation, int32_t extent)
{
    tigris_taps taps = {0, kernel};
    if (start < 0) {
        taps.first = (-start + dilation - 1) / dilation;
    }
    if (start + (kernel - 1) * dilation >= extent) {
        taps.end = start >= extent ? 0 : (extent - start + dilation - 1) / dilation;
    }
    if (taps.first > taps.end) {
        taps.first = taps.end;
    }
    return taps;
}

#endif
