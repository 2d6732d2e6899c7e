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
} tigris_pie_layer;

/* `pixels` of the layer's input, one behind another, to as many of 8 * blocks outputs. */
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

/* `bytes` of each of `rows`, at least one, with so many bytes from one to the next. */
void tigris_pie_copy(int8_t *to, const int8_t *from, uint32_t bytes, uint32_t rows, uint32_t to_step,
                     uint32_t from_step);

/* `pixels` outputs of a row: rows[i] points to the first pixel that the kernel's row i reads. `pixel`: bytes of a pixel,
 * `next`: bytes from the first pixel read for an output to that for the next, less `pixel`. */
typedef void tigris_pie_depthwise_kernel(const int8_t *const rows[3], int8_t *output, const tigris_pie_layer *layer,
                                         uint32_t pixels, int32_t pixel, int32_t next);

tigris_pie_depthwise_kernel tigris_pie_depthwise_3x3_above;
tigris_pie_depthwise_kernel tigris_pie_depthwise_3x3;
tigris_pie_depthwise_kernel tigris_pie_depthwise_3x3_clamped;
tigris_pie_depthwise_kernel tigris_pie_depthwise_3x3_whole;
tigris_pie_depthwise_kernel tigris_pie_depthwise_3x3_whole_clamped;

/* `pixels` pairs of outputs of eight channels, whose stream has each channel twice. `next`: bytes from the first pixel
 * read for an output to that for the next. Pointers are multiples of 8. */
tigris_pie_depthwise_kernel tigris_pie_depthwise_3x3_pairs_above;
tigris_pie_depthwise_kernel tigris_pie_depthwise_3x3_pairs;
tigris_pie_depthwise_kernel tigris_pie_depthwise_3x3_pairs_clamped;
tigris_pie_depthwise_kernel tigris_pie_depthwise_3x3_pairs_whole;
tigris_pie_depthwise_kernel tigris_pie_depthwise_3x3_pairs_whole_clamped;

#endif
