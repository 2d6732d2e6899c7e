/* Tensors seen as [outer][length][inner]: vectors of `length` elements with a stride of `inner`. */
#ifndef TIGRIS_VECTORS_H
#define TIGRIS_VECTORS_H

#include "access.h"
#include "check.h"

/* The elements [first, end) of the flattened tensor that a band holds. */
typedef struct tigris_span {
    uint32_t first;
    uint32_t end;
} tigris_span;

static inline tigris_span tigris_band_span(const tigris_band *band)
{
    const uint32_t row = tigris_row_elements(tigris_tensor_of(band));
    tigris_span span;
    span.first = (uint32_t)tigris_first_row(band) * row;
    span.end = span.first + (uint32_t)tigris_row_count(band) * row;
    return span;
}

/* `length` and `inner` divide the tensor into whole vectors. */
static inline int tigris_are_vectors(uint32_t elements, uint32_t length, uint32_t inner)
{
    return length != 0U && inner != 0U && (uint64_t)length * inner <= elements && elements % (length * inner) == 0U;
}

/* The output has one element for each vector of input 0; in bands, a row holds whole vectors. */
static inline int tigris_check_reduced(const tigris_check_call *call, uint32_t length, uint32_t inner)
{
    const uint32_t elements = tigris_call_elements(call, call->inputs[0]);
    if (!tigris_are_vectors(elements, length, inner) ||
        tigris_call_elements(call, call->output) != elements / length) {
        return 0;
    }
    const uint32_t row = tigris_row_elements(call->inputs[0]);
    return tigris_check_all_rows(call, 0U) ||
           (tigris_check_same_rows(call, 0U) && tigris_are_vectors(row, length, inner));
}

/* The output has as many elements as input 0; in bands, a row holds whole vectors. */
static inline int tigris_check_mapped(const tigris_check_call *call, uint32_t length, uint32_t inner)
{
    const uint32_t elements = tigris_call_elements(call, call->inputs[0]);
    if (!tigris_are_vectors(elements, length, inner) || tigris_call_elements(call, call->output) != elements) {
        return 0;
    }
    const uint32_t row = tigris_row_elements(call->inputs[0]);
    return tigris_check_all_rows(call, 0U) ||
           (tigris_check_same_rows(call, 0U) && tigris_row_elements(call->output) == row &&
            tigris_are_vectors(row, length, inner));
}

#endif
