/* Kernels for the vector instructions of the ESP32-S3 (PIE), in assembly; built with TIGRIS_PIE.
 *
 * Input bytes include the input's zero point, which the stream's words compensate. Pointers to values are multiples
 * of 16, outputs of dense kernels multiples of 8. The compiler makes a layer's stream and chooses the function
 * (tigris_pio/compiler/backends/pie_streams.py). `_above`: no output is below the zero point, limits of int8; no
 * ending: limits of int8; `_clamped`: any limits; `_whole`: channels' scales differ so much that the smaller ones
 * need all digits. 16 bytes behind a stream are read and not used. The functions follow the windowed ABI; the caller
 * saves vector registers and accumulators. */
#ifndef TIGRIS_PIE_INT8_H
#define TIGRIS_PIE_INT8_H

#include <stdint.h>

typedef struct tigris_pie_layer {
    const int8_t *stream; /* weights and words in the order they are used */
    uint32_t blocks;      /* eights of outputs; depthwise: sixteens of channels */
    uint32_t left;        /* shift of sums */
    uint32_t right;       /* shift of outputs */
    uint32_t vectors;     /* of a pixel, 16 bytes each; tigris_pie_dense and _clamped only */
    int8_t low;           /* the activation's limits; _clamped only */
    int8_t high;
    uint32_t skip; /* bytes of an output pixel that lie between its blocks and the next pixel's; dense kernels only */
} tigris_pie_layer;

/* Computes `pixels` pixels of 8 * blocks outputs from as many of the input, which lie one behind another. */
typedef void tigris_pie_dense_kernel(const int8_t *input, int8_t *output, const tigris_pie_layer *layer,
                                     uint32_t pixels);

tigris_pie_dense_kernel tigris_pie_dense_16_above;
tigris_pie_dense_kernel tigris_pie_dense_16;
tigris_pie_dense_kernel tigris_pie_dense_16_clamped;
tigris_pie_dense_kernel tigris_pie_dense_16_whole;
tigris_pie_dense_kernel tigris_pie_dense_16_whole_clamped;
tigris_pie_dense_kernel tigris_pie_dense_32_above;
tigris_pie_dense_kernel tigris_pie_dense_32;
tigris_pie_dense_kernel tigris_pie_dense_32_clamped;
tigris_pie_dense_kernel tigris_pie_dense_32_whole;
tigris_pie_dense_kernel tigris_pie_dense_32_whole_clamped;
tigris_pie_dense_kernel tigris_pie_dense_64_above;
tigris_pie_dense_kernel tigris_pie_dense_64;
tigris_pie_dense_kernel tigris_pie_dense_64_clamped;
tigris_pie_dense_kernel tigris_pie_dense_64_whole;
tigris_pie_dense_kernel tigris_pie_dense_64_whole_clamped;
tigris_pie_dense_kernel tigris_pie_dense;
tigris_pie_dense_kernel tigris_pie_dense_clamped;

/* `vectors` of 16 elements of a and b, and as many outputs, which may overwrite an input; the words of
 * tigris_pie_sum_int8_params. */
void tigris_pie_add(const int8_t *a, const int8_t *b, int8_t *output, const int32_t words[3], uint32_t vectors);

/* sums[c] = before[c] + channel c of `pixels` pixels, at least one and at most TIGRIS_PIE_LONGEST_SUM. Channels and pointers
 * are multiples of 16; the sums may overwrite those before. */
#define TIGRIS_PIE_LONGEST_SUM 4096U
void tigris_pie_sum_pixels(int32_t *sums, const int32_t *before, const int8_t *from, uint32_t pixels,
                           uint32_t channels);

/* `bytes` of each of `rows`, at least one, with so many bytes from one to the next. */
void tigris_pie_copy(int8_t *to, const int8_t *from, uint32_t bytes, uint32_t rows, uint32_t to_step,
                     uint32_t from_step);

/* The taps of a kernel: `rows` of `columns`, at least one each. Steps are bytes of the input. */
typedef struct tigris_pie_window {
    uint32_t rows;
    uint32_t columns;
    uint32_t column; /* from tap to tap */
    uint32_t row;    /* from behind a row's last tap to the next row's first, modulo 2^32 */
    uint32_t next;   /* from one output's first tap to the next output's */
} tigris_pie_window;

/* The constants of pooling. An average is (sum * multiplier + offset * unit) >> shift, for the sum of `start` and the taps,
 * at most TIGRIS_PIE_LARGEST_POOL. Outputs lie between the limits; a maximum needs these alone. */
#define TIGRIS_PIE_LARGEST_POOL 64
typedef struct tigris_pie_pool {
    uint32_t shift;
    int8_t low;
    int8_t high;
    int16_t start;
    int16_t multiplier;
    int16_t offset;
    int16_t unit;
} tigris_pie_pool;

/* `pixels` outputs of a row, at least one. Channels, steps and pointers are multiples of 8. */
typedef void tigris_pie_pool_kernel(const int8_t *input, int8_t *output, const tigris_pie_window *window,
                                    uint32_t channels, const tigris_pie_pool *pool, uint32_t pixels);

tigris_pie_pool_kernel tigris_pie_max_pool;
tigris_pie_pool_kernel tigris_pie_average_pool;

/* `pixels` outputs of a row; `input` points to the first tap of the first. */
typedef void tigris_pie_depthwise_kernel(const int8_t *input, int8_t *output, const tigris_pie_layer *layer,
                                         uint32_t pixels, const tigris_pie_window *window);

tigris_pie_depthwise_kernel tigris_pie_depthwise_above;
tigris_pie_depthwise_kernel tigris_pie_depthwise;
tigris_pie_depthwise_kernel tigris_pie_depthwise_clamped;
tigris_pie_depthwise_kernel tigris_pie_depthwise_whole;
tigris_pie_depthwise_kernel tigris_pie_depthwise_whole_clamped;

/* Functions for windows of 3x3 taps alone, in fewer instructions than those above. */
tigris_pie_depthwise_kernel tigris_pie_depthwise_3x3_above;
tigris_pie_depthwise_kernel tigris_pie_depthwise_3x3;
tigris_pie_depthwise_kernel tigris_pie_depthwise_3x3_clamped;
tigris_pie_depthwise_kernel tigris_pie_depthwise_3x3_whole;
tigris_pie_depthwise_kernel tigris_pie_depthwise_3x3_whole_clamped;

/* For windows of 3x3 taps: `pixels` pairs of outputs of eight channels, whose stream has each channel twice. Pointers are
 * multiples of 8. */
tigris_pie_depthwise_kernel tigris_pie_depthwise_3x3_pairs_above;
tigris_pie_depthwise_kernel tigris_pie_depthwise_3x3_pairs;
tigris_pie_depthwise_kernel tigris_pie_depthwise_3x3_pairs_clamped;
tigris_pie_depthwise_kernel tigris_pie_depthwise_3x3_pairs_whole;
tigris_pie_depthwise_kernel tigris_pie_depthwise_3x3_pairs_whole_clamped;

/* sums[r] = the `count` products of `input` and row r of the weights. Inputs lie at a multiple of 16, and go on with zeros
 * up to whole vectors. Weights lie anywhere, with `step` bytes from row to row. Rows and `count` are at least one; `count` is
 * at most TIGRIS_SAFE_PRODUCTS. */
void tigris_pie_sum_rows(int32_t *sums, const int16_t *input, const int8_t *weights, uint32_t step, uint32_t rows,
                         uint32_t count);

/* sums[c] = the products of taps and weights of channel c, for eight channels of int16. The next tap's weights are `step`
 * bytes behind, and `gap` more in the next row. Inputs and their steps are multiples of 16, weights and theirs of 8.
 * Taps are at most TIGRIS_SAFE_PRODUCTS. */
void tigris_pie_sum_eight(int32_t *sums, const int16_t *input, const int8_t *weights,
                          const tigris_pie_window *window, uint32_t step, uint32_t gap);

#endif
