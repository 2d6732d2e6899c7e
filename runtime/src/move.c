#include "move.h"
#include "hot.h"

#include <string.h>

#if defined(__GNUC__)
typedef uint32_t __attribute__((may_alias)) move_word;
#define STEP() __asm__ volatile("" : : : "memory") /* keeps GCC from replacing the loop by memcpy or memmove */
#else
#define STEP() (void)0
#endif

/* The C libraries of RISC-V copy byte by byte; picolibc takes six instructions a byte. Others are fast if source and
 * target do not overlap. */
#if defined(__riscv)
#define SLOW_LIBRARY 1
#else
#define SLOW_LIBRARY 0
#endif
#define MAY_USE_LIBRARY(to, from, bytes)                                                                               \
    (!SLOW_LIBRARY && (uintptr_t)(to) - (uintptr_t)(from) >= (bytes) && (uintptr_t)(from) - (uintptr_t)(to) >= (bytes))

#if !defined(__GNUC__)
TIGRIS_HOT
void tigris_copy_forward(uint8_t *to, const uint8_t *from, uint32_t bytes)
{
    while (bytes-- > 0U) {
        *to++ = *from++;
    }
}
#elif defined(__OPTIMIZE_SIZE__)
/* Reads a word only after all bytes before it are written, so the distance must be at least a word if the copy repeats
 * bytes. Writes it as a word if both addresses have the same offset in a word. */
TIGRIS_HOT
void tigris_copy_forward(uint8_t *to, const uint8_t *from, uint32_t bytes)
{
    if (MAY_USE_LIBRARY(to, from, bytes)) {
        memcpy(to, from, bytes);
        return;
    }
    const uint8_t *const end = from + bytes;
    const uintptr_t distance = (uintptr_t)to - (uintptr_t)from;
    if (distance >= sizeof(move_word) && bytes >= sizeof(move_word)) {
        while (((uintptr_t)from & 3U) != 0U) {
            *to++ = *from++;
            STEP();
        }
        const uint8_t *const last = from + ((uint32_t)(end - from) & ~3U);
        while (from != last) {
            STEP();
            const uint32_t word = *(const move_word *)(const void *)from;
            from += 4;
            if ((distance & 3U) == 0U) {
                *(move_word *)(void *)to = word;
            } else {
                to[0] = (uint8_t)word;
                to[1] = (uint8_t)(word >> 8);
                to[2] = (uint8_t)(word >> 16);
                to[3] = (uint8_t)(word >> 24);
            }
            to += 4;
        }
    }
    while (from != end) {
        *to++ = *from++;
        STEP();
    }
}
#else
/* Moves aligned words, so the distance is a multiple of a word. */
TIGRIS_HOT
static void move_words(move_word *to, const move_word *from, uint32_t count)
{
    const move_word *const end = from + count;
    for (const move_word *const end_of_fours = from + (count & ~3U); from != end_of_fours; from += 4, to += 4) {
        to[0] = from[0];
        to[1] = from[1];
        to[2] = from[2];
        to[3] = from[3];
        STEP();
    }
    while (from != end) {
        *to++ = *from++;
        STEP();
    }
}

#define SHIFTED_BYTES 16U /* fewer bytes, alignment included, are not worth the set-up */

/* Moves bytes between addresses with different offsets in a word: reads aligned words, each once, and writes aligned
 * words put together from two of them. Returns the number of bytes moved, at least `bytes` - 6. */
TIGRIS_HOT
static uint32_t move_shifted(move_word *to, const uint8_t *from, uint32_t bytes)
{
    uint32_t held = 0U; /* bytes read and not yet written, in the lowest `shift` bits */
    uint32_t shift = 0U;
    for (; ((uintptr_t)from & 3U) != 0U; from++, shift += 8U) {
        held |= (uint32_t)*from << shift;
    }
    const uint32_t unused = 32U - shift;
    const move_word *source = (const move_word *)(const void *)from;
    const uint32_t count = (bytes - shift / 8U) / 4U;
    const move_word *const end = source + count;
    for (const move_word *const end_of_fours = source + (count & ~3U); source != end_of_fours; source += 4, to += 4) {
        const uint32_t a = source[0];
        to[0] = held | a << shift;
        const uint32_t b = source[1];
        to[1] = a >> unused | b << shift;
        const uint32_t c = source[2];
        to[2] = b >> unused | c << shift;
        held = source[3];
        to[3] = c >> unused | held << shift;
        held >>= unused;
    }
    while (source != end) {
        const uint32_t next = *source++;
        *to++ = held | next << shift;
        held = next >> unused;
    }
    return count * 4U;
}

/* Reads a word only after all bytes before it are written. If the offsets in a word differ, the distance must exceed a
 * word, because move_shifted also holds read bytes back. */
TIGRIS_HOT
void tigris_copy_forward(uint8_t *to, const uint8_t *from, uint32_t bytes)
{
    if (MAY_USE_LIBRARY(to, from, bytes)) {
        memcpy(to, from, bytes);
        return;
    }
    const uintptr_t distance = (uintptr_t)to - (uintptr_t)from;
    const int is_shifted = (distance & 3U) != 0U;
    if (!is_shifted || (bytes >= SHIFTED_BYTES && distance > sizeof(move_word))) {
        for (; bytes > 0U && ((uintptr_t)to & 3U) != 0U; bytes--) {
            *to++ = *from++;
        }
        uint32_t moved = bytes & ~3U;
        if (is_shifted) {
            moved = move_shifted((move_word *)(void *)to, from, bytes);
        } else {
            move_words((move_word *)(void *)to, (const move_word *)(const void *)from, moved / 4U);
        }
        to += moved;
        from += moved;
        bytes -= moved;
    }
    for (; bytes >= 8U; bytes -= 8U) {
        to[0] = from[0], to[1] = from[1], to[2] = from[2], to[3] = from[3];
        to[4] = from[4], to[5] = from[5], to[6] = from[6], to[7] = from[7];
        to += 8;
        from += 8;
        STEP();
    }
    for (const uint8_t *const end = from + bytes; from != end;) {
        *to++ = *from++;
        STEP();
    }
}
#endif

/* Moves to a higher address that overlaps the source, from the last byte to the first. */
TIGRIS_HOT
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

#if defined(__thumb2__) && !defined(__OPTIMIZE_SIZE__)
#define MOVE_32(to, from)                                                                                              \
    __asm__ volatile("ldmia %0!, {r3, r4, r5, r6, r8, r10, r12, lr}\n\t"                                               \
                     "stmia %1!, {r3, r4, r5, r6, r8, r10, r12, lr}"                                                   \
                     : "+r"(from), "+r"(to)                                                                            \
                     :                                                                                                 \
                     : "r3", "r4", "r5", "r6", "r8", "r10", "r12", "lr", "memory")

/* Moves 32 bytes in two instructions if both addresses are aligned to words; libraries take sixteen. Returns the
 * number of bytes moved: 0, or all but fewer than 32. If source and target overlap, `to` must be the lower. */
TIGRIS_HOT
static uint32_t move_by_32(uint8_t *to, const uint8_t *from, uint32_t bytes)
{
    if ((((uintptr_t)to | (uintptr_t)from) & 3U) != 0U) {
        return 0U;
    }
    const uint8_t *const end = from + (bytes & ~31U);
    if ((bytes & 32U) != 0U) {
        MOVE_32(to, from);
    }
    while (from != end) {
        MOVE_32(to, from);
        MOVE_32(to, from);
    }
    return bytes & ~31U;
}
#endif

/* Small machines' libraries move to a higher address byte by byte. */
TIGRIS_HOT
void tigris_move(uint8_t *to, const uint8_t *from, uint32_t bytes)
{
    if ((uintptr_t)to - (uintptr_t)from < bytes) {
        move_up(to, from, bytes);
        return;
    }
#if defined(__thumb2__) && !defined(__OPTIMIZE_SIZE__)
    const uint32_t moved = move_by_32(to, from, bytes);
    to += moved;
    from += moved;
    bytes -= moved;
    if (bytes == 0U) {
        return;
    }
#endif
    if (!SLOW_LIBRARY && (uintptr_t)from - (uintptr_t)to < bytes) {
        memmove(to, from, bytes);
    } else {
        tigris_copy_forward(to, from, bytes);
    }
}
