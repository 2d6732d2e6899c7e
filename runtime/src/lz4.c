#include "lz4.h"

#include <string.h>

#include "move.h"

#define LONG_LENGTH 15U   /* a length field of this value goes on in further bytes */
#define SHORTEST_MATCH 4U /* match lengths are stored less this */

typedef struct lz4_reader {
    const uint8_t *next;
    const uint8_t *end;
} lz4_reader;

/* Reads the rest of a length whose four bits in the token were `length`. */
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

/* A call costs as much as some ten bytes. */
#if defined(__OPTIMIZE_SIZE__)
#define IS_SHORT(bytes) 0
#else
#define IS_SHORT(bytes) ((bytes) < 32U)
#endif
#define BEYOND 3U /* bytes that copy_short may write and read behind a run */

/* Copies `bytes` bytes, as if one after the other, in fours: the last may reach BEYOND further. */
static inline void copy_short(uint8_t *to, const uint8_t *from, uint32_t bytes, uint32_t distance)
{
    const uint8_t *const end = to + bytes;
#if defined(__ARM_FEATURE_UNALIGNED) || defined(__x86_64__)
    if (distance >= 4U) {
        for (; to < end; to += 4, from += 4) {
            memcpy(to, from, 4);
        }
        return;
    }
#else
    (void)distance;
#endif
    for (; to < end; to += 4, from += 4) {
        to[0] = from[0];
        to[1] = from[1];
        to[2] = from[2];
        to[3] = from[3];
    }
}

int tigris_lz4_decompress(const uint8_t *input, uint32_t input_bytes, uint8_t *output, uint32_t output_bytes)
{
    lz4_reader in = {input, input + input_bytes};
    uint8_t *to = output;
    const uint8_t *const end = output + output_bytes;
    while (in.next != in.end) {
        const uint32_t token = *in.next++;
        uint32_t literals = token >> 4;
        if (!read_length(&in, &literals) || literals > (size_t)(in.end - in.next) || literals > (size_t)(end - to)) {
            return 0;
        }
        if (IS_SHORT(literals) && literals + BEYOND <= (size_t)(in.end - in.next) &&
            literals + BEYOND <= (size_t)(end - to)) {
            copy_short(to, in.next, literals, UINT32_MAX);
        } else {
            tigris_move(to, in.next, literals);
        }
        to += literals;
        in.next += literals;
        if (in.next == in.end) {
            return to == end; /* the last sequence has no match */
        }
        if (in.end - in.next < 2) {
            return 0;
        }
        const uint32_t distance = (uint32_t)in.next[0] | (uint32_t)in.next[1] << 8;
        in.next += 2;
        uint32_t length = token & LONG_LENGTH;
        if (!read_length(&in, &length)) {
            return 0;
        }
        length += SHORTEST_MATCH;
        if (distance == 0U || distance > (size_t)(to - output) || length > (size_t)(end - to)) {
            return 0;
        }
        /* What is copied may begin before it ends: a distance of 1 repeats one byte. */
        if (IS_SHORT(length) && length + BEYOND <= (size_t)(end - to)) {
            copy_short(to, to - distance, length, distance);
        } else {
            tigris_copy_on(to, to - distance, length);
        }
        to += length;
    }
    return 0;
}
