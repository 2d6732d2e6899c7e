#include "lz4.h"

#include <string.h>

#include "kernels/inlining.h"
#include "move.h"

#define LONG_LENGTH 15U   /* a length of this value continues in further bytes */
#define SHORTEST_MATCH 4U /* stored match lengths are less by this */

typedef struct lz4_reader {
    const uint8_t *next;
    const uint8_t *end;
} lz4_reader;

/* Completes a length, of which the token had four bits, with further bytes; returns 0 if the block ends in it. */
static int read_length(lz4_reader *in, uint32_t *length)
{
    if (*length != LONG_LENGTH) {
        return 1;
    }
    uint32_t byte = 255U;
    while (byte == 255U) {
        if (in->next == in->end || *length > UINT32_MAX / 2U) {
            return 0;
        }
        byte = *in->next++;
        *length += byte;
    }
    return 1;
}

/* Reads a match's distance; 0, which is no valid distance, if the block ends in it. */
static uint32_t read_distance(lz4_reader *in)
{
    if (in->end - in->next < 2) {
        return 0U;
    }
    const uint8_t *const bytes = in->next;
    in->next += 2;
    return (uint32_t)bytes[0] | (uint32_t)bytes[1] << 8;
}

#if !defined(__OPTIMIZE_SIZE__)
/* Most sequences of weights are short, about ten bytes. Far enough from both ends, no copy of a short sequence can pass
 * them, so only its distance needs a check. */
#define NEAR_INPUT 18U  /* a token, 14 literals, a distance and the next token; or literals copied by fours */
#define NEAR_OUTPUT 34U /* 14 literals and a match of 18 bytes, copied by fours */

static inline void copy_four(uint8_t *to, const uint8_t *from)
{
#if defined(__ARM_FEATURE_UNALIGNED) || defined(__x86_64__)
    memcpy(to, from, 4);
#else
    to[0] = from[0];
    to[1] = from[1];
    to[2] = from[2];
    to[3] = from[3];
#endif
}

/* Copies `bytes` bytes, four at a time and at least four: reads and writes up to four bytes too many. */
static inline void copy_fours(uint8_t *to, const uint8_t *from, uint32_t bytes)
{
    const uint8_t *const end = from + bytes;
    do {
        copy_four(to, from);
        to += 4;
        from += 4;
    } while (from < end);
}

/* Unpacks sequences while they are short, valid and not near an end; returns the address after the last one. A
 * function of its own, so that the loop's variables stay in registers. */
static TIGRIS_NOINLINE uint8_t *unpack_short(lz4_reader *in, uint8_t *to, const uint8_t *output, const uint8_t *end)
{
    if ((size_t)(in->end - in->next) < NEAR_INPUT || (size_t)(end - to) < NEAR_OUTPUT) {
        return to;
    }
    const uint8_t *const last_from = in->end - NEAR_INPUT;
    const uint8_t *const last_to = end - NEAR_OUTPUT;
    while (in->next <= last_from && to <= last_to) {
        const uint8_t *from = in->next;
        const uint32_t token = *from++;
        const uint32_t literals = token >> 4;
        const uint32_t length = token & LONG_LENGTH;
        if (literals == LONG_LENGTH || length == LONG_LENGTH) {
            break;
        }
        copy_fours(to, from, literals);
        from += literals;
        uint8_t *const match = to + literals;
        const uint32_t distance = (uint32_t)from[0] | (uint32_t)from[1] << 8;
        if (distance < 4U || distance > (size_t)(match - output)) {
            break;
        }
        copy_fours(match, match - distance, length + SHORTEST_MATCH);
        in->next = from + 2;
        to = match + length + SHORTEST_MATCH;
    }
    return to;
}
#endif

int tigris_lz4_decompress(const uint8_t *input, uint32_t input_bytes, uint8_t *output, uint32_t output_bytes)
{
    lz4_reader in = {input, input + input_bytes};
    uint8_t *to = output;
    const uint8_t *const end = output + output_bytes;
    while (in.next != in.end) {
#if !defined(__OPTIMIZE_SIZE__)
        to = unpack_short(&in, to, output, end);
#endif
        const uint32_t token = *in.next++;
        uint32_t distance = 0U; /* 0: the loop copies the literals; then it copies the match */
        for (uint32_t length = token >> 4;; length = token & LONG_LENGTH) {
            if (!read_length(&in, &length)) {
                return 0;
            }
            const uint8_t *from = in.next;
            if (distance != 0U) {
                length += SHORTEST_MATCH;
                from = to - distance;
            } else if (length > (size_t)(in.end - from)) {
                return 0;
            } else {
                in.next += length;
            }
            if (length > (size_t)(end - to)) {
                return 0;
            }
            /* Source and target may overlap: a distance of 1 repeats one byte. */
            tigris_copy_forward(to, from, length);
            to += length;
            if (distance != 0U) {
                break;
            }
            if (in.next == in.end) {
                return to == end; /* the last sequence has no match */
            }
            distance = read_distance(&in);
            if (distance == 0U || distance > (size_t)(to - output)) {
                return 0;
            }
        }
    }
    return 0;
}
