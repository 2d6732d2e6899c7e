/* The vectors of a band that a fully connected layer multiplies. */
#ifndef TIGRIS_LAYER_VECTORS_H
#define TIGRIS_LAYER_VECTORS_H

#include "access.h"

typedef struct tigris_layer_vectors {
    uint32_t first;      /* elements from the input band's start to the first vector that the output band needs */
    const int8_t *input; /* that vector, if elements are bytes */
    uint32_t count;
} tigris_layer_vectors;

/* `in` and `out`: elements of one vector of input and output. The input band holds the output rows' vectors or all. */
static inline tigris_layer_vectors tigris_layer_vectors_of(const tigris_kernel_call *call, uint32_t in, uint32_t out)
{
    const tigris_band *input = tigris_input_band(call, 0);
    const tigris_band *output = tigris_output_band(call);
    const uint32_t row_vectors = tigris_row_elements(tigris_tensor_of(output)) / out;
    const uint32_t first = (uint32_t)tigris_first_row(output) * row_vectors;
    tigris_layer_vectors vectors;
    vectors.first = first * in - (uint32_t)tigris_first_row(input) * tigris_row_elements(tigris_tensor_of(input));
    vectors.input = (const int8_t *)(const void *)input->data + vectors.first;
    vectors.count = (uint32_t)tigris_row_count(output) * row_vectors;
    return vectors;
}

#endif
