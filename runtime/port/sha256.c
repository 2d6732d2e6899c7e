/* tigris_port_sha256 for firmware without a library that computes it. */
#include "signature.h"

#if defined(TIGRIS_SIGNED) && !defined(TIGRIS_LIBRARY_VERIFIES) && !defined(TIGRIS_PORT_HAS_SHA256)

#include <string.h>

#define BLOCK 64U
#define LENGTH_BYTES 8U

/* The first 32 bits behind the point of the cube roots of the first 64 primes. */
static const uint32_t constants[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

static uint32_t rotate(uint32_t word, unsigned right)
{
    return word >> right | word << (32U - right);
}

static uint32_t read_word(const uint8_t *from)
{
    return (uint32_t)from[0] << 24 | (uint32_t)from[1] << 16 | (uint32_t)from[2] << 8 | from[3];
}

static void write_word(uint8_t *to, uint32_t word)
{
    for (uint32_t i = 0; i < 4U; i++)
        to[i] = (uint8_t)(word >> (24U - 8U * i));
}

/* FIPS 180-4, section 6.2.2. `words` holds the last 16 words of the message schedule, word t at t % 16. */
static void add_block(uint32_t state[8], const uint8_t *block)
{
    uint32_t words[16];
    uint32_t a = state[0], b = state[1], c = state[2], d = state[3];
    uint32_t e = state[4], f = state[5], g = state[6], h = state[7];
    for (uint32_t t = 0; t < 64U; t++) {
        uint32_t *word = &words[t % 16U];
        if (t < 16U) {
            *word = read_word(block + 4U * t);
        } else {
            const uint32_t early = words[(t + 1U) % 16U], late = words[(t + 14U) % 16U];
            *word += (rotate(early, 7) ^ rotate(early, 18) ^ early >> 3) + words[(t + 9U) % 16U] +
                     (rotate(late, 17) ^ rotate(late, 19) ^ late >> 10);
        }
        const uint32_t one =
            h + (rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25)) + ((e & f) ^ (~e & g)) + constants[t] + *word;
        const uint32_t two = (rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
        h = g;
        g = f;
        f = e;
        e = d + one;
        d = c;
        c = b;
        b = a;
        a = one + two;
    }
    const uint32_t results[8] = {a, b, c, d, e, f, g, h};
    for (uint32_t i = 0; i < 8U; i++)
        state[i] += results[i];
}

void tigris_port_sha256(const void *data, size_t bytes, uint8_t *digest)
{
    /* The first 32 bits behind the point of the square roots of the first 8 primes. */
    uint32_t state[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                         0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    uint8_t end[2U * BLOCK] = {0};
    const uint8_t *from = data;
    const size_t rest = bytes % BLOCK;
    const size_t end_bytes = rest + 1U + LENGTH_BYTES <= BLOCK ? BLOCK : 2U * BLOCK;
    for (size_t at = 0; at < bytes - rest; at += BLOCK)
        add_block(state, from + at);
    if (rest > 0U)
        memcpy(end, from + bytes - rest, rest);
    end[rest] = 0x80U;
    write_word(end + end_bytes - LENGTH_BYTES, (uint32_t)((uint64_t)bytes >> 29));
    write_word(end + end_bytes - LENGTH_BYTES / 2U, (uint32_t)bytes << 3);
    for (size_t at = 0; at < end_bytes; at += BLOCK)
        add_block(state, end + at);
    for (uint32_t i = 0; i < 8U; i++)
        write_word(digest + 4U * i, state[i]);
}

#else
typedef int tigris_port_sha256_unused;
#endif
