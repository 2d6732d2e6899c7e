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
} tigris_layer;

/* Computes all outputs of a vector. `zeros`: the rows' weight zero points, or NULL; an output's sum loses its zero
 * point times the sum of the vector. */
void tigris_run_layer(const tigris_layer *layer, const int8_t *zeros, const int8_t *vector, int8_t *output);

/* Fills a patch with `count` taps of two vectors from tap `at` on. */
typedef void (*tigris_fill_pair)(const void *vectors, int32_t at, int32_t count, uint32_t *patch);

/* Computes all outputs of two vectors, written to `output` and `step` bytes behind. */
void tigris_run_pair(const tigris_layer *layer, tigris_fill_pair fill, const void *vectors, int8_t *output,
                     int32_t step);

#endif
