/* The kernels in the ESP32-S3's vectors, each call of which is asked of the other end of the pipe. */
#include "../assembly/pipe.h"

#include "../../runtime/src/kernels/pie/layer.h"

/* The layer is a pointer to its stream, and numbers behind it. */
#define LAYER(stream_bytes)                                                                                             \
    pointers(1U, &layer->blocks, sizeof *layer - offsetof(tigris_pie_layer, blocks)),                                  \
        bytes(READ, layer->stream, stream_bytes)

static void dense(const char *name, const int8_t *input, int8_t *output, const tigris_pie_layer *layer,
                  uint32_t pixels, uint32_t words)
{
    const uint32_t each = layer->vectors * TIGRIS_PIE_LANES, made = layer->blocks * TIGRIS_PIE_OUTPUTS;
    int8_t *const memory = allocate(pixels * (made + layer->skip) + TIGRIS_PIE_LANES);
    int8_t *const copy = memory + ((uintptr_t)output & (TIGRIS_PIE_LANES - 1U)); /* bytes between pixels stay */
    const argument arguments[] = {
        bytes(READ, input, pixels * each), bytes(WRITTEN, copy, pixels * (made + layer->skip) - layer->skip),
        LAYER(layer->blocks * (TIGRIS_PIE_OUTPUTS * each + 32U + words) + TIGRIS_PIE_LANES), number((int32_t)pixels)};
    ASK(name, arguments);
    for (uint32_t i = 0; i < pixels; i++) {
        memcpy(output + i * (made + layer->skip), copy + i * (made + layer->skip), made);
    }
    free(memory);
}

/* `size`: bytes of a tap and of the outputs of `pixels`. */
static void depthwise(const char *name, const int8_t *input, int8_t *output, const tigris_pie_layer *layer,
                      uint32_t pixels, const tigris_pie_window *window, uint32_t size, uint32_t words)
{
    const uint32_t row = window->columns * window->column + window->row;
    const uint32_t each =
        (pixels - 1U) * window->next + (window->rows - 1U) * row + (window->columns - 1U) * window->column + size;
    const uint32_t taps = window->rows * window->columns * TIGRIS_PIE_LANES;
    const argument arguments[] = {
        bytes(READ, input, each), bytes(WRITTEN, output, pixels * size),
        LAYER(layer->blocks * (taps + 2U * (32U + words)) + TIGRIS_PIE_LANES),
        number((int32_t)(size == TIGRIS_PIE_OUTPUTS ? pixels / 2U : pixels)), bytes(READ, window, sizeof *window)};
    ASK(name, arguments);
}

#define DENSE(end, words)                                                                                              \
    void tigris_pie_dense##end(const int8_t *input, int8_t *output, const tigris_pie_layer *layer, uint32_t pixels)    \
    {                                                                                                                  \
        dense("tigris_pie_dense" #end, input, output, layer, pixels, words);                                           \
    }
#define DEPTHWISE(end, words)                                                                                          \
    void tigris_pie_depthwise##end(const int8_t *input, int8_t *output, const tigris_pie_layer *layer,                 \
                                   uint32_t pixels, const tigris_pie_window *window)                                   \
    {                                                                                                                  \
        depthwise("tigris_pie_depthwise" #end, input, output, layer, pixels, window,                                   \
                  layer->blocks * TIGRIS_PIE_LANES, words);                                                            \
    }
#define PAIRS(end, words)                                                                                              \
    void tigris_pie_depthwise_3x3_pairs##end(const int8_t *input, int8_t *output, const tigris_pie_layer *layer,       \
                                             uint32_t pairs, const tigris_pie_window *window)                          \
    {                                                                                                                  \
        depthwise("tigris_pie_depthwise_3x3_pairs" #end, input, output, layer, 2U * pairs, window,                     \
                  TIGRIS_PIE_OUTPUTS, words);                                                                          \
    }
#define ENDS(of, size)                                                                                                 \
    of(size##_above, 48U) of(size, 80U) of(size##_clamped, 80U) of(size##_whole, 112U) of(size##_whole_clamped, 112U)
ENDS(DENSE, _16)
ENDS(DENSE, _32)
ENDS(DENSE, _64)
DENSE(, 112U)
DENSE(_clamped, 112U)
ENDS(DEPTHWISE, )
ENDS(DEPTHWISE, _3x3)
ENDS(PAIRS, )

/* The rows come from a copy that lies as `to` does: bytes between them stay. */
void tigris_pie_copy(int8_t *to, const int8_t *from, uint32_t bytes_of_row, uint32_t rows, uint32_t to_step,
                     uint32_t from_step)
{
    const uint32_t size = (rows - 1U) * to_step + bytes_of_row, place = (uint32_t)((uintptr_t)to & 15U);
    int8_t *memory = allocate(size + place), *copy = memory + place;
    const argument arguments[] = {
        bytes(WRITTEN, copy, size), bytes(READ, from, (rows - 1U) * from_step + bytes_of_row),
        number((int32_t)bytes_of_row), number((int32_t)rows), number((int32_t)to_step), number((int32_t)from_step)};
    ASK("tigris_pie_copy", arguments);
    for (uint32_t i = 0; i < rows; i++) {
        memmove(to + i * to_step, copy + i * to_step, bytes_of_row);
    }
    free(memory);
}

void tigris_pie_sum_pixels(int32_t *sums, const int32_t *before, const int8_t *from, uint32_t pixels, uint32_t channels)
{
    const uint32_t size = channels * (uint32_t)sizeof *sums;
    const argument arguments[] = {bytes(WRITTEN, sums, size), bytes(READ, before, size),
                                  bytes(READ, from, pixels * channels), number((int32_t)pixels),
                                  number((int32_t)channels)};
    ASK("tigris_pie_sum_pixels", arguments);
}

#define POOL(name)                                                                                                     \
    void name(const int8_t *input, int8_t *output, const tigris_pie_window *window, uint32_t channels,                 \
              const tigris_pie_pool *pool, uint32_t pixels)                                                            \
    {                                                                                                                  \
        const uint32_t row = window->columns * window->column + window->row;                                           \
        const uint32_t each = (pixels - 1U) * window->next + (window->rows - 1U) * row +                               \
                              (window->columns - 1U) * window->column + channels;                                      \
        const argument arguments[] = {bytes(READ, input, each), bytes(WRITTEN, output, pixels * channels),             \
                                      bytes(READ, window, sizeof *window), number((int32_t)channels),                  \
                                      bytes(READ, pool, sizeof *pool), number((int32_t)pixels)};                       \
        ASK(#name, arguments);                                                                                         \
    }
POOL(tigris_pie_max_pool)
POOL(tigris_pie_average_pool)

void tigris_pie_sum_rows(int32_t *sums, const int16_t *input, const int8_t *weights, uint32_t step, uint32_t rows,
                         uint32_t count)
{
    const argument arguments[] = {bytes(WRITTEN, sums, rows * (uint32_t)sizeof *sums),
                                  bytes(READ, input, (count + 7U) / 8U * TIGRIS_PIE_LANES),
                                  bytes(READ, weights, (rows - 1U) * step + count), number((int32_t)step),
                                  number((int32_t)rows), number((int32_t)count)};
    ASK("tigris_pie_sum_rows", arguments);
}

void tigris_pie_sum_eight(int32_t *sums, const int16_t *input, const int8_t *weights, const tigris_pie_window *window,
                          uint32_t step, uint32_t gap)
{
    const uint32_t row = window->columns * window->column + window->row, kernel_row = window->columns * step + gap;
    const argument arguments[] = {
        bytes(WRITTEN, sums, 8U * sizeof *sums),
        bytes(READ, input, (window->rows - 1U) * row + (window->columns - 1U) * window->column + TIGRIS_PIE_LANES),
        bytes(READ, weights, (window->rows - 1U) * kernel_row + (window->columns - 1U) * step + 8U),
        bytes(READ, window, sizeof *window), number((int32_t)step), number((int32_t)gap)};
    ASK("tigris_pie_sum_eight", arguments);
}

void tigris_pie_add(const int8_t *a, const int8_t *b, int8_t *output, const int32_t words[3], uint32_t vectors)
{
    const uint32_t each = vectors * TIGRIS_PIE_LANES;
    const argument arguments[] = {bytes(READ, a, each), bytes(READ, b, each), bytes(WRITTEN, output, each),
                                  bytes(READ, words, 3U * sizeof *words), number((int32_t)vectors)};
    ASK("tigris_pie_add", arguments);
}

int main(void)
{
    return run_with(&tigris_pie_backend);
}
