/* C in place of the assembly of runtime/src/kernels/pie, so that what calls it runs on any machine, under sanitizers: the
 * arithmetic of tigris_pio/compiler/backends/pie_scales.py on the streams of tigris_pio/format/pie.py. That
 * the assembly does the same is tested with its interpreter (tests/emulation/xtensa). */
#include <stdlib.h>
#include <string.h>

#include "../../runtime/src/kernels/pie/layer.h"

enum { EIGHT = 8 };

/* A layer of a call: what the function's name says. */
typedef struct work {
    const tigris_pie_layer *layer;
    tigris_pie_ending ending;
    uint32_t vectors;
} work;

/* The words of eight outputs. */
typedef struct words {
    int32_t offset[EIGHT];
    int32_t fraction[EIGHT];
    int32_t multiplier[EIGHT];
    int32_t border[EIGHT];
    int32_t step[EIGHT];
} words;

static void need(int holds)
{
    if (!holds)
        abort();
}

static int32_t i2(const int8_t *from, uint32_t part, uint32_t lane)
{
    int16_t value;
    memcpy(&value, from + 2U * (part * EIGHT + lane), sizeof value);
    return value;
}

static int32_t i4(int32_t high, int32_t low)
{
    return (int32_t)((uint32_t)high * 65536U + (uint32_t)low);
}

/* What lies behind the offsets; answers its bytes. */
static uint32_t read_words(const int8_t *from, tigris_pie_ending ending, words *w)
{
    const int above = ending == TIGRIS_PIE_ABOVE;
    for (uint32_t i = 0; i < EIGHT; i++) {
        if (ending >= TIGRIS_PIE_WHOLE) {
            w->fraction[i] = (i2(from, 0U, i) & 0xFFFF) >> 1;
            w->multiplier[i] = i4(i2(from, 2U, i), i2(from, 1U, i) & 0xFFFF);
            w->border[i] = i2(from, 4U, i);
            w->step[i] = i2(from, 6U, i);
        } else {
            w->multiplier[i] = i4(i2(from, 0U, i), i2(from, 2U, i));
            w->fraction[i] = i2(from, 1U, i) & 0xFFFF;
            w->border[i] = above ? INT16_MIN : i2(from, 3U, i);
            w->step[i] = above ? 0 : i2(from, 4U, i);
        }
    }
    return ending >= TIGRIS_PIE_WHOLE ? 112U : above ? 48U : 80U;
}

static int64_t saturated(int64_t value)
{
    return value < INT32_MIN ? INT32_MIN : value > INT32_MAX ? INT32_MAX : value;
}

static int8_t output_of(const work *own, const words *w, uint32_t i, int64_t sum, uint32_t doublings)
{
    for (uint32_t left = own->layer->left + doublings; left != 0U; left--)
        sum = saturated(sum * 2);
    const int64_t wide = saturated(saturated(sum) + w->offset[i]);
    const int64_t high = wide >> 16, low = wide & 0xFFFF;
    const int64_t most = (w->multiplier[i] + (INT64_C(1) << 15)) >> 16;
    const int64_t least = w->multiplier[i] - most * 65536;
    int64_t middle = w->fraction[i] + low * most + high * least;
    if (own->ending >= TIGRIS_PIE_WHOLE) {
        const int64_t part = (low * (w->multiplier[i] & 0xFFFF) + w->fraction[i] * INT64_C(65536)) >> 16;
        middle = part + low * (w->multiplier[i] >> 16) + high * least;
    }
    int64_t value = (high * most + (middle >> 16) - (high < w->border[i] ? w->step[i] : 0)) >> own->layer->right;
    value = (value < INT16_MIN ? INT16_MIN : value > INT16_MAX ? INT16_MAX : value) >> 8;
    const int is_clamped = own->ending == TIGRIS_PIE_CLAMPED || own->ending == TIGRIS_PIE_WHOLE_CLAMPED ||
                           own->ending == TIGRIS_PIE_LONG_CLAMPED;
    const int64_t lowest = is_clamped ? own->layer->low : INT8_MIN;
    const int64_t highest = is_clamped ? own->layer->high : INT8_MAX;
    return (int8_t)(value < lowest ? lowest : value > highest ? highest : value);
}

static void dense(const int8_t *input, int8_t *output, work own, uint32_t pixels)
{
    const uint32_t bytes = own.vectors * TIGRIS_PIE_LANES;
    const uint32_t doublings = own.ending >= TIGRIS_PIE_LONG ? 2U : 0U;
    need(tigris_pie_is_aligned(input, TIGRIS_PIE_LANES));
    need(tigris_pie_is_aligned(output, EIGHT));
    for (; pixels != 0U; pixels--, input += bytes) {
        const int8_t *stream = own.layer->stream;
        need(tigris_pie_is_aligned(stream, TIGRIS_PIE_LANES));
        for (uint32_t block = 0; block < own.layer->blocks; block++) {
            words w;
            const int8_t *weights = stream;
            stream += EIGHT * bytes;
            memcpy(w.offset, stream, sizeof w.offset);
            stream += sizeof w.offset;
            stream += read_words(stream, own.ending, &w);
            for (uint32_t i = 0; i < EIGHT; i++, weights += bytes) {
                int64_t sum = 0;
                for (uint32_t k = 0; k < bytes; k++)
                    sum += input[k] * weights[k];
                *output++ = output_of(&own, &w, i, sum, doublings);
            }
        }
        (void)*(const volatile int8_t *)&stream[15]; /* is read, and not used */
        output += own.layer->skip;
    }
}

static void depthwise(const int8_t *input, int8_t *output, work own, uint32_t pixels, const tigris_pie_window *window)
{
    const uint32_t taps = window->rows * window->columns, row = window->columns * window->column + window->row;
    need(tigris_pie_is_aligned(output, TIGRIS_PIE_LANES));
    for (uint32_t x = 0; x < pixels; x++, output += own.layer->blocks * TIGRIS_PIE_LANES) {
        const int8_t *stream = own.layer->stream;
        for (uint32_t block = 0; block < own.layer->blocks; block++) {
            const int8_t *weights = stream, *offsets = stream + taps * TIGRIS_PIE_LANES;
            stream = offsets + 2U * EIGHT * sizeof(int32_t);
            for (uint32_t odd = 0; odd < 2U; odd++) {
                words w;
                memcpy(w.offset, offsets + odd * sizeof w.offset, sizeof w.offset);
                stream += read_words(stream, own.ending, &w);
                for (uint32_t i = 0; i < EIGHT; i++) {
                    const uint32_t lane = 2U * i + odd;
                    int64_t sum = 0;
                    for (uint32_t tap = 0; tap < taps; tap++) {
                        const int8_t *from = input + x * window->next + tap / window->columns * row +
                                             tap % window->columns * window->column;
                        need(tigris_pie_is_aligned(from, TIGRIS_PIE_LANES));
                        sum += from[block * TIGRIS_PIE_LANES + lane] * weights[tap * TIGRIS_PIE_LANES + lane];
                    }
                    output[block * TIGRIS_PIE_LANES + lane] = output_of(&own, &w, i, sum, 0U);
                }
            }
        }
        (void)*(const volatile int8_t *)&stream[15];
    }
}

static void depthwise_3x3(const int8_t *input, int8_t *output, work own, uint32_t pixels,
                          const tigris_pie_window *window)
{
    need(window->rows == 3U && window->columns == 3U);
    depthwise(input, output, own, pixels, window);
}

/* Each pixel from a copy of its window, in which a tap's eight channels fill the lower half of a vector. */
static void depthwise_3x3_pairs(const int8_t *input, int8_t *output, work own, uint32_t pairs,
                                const tigris_pie_window *window)
{
    const tigris_pie_window copied = {3U, 3U, TIGRIS_PIE_LANES, 0U, 0U};
    for (uint32_t x = 0; x < 2U * pairs; x++, output += EIGHT) {
        int8_t memory[11 * TIGRIS_PIE_LANES] = {0};
        int8_t *const result = memory + (-(uintptr_t)memory & (TIGRIS_PIE_LANES - 1U)), *to = result;
        for (uint32_t tap = 0; tap < 9U; tap++) {
            const int8_t *from = input + x * window->next + tap / 3U * (3U * window->column + window->row) +
                                 tap % 3U * window->column;
            need(tigris_pie_is_aligned(from, EIGHT));
            memcpy(to += TIGRIS_PIE_LANES, from, EIGHT);
        }
        depthwise_3x3(result + TIGRIS_PIE_LANES, result, own, 1U, &copied);
        memcpy(output, result, EIGHT);
    }
}

#define DENSE(name, named, count)                                                                                      \
    void tigris_pie_dense##name(const int8_t *input, int8_t *output, const tigris_pie_layer *layer, uint32_t pixels)   \
    {                                                                                                                  \
        const work own = {layer, named, (count) != 0U ? (count) : layer->vectors};                                     \
        dense(input, output, own, pixels);                                                                             \
    }
#define SHORT(inputs, count)                                                                                           \
    DENSE(_##inputs##_above, TIGRIS_PIE_ABOVE, count)                                                                  \
    DENSE(_##inputs, TIGRIS_PIE_USUAL, count)                                                                          \
    DENSE(_##inputs##_clamped, TIGRIS_PIE_CLAMPED, count)                                                              \
    DENSE(_##inputs##_whole, TIGRIS_PIE_WHOLE, count)                                                                  \
    DENSE(_##inputs##_whole_clamped, TIGRIS_PIE_WHOLE_CLAMPED, count)
SHORT(16, 1U)
SHORT(32, 2U)
SHORT(64, 4U)
DENSE(, TIGRIS_PIE_LONG, 0U)
DENSE(_clamped, TIGRIS_PIE_LONG_CLAMPED, 0U)

#define DEPTHWISE(name, end, named)                                                                                    \
    void tigris_pie_##name##end(const int8_t *input, int8_t *output, const tigris_pie_layer *layer, uint32_t pixels,   \
                                const tigris_pie_window *window)                                                       \
    {                                                                                                                  \
        const work own = {layer, named, 0U};                                                                           \
        name(input, output, own, pixels, window);                                                                      \
    }
#define ENDINGS(name)                                                                                                  \
    DEPTHWISE(name, _above, TIGRIS_PIE_ABOVE)                                                                          \
    DEPTHWISE(name, , TIGRIS_PIE_USUAL)                                                                                \
    DEPTHWISE(name, _clamped, TIGRIS_PIE_CLAMPED)                                                                      \
    DEPTHWISE(name, _whole, TIGRIS_PIE_WHOLE)                                                                          \
    DEPTHWISE(name, _whole_clamped, TIGRIS_PIE_WHOLE_CLAMPED)
ENDINGS(depthwise)
ENDINGS(depthwise_3x3)
ENDINGS(depthwise_3x3_pairs)

void tigris_pie_copy(int8_t *to, const int8_t *from, uint32_t bytes, uint32_t rows, uint32_t to_step,
                     uint32_t from_step)
{
    need(rows != 0U);
    for (uint32_t i = 0; i < rows; i++)
        memcpy(to + i * to_step, from + i * from_step, bytes);
}

void tigris_pie_sum_pixels(int32_t *sums, const int32_t *before, const int8_t *from, uint32_t pixels,
                           uint32_t channels)
{
    need(pixels != 0U && pixels <= TIGRIS_PIE_LONGEST_SUM && channels % TIGRIS_PIE_LANES == 0U);
    need((((uintptr_t)sums | (uintptr_t)before | (uintptr_t)from) & (TIGRIS_PIE_LANES - 1U)) == 0U);
    for (uint32_t i = 0; i < channels; i++) {
        int64_t sum = before[i];
        for (uint32_t x = 0; x < pixels; x++)
            sum += from[x * channels + i];
        sums[i] = (int32_t)sum;
    }
}

void tigris_pie_add(const int8_t *a, const int8_t *b, int8_t *output, const int32_t words[3], uint32_t vectors)
{
    int64_t factors[3];
    for (uint32_t i = 0; i < 3U; i++)
        factors[i] = (words[i] >> 16) * INT64_C(65536) + (int16_t)words[i];
    for (uint32_t i = 0; i < 3U; i++)
        need(tigris_pie_is_aligned(i == 0U ? a : i == 1U ? b : output, TIGRIS_PIE_LANES));
    for (uint32_t i = 0; i < vectors * TIGRIS_PIE_LANES; i++) {
        const int64_t sum = (factors[0] * a[i] + factors[1] * b[i]) * 256 + factors[2] * 16384;
        const int64_t value = sum >> 35;
        output[i] = (int8_t)(value < INT8_MIN ? INT8_MIN : value > INT8_MAX ? INT8_MAX : value);
    }
}

static void pool(const int8_t *input, int8_t *output, const tigris_pie_window *window, uint32_t channels,
                 const tigris_pie_pool *own, uint32_t pixels, int is_max)
{
    const uint32_t row = window->columns * window->column + window->row;
    need(window->rows != 0U && window->columns != 0U && channels % EIGHT == 0U && pixels != 0U);
    need(is_max || window->rows * window->columns <= TIGRIS_PIE_LARGEST_POOL);
    for (uint32_t x = 0; x < pixels; x++, input += window->next, output += channels) {
        for (uint32_t channel = 0; channel < channels; channel++) {
            int64_t sum = is_max ? INT8_MIN : own->start;
            for (uint32_t tap = 0; tap < window->rows * window->columns; tap++) {
                const int8_t *from = input + tap / window->columns * row + tap % window->columns * window->column;
                need(tigris_pie_is_aligned(from, EIGHT) && tigris_pie_is_aligned(output, EIGHT));
                sum = !is_max ? sum + from[channel] : from[channel] > sum ? from[channel] : sum;
            }
            if (!is_max)
                sum = (sum * own->multiplier + own->offset * own->unit) >> own->shift;
            output[channel] = (int8_t)(sum < own->low ? own->low : sum > own->high ? own->high : sum);
        }
    }
}

void tigris_pie_max_pool(const int8_t *input, int8_t *output, const tigris_pie_window *window, uint32_t channels,
                         const tigris_pie_pool *own, uint32_t pixels)
{
    pool(input, output, window, channels, own, pixels, 1);
}

void tigris_pie_average_pool(const int8_t *input, int8_t *output, const tigris_pie_window *window, uint32_t channels,
                             const tigris_pie_pool *own, uint32_t pixels)
{
    pool(input, output, window, channels, own, pixels, 0);
}

void tigris_pie_sum_rows(int32_t *sums, const int16_t *input, const int8_t *weights, uint32_t step, uint32_t rows,
                         uint32_t count)
{
    need(((uintptr_t)input & (TIGRIS_PIE_LANES - 1U)) == 0U && rows != 0U && count != 0U && count <= 256U);
    for (uint32_t k = count; k % EIGHT != 0U; k++)
        need(input[k] == 0);
    for (uint32_t i = 0; i < rows; i++, weights += step) {
        sums[i] = 0;
        for (uint32_t k = 0; k < count; k++)
            sums[i] += input[k] * weights[k];
    }
}

void tigris_pie_sum_eight(int32_t *sums, const int16_t *input, const int8_t *weights, const tigris_pie_window *window,
                          uint32_t step, uint32_t gap)
{
    const uint32_t row = window->columns * window->column + window->row, kernel_row = window->columns * step + gap;
    need(window->rows != 0U && window->columns != 0U && window->rows * window->columns <= 256U);
    for (uint32_t i = 0; i < EIGHT; i++) {
        sums[i] = 0;
        for (uint32_t tap = 0; tap < window->rows * window->columns; tap++) {
            const uint32_t y = tap / window->columns, x = tap % window->columns;
            const int8_t *from = (const int8_t *)(const void *)input + y * row + x * window->column;
            const int8_t *weight = weights + y * kernel_row + x * step;
            need(tigris_pie_is_aligned(from, TIGRIS_PIE_LANES) && tigris_pie_is_aligned(weight, EIGHT));
            sums[i] += ((const int16_t *)(const void *)from)[i] * weight[i];
        }
    }
}
