/* Sums of products of one int8 vector, or of two, with rows of packed int8 weights (block_int8.h). */
#ifndef TIGRIS_ROWS_INT8_H
#define TIGRIS_ROWS_INT8_H

#include "block_int8.h"
#include "scale_int8.h"

/* Rows whose sums are kept at once, a multiple of two blocks. */
#define TIGRIS_ROWS 32

typedef struct tigris_rows {
    const int8_t *weights;
    int32_t length;  /* taps of a row and of the vector */
    int32_t blocked; /* rows in whole blocks */
} tigris_rows;

/* Sums of rows [first, first + count): `initial` and the products of the vector. `first` is a multiple of TIGRIS_ROWS,
 * `count` at most TIGRIS_ROWS. */
void tigris_add_rows(const tigris_rows *rows, const int8_t *vector, int32_t first, int32_t count, const uint32_t *initial,
                     uint32_t *sums);

/* A matrix, and the requantisation of its products with a vector. */
typedef struct tigris_layer {
    tigris_rows rows;
    int32_t outputs;
    int32_t step; /* stride of multipliers and shifts: 1, or 0 if one scale serves all */
    const int32_t *bias;
    const int32_t *multiplier;
    const int8_t *shift;
    tigris_output_stage output;
    const int8_t *zeros; /* weight zero points of the rows, or NULL; an output's sum loses its zero point times the sum
                          * of its vector */
} tigris_layer;

/* Computes all outputs of a vector. */
void tigris_run_layer(const tigris_layer *layer, const int8_t *vector, int8_t *output);

/* Weights of one pass over the vectors or pixels of a call, in bytes. A pass reads its weights again for each pixel tile,
 * from flash through a cache of 16 KB, which also holds the code: larger layers take several passes. One constant serves
 * all chips. With 16,384 visual wake words takes as many cycles before a cache of 32 KB and 13 % more before one of
 * 16 KB. Without waiting it takes .03 % fewer. 4,096 saves 9 % before 8 KB (bench.cycles --memory 8192,4,32,160). */
#define TIGRIS_PASS_BYTES 8192

/* The most rows of a pass over `rows` rows of `length` taps: all, or a multiple of `block`. */
static inline int32_t tigris_pass_rows(int32_t length, int32_t rows, int32_t block)
{
    if (length * rows <= 3 * TIGRIS_PASS_BYTES / 2) {
        return rows;
    }
    const int32_t blocks = TIGRIS_PASS_BYTES / block / length;
    return blocks > 1 ? blocks * block : block;
}

/* Rows whose sums tigris_run_pair keeps between patches, a multiple of a block. 24 would
 * take 64 bytes more of stack. */
#define TIGRIS_PAIR_ROWS 16

/* Fills a patch with `count` taps of two vectors from tap `at` on. If the layer has zero points, `vectors` begins with
 * two words that hold the sums of both vectors once the last tap is filled. */
typedef void (*tigris_fill_pair)(void *vectors, int32_t at, int32_t count, uint32_t *patch);

/* Computes all outputs of two vectors, written to `output` and `step` bytes behind. */
void tigris_run_pair(const tigris_layer *layer, tigris_fill_pair fill, void *vectors, int8_t *output, int32_t step);

#endif
