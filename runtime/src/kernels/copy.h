/* Copies of few bytes, inline: small C libraries copy byte by byte, and a call costs as much as ten bytes. */
#ifndef TIGRIS_COPY_H
#define TIGRIS_COPY_H

#include <stdint.h>

#if defined(__GNUC__)
typedef uint32_t __attribute__((may_alias)) tigris_word;

static inline int tigris_are_words(const uint8_t *to, const uint8_t *from, uint32_t bytes)
{
    return (((uintptr_t)to | (uintptr_t)from | bytes) & 3U) == 0U;
}
#endif

/* Copies `bytes` bytes. If the regions overlap, the result is unspecified. */
static inline void tigris_copy(uint8_t *to, const uint8_t *from, uint32_t bytes)
{
    const uint8_t *const end = from + bytes;
#if defined(__GNUC__)
    if (tigris_are_words(to, from, bytes)) {
        for (; from != end; from += 4) {
            *(tigris_word *)(void *)to = *(const tigris_word *)(const void *)from;
            to += 4;
        }
        return;
    }
#endif
    for (; (bytes & 3U) != 0U; bytes--) {
        *to++ = *from++;
    }
    for (; from != end; from += 4) {
        const uint8_t a = from[0], b = from[1], c = from[2], d = from[3];
        to[0] = a;
        to[1] = b;
        to[2] = c;
        to[3] = d;
        to += 4;
    }
}

#endif
