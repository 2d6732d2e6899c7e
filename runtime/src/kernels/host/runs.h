/* Copies of few bytes, which take less time than a call of memcpy. */
#ifndef TIGRIS_HOST_RUNS_H
#define TIGRIS_HOST_RUNS_H

#include <stdint.h>
#include <string.h>

/* Copies `count` bytes, 0 or more; the last two pieces may overlap. */
static inline void tigris_host_copy_run(int8_t *to, const int8_t *from, int32_t count)
{
    if (count >= 16) {
        for (int32_t at = 0; at < count - 16; at += 16) {
            memcpy(to + at, from + at, 16);
        }
        memcpy(to + count - 16, from + count - 16, 16);
    } else if (count >= 8) {
        memcpy(to, from, 8);
        memcpy(to + count - 8, from + count - 8, 8);
    } else if (count >= 4) {
        memcpy(to, from, 4);
        memcpy(to + count - 4, from + count - 4, 4);
    } else {
        for (int32_t i = 0; i < count; i++) {
            to[i] = from[i];
        }
    }
}

#endif
