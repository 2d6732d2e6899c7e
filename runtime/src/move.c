#include "move.h"

#include <string.h>

#if defined(__GNUC__)
typedef uint32_t __attribute__((may_alias)) move_word;
#define STEP() __asm__ volatile("" : : : "memory") /* else GCC calls memcpy or memmove */
#else
#define STEP() (void)0
#endif

/* Those of RISC-V do the rest like this too, picolibc in six instructions a byte. */
#if defined(__riscv)
#define SLOW_LIBRARY 1
#else
#define SLOW_LIBRARY 0
#endif

/* Words are read when all that lies before them is written. So where both addresses are as many bytes into a word, and
 * hence at least a word apart, words repeat as bytes do. */
void tigris_copy_on(uint8_t *to, const uint8_t *from, uint32_t bytes)
{
#if defined(__GNUC__)
    if ((((uintptr_t)to ^ (uintptr_t)from) & 3U) == 0U) {
        for (; bytes > 0U && ((uintptr_t)to & 3U) != 0U; bytes--) {
            *to++ = *from++;
        }
        move_word *words = (move_word *)(void *)to;
        const move_word *source = (const move_word *)(const void *)from;
#if !defined(__OPTIMIZE_SIZE__)
        for (; bytes >= 16U; bytes -= 16U) {
            words[0] = source[0];
            words[1] = source[1];
            words[2] = source[2];
            words[3] = source[3];
            words += 4;
            source += 4;
            STEP();
        }
#endif
        for (const move_word *const end = source + bytes / 4U; source != end;) {
            *words++ = *source++;
            STEP();
        }
        bytes &= 3U;
        to = (uint8_t *)words;
        from = (const uint8_t *)source;
    }
#endif
#if !defined(__OPTIMIZE_SIZE__)
    for (; bytes >= 8U; bytes -= 8U) {
        to[0] = from[0], to[1] = from[1], to[2] = from[2], to[3] = from[3];
        to[4] = from[4], to[5] = from[5], to[6] = from[6], to[7] = from[7];
        to += 8;
        from += 8;
        STEP();
    }
#endif
    for (const uint8_t *const end = from + bytes; from != end;) {
        *to++ = *from++;
        STEP();
    }
}

/* To a place inside what is moved, from the last byte to the first. */
static void move_up(uint8_t *to, const uint8_t *from, uint32_t bytes)
{
#if defined(__GNUC__) && !defined(__OPTIMIZE_SIZE__)
    if ((((uintptr_t)to | (uintptr_t)from | bytes) & 3U) == 0U) {
        move_word *words = (move_word *)(void *)(to + bytes);
        const move_word *source = (const move_word *)(const void *)(from + bytes);
        while ((const uint8_t *)source != from) {
            *--words = *--source;
            STEP();
        }
        return;
    }
#endif
    while (bytes-- > 0U) {
        to[bytes] = from[bytes];
        STEP();
    }
}

/* The libraries of small machines move upwards byte by byte. */
void tigris_move(uint8_t *to, const uint8_t *from, uint32_t bytes)
{
    if ((uintptr_t)to - (uintptr_t)from < bytes) {
        move_up(to, from, bytes);
        return;
    }
    if (SLOW_LIBRARY) {
        tigris_copy_on(to, from, bytes);
    } else if ((uintptr_t)from - (uintptr_t)to < bytes) {
        memmove(to, from, bytes);
    } else {
        memcpy(to, from, bytes); /* faster in many libraries */
    }
}
