#include "rows_int8.h"

/* Whether a widened vector is kept for the next rows of a layer. Without widening it is not worth the pointer. */
#if defined(TIGRIS_DSP)
#define KEEPS_VECTOR 1
#else
#define KEEPS_VECTOR 0
#endif

/* A part of the vector, and of each row. */
typedef struct row_part {
    int32_t at;
    int32_t taps;
    int32_t tiled; /* taps in whole tiles */
    tigris_vector vector;
} row_part;

/* Sums of a block of rows from `first` on, or of one behind the blocks: `initial` and the products of the whole tiles.
 * Returns the number of rows. */
TIGRIS_HOT
static int32_t add_tiles(const tigris_rows *rows, const row_part *p, int32_t first, const uint32_t *initial, uint32_t *sum)
{
    const int8_t *w = rows->weights + first * rows->length;
    if (first < rows->blocked) {
        tigris_vector_block(&p->vector, w + p->at * TIGRIS_CHANNEL_BLOCK, p->tiled, initial, sum);
        return TIGRIS_CHANNEL_BLOCK;
    }
    *sum = tigris_vector_channel(&p->vector, w + p->at, p->tiled, *initial);
    return 1;
}

/* Adds the taps behind the whole tiles of one row. */
TIGRIS_HOT
static void add_tail(const tigris_rows *rows, const row_part *p, int32_t row, uint32_t *sum)
{
    const int32_t length = rows->length;
    const int32_t block = row < rows->blocked ? TIGRIS_CHANNEL_BLOCK : 1, lane = row & (block - 1);
    const int8_t *w = rows->weights + ((row - lane) * length + (p->at + p->tiled) * block + lane);
    for (int32_t tap = p->tiled; tap < p->taps; tap++) {
        *sum = tigris_add_tap(&p->vector, tap, w, *sum);
        w += block;
    }
}

/* tigris_add_rows. If `p->taps` is the rows' length, `p` already holds the vector. */
TIGRIS_HOT
static void add_rows(const tigris_rows *rows, row_part *p, const int8_t *vector, int32_t first, int32_t count,
                     const uint32_t *initial, uint32_t *sums)
{
    for (p->at = 0; p->at < rows->length; p->at += p->taps) {
        if (!KEEPS_VECTOR || p->taps != rows->length) {
            p->taps = rows->length - p->at < TIGRIS_VECTOR_TAPS ? rows->length - p->at : TIGRIS_VECTOR_TAPS;
            p->tiled = p->taps & ~(TIGRIS_TILE_TAPS - 1);
            tigris_fill_vector(&p->vector, vector + p->at, p->taps);
        }
        int32_t i = 0;
#if !defined(__OPTIMIZE_SIZE__) || KEEPS_VECTOR /* on RISC-V 440 bytes at -Os for 6 % of ad's instructions */
        const int8_t *w = rows->weights + (first * rows->length + p->at * TIGRIS_CHANNEL_BLOCK);
        for (; count - i >= 2 * TIGRIS_CHANNEL_BLOCK; i += 2 * TIGRIS_CHANNEL_BLOCK) {
            const int8_t *v = w + rows->length * TIGRIS_CHANNEL_BLOCK;
            tigris_vector_blocks(&p->vector, w, v, p->tiled, initial + i, sums + i);
            w = v + rows->length * TIGRIS_CHANNEL_BLOCK;
        }
#endif
        while (i < count) {
            i += add_tiles(rows, p, first + i, initial + i, sums + i);
        }
        for (i = 0; i < count && p->tiled != p->taps; i++) {
            add_tail(rows, p, first + i, sums + i);
        }
        initial = sums;
    }
}

TIGRIS_HOT
void tigris_add_rows(const tigris_rows *rows, const int8_t *vector, int32_t first, int32_t count, const uint32_t *initial,
                     uint32_t *sums)
{
    row_part p;
    p.taps = 0;
    add_rows(rows, &p, vector, first, count, initial, sums);
}

/* Subtracts from each row's sum its zero point times the sum of the vector. */
TIGRIS_HOT
static void subtract_zeros(const int8_t *zeros, const int8_t *vector, int32_t length, int32_t count, uint32_t *sums)
{
    int32_t sum = 0;
    for (int32_t i = 0; i < length; i++) {
        sum = tigris_wrapping_add(sum, vector[i]);
    }
    for (int32_t i = 0; i < count; i++) {
        /* NOLINTNEXTLINE(clang-analyzer-core.uninitialized.Assign): initialised, since every vector has an element */
        sums[i] -= (uint32_t)(int32_t)zeros[i] * (uint32_t)sum;
    }
}

TIGRIS_HOT
void tigris_run_layer(const tigris_layer *layer, const int8_t *vector, int8_t *output)
{
    uint32_t sums[TIGRIS_ROWS];
    row_part p;
    p.taps = 0;
    for (int32_t first = 0, count; first < layer->outputs; first += count) {
        count = layer->outputs - first < TIGRIS_ROWS ? layer->outputs - first : TIGRIS_ROWS;
        const uint32_t *initial = (const uint32_t *)(const void *)(layer->bias + first);
        if (KEEPS_VECTOR) {
            add_rows(&layer->rows, &p, vector, first, count, initial, sums);
        } else {
            tigris_add_rows(&layer->rows, vector, first, count, initial, sums);
        }
        if (layer->zeros != NULL) {
            subtract_zeros(layer->zeros + first, vector, layer->rows.length, count, sums);
        }
        tigris_requantise_channels(sums, count, layer->multiplier + first * layer->step,
                                   layer->shift + first * layer->step, layer->step, &layer->output, output + first);
    }
}

/* ---- two vectors ---- */

/* Adds the products of the patch to the sums of whole blocks up to `end`. `bias`: initialises them, or NULL. */
static TIGRIS_NOINLINE void add_blocks(const uint32_t *patch, const int8_t *weights, int32_t length, int32_t count,
                                       const int32_t *bias, uint32_t block_bias, uint32_t *sums, const uint32_t *end)
{
    for (; sums != end; sums += 2 * TIGRIS_CHANNEL_BLOCK) {
        uint32_t sum[2 * TIGRIS_CHANNEL_BLOCK];
        if (bias != NULL) {
            tigris_init_pair(&sum[0], &sum[1], bias[0], block_bias);
            tigris_init_pair(&sum[2], &sum[3], bias[1], block_bias);
            tigris_init_pair(&sum[4], &sum[5], bias[2], block_bias);
            tigris_init_pair(&sum[6], &sum[7], bias[3], block_bias);
            bias += TIGRIS_CHANNEL_BLOCK;
        } else {
            memcpy(sum, sums, sizeof sum);
        }
        tigris_add_block(patch, weights, count, sum);
        memcpy(sums, sum, sizeof sum);
        weights += length * TIGRIS_CHANNEL_BLOCK;
    }
}

/* Subtracts from the sums before `end` the rows' zero points times the totals of both vectors. */
static TIGRIS_NOINLINE void subtract_totals(const int8_t *zeros, const uint32_t totals[2], uint32_t *sums,
                                            const uint32_t *end)
{
    for (; sums != end; sums += 2) {
        const uint32_t zero = (uint32_t)(int32_t)*zeros++;
        tigris_subtract_pair(sums, zero * totals[0], zero * totals[1]);
    }
}

/* Writes the outputs of the rows from `first` on whose sums lie before `end`. */
static TIGRIS_NOINLINE void write_pairs(const tigris_layer *layer, int32_t first, const uint32_t *sums,
                                        const uint32_t *end, int8_t *to, int32_t step)
{
    const tigris_output_stage stage = layer->output;
    const int32_t fast_above = tigris_fast_above(stage);
    const int32_t *multipliers = layer->multiplier + first * layer->step;
    const int8_t *shifts = layer->shift + first * layer->step;
    for (; sums != end; sums += 2) {
        const int32_t multiplier = *multipliers, shift = *shifts;
        uint32_t a, b;
        tigris_unpack_pair(sums, &a, &b);
        if (tigris_is_fast_scale(multiplier, shift, fast_above)) {
            const tigris_scale scale = tigris_scale_of(multiplier, shift, stage);
            a = (uint32_t)tigris_requantise_fast(a, scale, stage);
            b = (uint32_t)tigris_requantise_fast(b, scale, stage);
        } else {
            a = (uint32_t)tigris_requantise_slow(a, multiplier, shift, stage);
            b = (uint32_t)tigris_requantise_slow(b, multiplier, shift, stage);
        }
        to[step] = (int8_t)b;
        *to++ = (int8_t)a;
        multipliers += layer->step;
        shifts += layer->step;
    }
}

TIGRIS_HOT
void tigris_run_pair(const tigris_layer *layer, tigris_fill_pair fill, void *vectors, int8_t *output, int32_t step)
{
    uint32_t patch[TIGRIS_PATCH_TAPS];
    uint32_t sums[2 * TIGRIS_PAIR_ROWS];
    const int32_t taps = layer->rows.length;
    const uint32_t block_bias = tigris_block_bias(taps);
    for (int32_t first = 0; first < layer->outputs; first += TIGRIS_PAIR_ROWS) {
        const int32_t rows = layer->outputs - first < TIGRIS_PAIR_ROWS ? layer->outputs - first : TIGRIS_PAIR_ROWS;
        const int32_t blocked = rows & ~(TIGRIS_CHANNEL_BLOCK - 1);
        const int8_t *weights = layer->rows.weights + first * taps;
        const int32_t *bias = layer->bias + first;
        int32_t at = 0;
        do { /* once without taps */
            const int32_t count = taps - at < TIGRIS_PATCH_TAPS ? taps - at : TIGRIS_PATCH_TAPS;
            if (first == 0 || taps > TIGRIS_PATCH_TAPS) { /* else the patch holds all taps already */
                fill(vectors, at, count, patch);
            }
            add_blocks(patch, weights + at * TIGRIS_CHANNEL_BLOCK, taps, count, bias, block_bias, sums,
                       sums + 2 * blocked);
            for (int32_t i = blocked; i < rows; i++) {
                if (bias != NULL) {
                    tigris_init_pair(&sums[2 * i], &sums[2 * i + 1], bias[i], block_bias);
                }
                tigris_add_channel(patch, weights + i * taps + at, count, sums + 2 * i);
            }
            bias = NULL;
            at += TIGRIS_PATCH_TAPS;
        } while (at < taps);
        if (layer->zeros != NULL) {
            subtract_totals(layer->zeros + first, vectors, sums, sums + 2 * rows);
        }
        write_pairs(layer, first, sums, sums + 2 * rows, output + first, step);
    }
}
