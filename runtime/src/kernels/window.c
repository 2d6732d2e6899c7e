#include "window.h"

tigris_taps tigris_border_taps(int32_t start, int32_t kernel, int32_t dilation, int32_t extent)
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
