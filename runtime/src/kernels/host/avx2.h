/* The part of lanes.h for AVX2. Taps are widened to 16 bits, so that one instruction multiplies sixteen and adds
 * adjacent products; weights are widened as they are loaded. */
#ifndef TIGRIS_HOST_AVX2_H
#define TIGRIS_HOST_AVX2_H

#include "host.h"

#if TIGRIS_HOST_AVX2
#include <immintrin.h>
#include <string.h>

/* The compiler may target any x86-64; tigris_host_fastest has checked that the processor has AVX2. */
#define TIGRIS_HOST_CODE __attribute__((target("avx2")))
#define TIGRIS_HOST_INLINE static inline __attribute__((always_inline, target("avx2")))

typedef __m256i tigris_host_words; /* eight int32 */
typedef int16_t tigris_host_tap;
typedef __m256i tigris_host_tile; /* 16 weights: four taps of each of four channels */

static inline uint32_t tigris_host_four(const int8_t *from)
{
    uint32_t four;
    memcpy(&four, from, sizeof four);
    return four;
}

/* ---- sums of products ---- */

TIGRIS_HOST_INLINE tigris_host_words tigris_host_zero(void)
{
    return _mm256_setzero_si256();
}

TIGRIS_HOST_INLINE tigris_host_tile tigris_host_tile_at(const int8_t *weights)
{
    return _mm256_cvtepi8_epi16(_mm_loadu_si128((const __m128i *)(const void *)weights));
}

/* Each argument holds the taps of a channel. */
TIGRIS_HOST_INLINE tigris_host_tile tigris_host_tile_of(uint32_t a, uint32_t b, uint32_t c, uint32_t d)
{
    return _mm256_cvtepi8_epi16(_mm_setr_epi32((int32_t)a, (int32_t)b, (int32_t)c, (int32_t)d));
}

/* Adds the products of a tile and four taps. Words 2c and 2c + 1 together are the sum of channel c. The barrier
 * keeps GCC from computing all products of a loop first, which runs out of registers. */
TIGRIS_HOST_INLINE tigris_host_words tigris_host_add_tile(tigris_host_words sum, tigris_host_tile tile,
                                                          const tigris_host_tap *taps)
{
    int64_t four;
    memcpy(&four, taps, sizeof four);
    __m256i products = _mm256_madd_epi16(tile, _mm256_set1_epi64x(four));
    __asm__ volatile("" : "+x"(products), "+x"(sum));
    return _mm256_add_epi32(sum, products);
}

/* The sums of the four channels of `a`, then those of `b`. */
TIGRIS_HOST_INLINE tigris_host_words tigris_host_join(tigris_host_words a, tigris_host_words b)
{
    return _mm256_permute4x64_epi64(_mm256_hadd_epi32(a, b), 0xD8);
}

/* Adds the products of two taps of eight channels, at a and b, with weights that lie in pairs. */
TIGRIS_HOST_INLINE tigris_host_words tigris_host_add_pair(tigris_host_words sum, const int8_t *a, const int8_t *b,
                                                          const tigris_host_tap *weights)
{
    const __m128i first = _mm_loadl_epi64((const __m128i *)(const void *)a);
    const __m128i second = _mm_loadl_epi64((const __m128i *)(const void *)b);
    const __m256i pairs = _mm256_cvtepi8_epi16(_mm_unpacklo_epi8(first, second));
    return _mm256_add_epi32(sum, _mm256_madd_epi16(pairs, _mm256_loadu_si256((const __m256i *)(const void *)weights)));
}

/* ---- taps in the order of packed weights ---- */

/* The order of taps in each tile of four: 0 2 1 3. */
TIGRIS_HOST_INLINE __m128i tigris_host_tap_order(void)
{
    return _mm_setr_epi8(0, 2, 1, 3, 4, 6, 5, 7, 8, 10, 9, 11, 12, 14, 13, 15);
}

TIGRIS_HOST_INLINE void tigris_host_order_sixteen(tigris_host_tap *to, const int8_t *from)
{
    const __m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)from);
    _mm256_storeu_si256((__m256i *)(void *)to, _mm256_cvtepi8_epi16(_mm_shuffle_epi8(bytes, tigris_host_tap_order())));
}

TIGRIS_HOST_INLINE void tigris_host_order_four(tigris_host_tap *to, const int8_t *from)
{
    const __m128i bytes = _mm_cvtsi32_si128((int32_t)tigris_host_four(from));
    _mm_storel_epi64((__m128i *)(void *)to, _mm_cvtepi8_epi16(_mm_shuffle_epi8(bytes, tigris_host_tap_order())));
}

/* ---- sums to outputs ---- */

TIGRIS_HOST_INLINE tigris_host_words tigris_host_words_at(const int32_t *from)
{
    return _mm256_loadu_si256((const __m256i *)(const void *)from);
}

TIGRIS_HOST_INLINE tigris_host_words tigris_host_bytes_at(const int8_t *from)
{
    return _mm256_cvtepi8_epi32(_mm_loadl_epi64((const __m128i *)(const void *)from));
}

TIGRIS_HOST_INLINE tigris_host_words tigris_host_same(int32_t value)
{
    return _mm256_set1_epi32(value);
}

TIGRIS_HOST_INLINE tigris_host_words tigris_host_plus(tigris_host_words a, tigris_host_words b)
{
    return _mm256_add_epi32(a, b);
}

TIGRIS_HOST_INLINE tigris_host_words tigris_host_minus(tigris_host_words a, tigris_host_words b)
{
    return _mm256_sub_epi32(a, b);
}

TIGRIS_HOST_INLINE tigris_host_words tigris_host_larger(tigris_host_words a, tigris_host_words b)
{
    return _mm256_max_epi32(a, b);
}

TIGRIS_HOST_INLINE tigris_host_words tigris_host_smaller(tigris_host_words a, tigris_host_words b)
{
    return _mm256_min_epi32(a, b);
}

/* By 0 … 31 bits. */
TIGRIS_HOST_INLINE tigris_host_words tigris_host_left(tigris_host_words words, tigris_host_words bits)
{
    return _mm256_sllv_epi32(words, bits);
}

/* By 0 … 31 bits, rounded down. */
TIGRIS_HOST_INLINE tigris_host_words tigris_host_right(tigris_host_words words, tigris_host_words bits)
{
    return _mm256_srav_epi32(words, bits);
}

TIGRIS_HOST_INLINE tigris_host_words tigris_host_half(tigris_host_words words)
{
    return _mm256_srai_epi32(words, 1);
}

/* -1 where a word is below zero, else 0. */
TIGRIS_HOST_INLINE tigris_host_words tigris_host_signs(tigris_host_words words)
{
    return _mm256_srai_epi32(words, 31);
}

TIGRIS_HOST_INLINE int tigris_host_all_above(tigris_host_words words, int32_t limit)
{
    return _mm256_movemask_epi8(_mm256_cmpgt_epi32(words, _mm256_set1_epi32(limit))) == -1;
}

/* round(a * b / 2^31), halves up; b is no least int32. */
TIGRIS_HOST_INLINE tigris_host_words tigris_host_high_multiply(tigris_host_words a, tigris_host_words b)
{
    const __m256i half = _mm256_set1_epi64x(INT64_C(1) << 30);
    const __m256i even = _mm256_add_epi64(_mm256_mul_epi32(a, b), half);
    const __m256i odd = _mm256_mul_epi32(_mm256_srli_epi64(a, 32), _mm256_srli_epi64(b, 32));
    return _mm256_blend_epi32(_mm256_srli_epi64(even, 31), _mm256_slli_epi64(_mm256_add_epi64(odd, half), 1), 0xAA);
}

/* round(value / 2^bits), halves away from zero; 0 … 31 bits. */
TIGRIS_HOST_INLINE tigris_host_words tigris_host_rounding_shift(tigris_host_words value, tigris_host_words bits)
{
    const __m256i mask = _mm256_sub_epi32(_mm256_sllv_epi32(_mm256_set1_epi32(1), bits), _mm256_set1_epi32(1));
    const __m256i threshold = _mm256_sub_epi32(_mm256_srli_epi32(mask, 1), _mm256_srai_epi32(value, 31));
    const __m256i is_above = _mm256_cmpgt_epi32(_mm256_and_si256(value, mask), threshold);
    return _mm256_sub_epi32(_mm256_srav_epi32(value, bits), is_above);
}

/* The low bytes; words are int8. */
TIGRIS_HOST_INLINE void tigris_host_store_bytes(int8_t *to, tigris_host_words words)
{
    const __m128i halves = _mm_packs_epi32(_mm256_castsi256_si128(words), _mm256_extracti128_si256(words, 1));
    _mm_storel_epi64((__m128i *)(void *)to, _mm_packs_epi16(halves, halves));
}

#endif
#endif
