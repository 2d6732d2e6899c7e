#include "lz4.h"

#include <string.h>

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

/* Source and destination of a match may overlap: a distance of 1 repeats one byte. */
static void copy_match(uint8_t *to, uint32_t distance, uint32_t length)
{
    const uint8_t *from = to - distance;
    while (length-- > 0U) {
        *to++ = *from++;
    }
}

int tigris_lz4_decompress(const uint8_t *input, uint32_t input_bytes, uint8_t *output, uint32_t output_bytes)
{
    lz4_reader in = {input, input + input_bytes};
    uint32_t done = 0U;
    while (in.next != in.end) {
        const uint32_t token = *in.next++;
        uint32_t literals = token >> 4;
        if (!read_length(&in, &literals) || literals > (size_t)(in.end - in.next) || literals > output_bytes - done) {
            return 0;
        }
        memcpy(output + done, in.next, literals);
        in.next += literals;
        done += literals;
        if (in.next == in.end) {
            return done == output_bytes; /* the last sequence has no match */
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
        if (distance == 0U || distance > done || length > output_bytes - done) {
            return 0;
        }
        copy_match(output + done, distance, length);
        done += length;
    }
    return 0;
}
