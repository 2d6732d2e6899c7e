/* The functions of EXTREME, for the loops of binary_loop.h and binary_int16.h. */
#ifndef TIGRIS_EXTREME_H
#define TIGRIS_EXTREME_H

#include <stdint.h>

static inline int32_t tigris_larger(const void *constants, int32_t a, int32_t b)
{
    (void)constants;
    return a > b ? a : b;
}

static inline int32_t tigris_smaller(const void *constants, int32_t a, int32_t b)
{
    (void)constants;
    return a < b ? a : b;
}

#endif
