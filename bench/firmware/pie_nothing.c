/* Empty functions in place of the ESP32-S3's assembly, to count the C around it; and C library functions that copy
 * words, as on that chip (picolibc copies bytes). */
#include <stddef.h>

#include "../../runtime/src/kernels/pie/pie_int8.h"

#pragma GCC diagnostic ignored "-Wunused-parameter"
#pragma GCC optimize("no-tree-loop-distribute-patterns")

#define DENSE(name)                                                                                                        \
    void tigris_pie_dense##name(const int8_t *input, int8_t *output, const tigris_pie_layer *layer, uint32_t pixels) {}
#define DEPTHWISE(name)                                                                                                    \
    void tigris_pie_depthwise##name(const int8_t *input, int8_t *output, const tigris_pie_layer *layer, uint32_t pixels,   \
                                    const tigris_pie_window *window) {}
#define ENDINGS(of, size) of(size##_above) of(size) of(size##_clamped) of(size##_whole) of(size##_whole_clamped)

ENDINGS(DENSE, _16)
ENDINGS(DENSE, _32)
ENDINGS(DENSE, _64)
DENSE()
DENSE(_clamped)
ENDINGS(DEPTHWISE, )
ENDINGS(DEPTHWISE, _3x3)
ENDINGS(DEPTHWISE, _3x3_pairs)
void tigris_pie_copy(int8_t *to, const int8_t *from, uint32_t bytes, uint32_t rows, uint32_t to_step, uint32_t from_step) {}
void tigris_pie_sum_pixels(int32_t *sums, const int32_t *before, const int8_t *from, uint32_t pixels, uint32_t channels) {}
void tigris_pie_max_pool(const int8_t *input, int8_t *output, const tigris_pie_window *window, uint32_t channels, const tigris_pie_pool *pool, uint32_t pixels) {}
void tigris_pie_average_pool(const int8_t *input, int8_t *output, const tigris_pie_window *window, uint32_t channels, const tigris_pie_pool *pool, uint32_t pixels) {}
void tigris_pie_sum_rows(int32_t *sums, const int16_t *input, const int8_t *weights, uint32_t step, uint32_t rows, uint32_t count) {}
void tigris_pie_sum_eight(int32_t *sums, const int16_t *input, const int8_t *weights, const tigris_pie_window *window, uint32_t step, uint32_t gap) {}
void tigris_pie_add(const int8_t *a, const int8_t *b, int8_t *output, const int32_t words[3], uint32_t vectors) {}

void *memcpy(void *restrict to, const void *restrict from, size_t bytes)
{
    uint8_t *t = to;
    const uint8_t *f = from;
    for (; bytes > 0U && ((uintptr_t)t & 3U) != 0U; bytes--) {
        *t++ = *f++;
    }
    for (; bytes >= 16U; bytes -= 16U, t += 16, f += 16) {
        const uint32_t *words = (const void *)f;
        const uint32_t a = words[0], b = words[1], c = words[2], d = words[3];
        uint32_t *target = (void *)t;
        target[0] = a, target[1] = b, target[2] = c, target[3] = d;
    }
    while (bytes-- > 0U) {
        *t++ = *f++;
    }
    return to;
}

void *memmove(void *to, const void *from, size_t bytes)
{
    if ((uintptr_t)to - (uintptr_t)from >= bytes) {
        return memcpy(to, from, bytes);
    }
    while (bytes-- > 0U) {
        ((uint8_t *)to)[bytes] = ((const uint8_t *)from)[bytes];
    }
    return to;
}

void *memset(void *to, int value, size_t bytes)
{
    uint8_t *t = to;
    for (; bytes > 0U && ((uintptr_t)t & 3U) != 0U; bytes--) {
        *t++ = (uint8_t)value;
    }
    for (; bytes >= 16U; bytes -= 16U, t += 16) {
        uint32_t *words = (void *)t;
        words[0] = words[1] = words[2] = words[3] = (uint8_t)value * 0x01010101U;
    }
    while (bytes-- > 0U) {
        *t++ = (uint8_t)value;
    }
    return to;
}
