/* MAT_MUL: where the elements of batches of matrices lie.
 *
 * The parameter records begin with the same geometry; it is copied out of them here. The output is a sequence of
 * vectors, one a row of a product; a band of it begins and ends at rows of its tensor, which may be amid a vector. */
#ifndef TIGRIS_MAT_MUL_H
#define TIGRIS_MAT_MUL_H

#include "vectors.h"

#define TIGRIS_BATCH_AXES 3U

/* The fields with which both records begin, in their order. */
typedef struct tigris_products {
    uint32_t batch[TIGRIS_BATCH_AXES];
    uint32_t rows;
    uint32_t depth;
    uint32_t columns;
    uint32_t batch_step_a[TIGRIS_BATCH_AXES];
    uint32_t row_step_a;
    uint32_t depth_step_a;
    uint32_t batch_step_b[TIGRIS_BATCH_AXES];
    uint32_t depth_step_b;
    uint32_t column_step_b;
    uint32_t interleaved;
} tigris_products;

static inline uint32_t tigris_matrix_of(uint32_t index, const uint32_t *batch, const uint32_t *step)
{
    uint32_t offset = 0U;
    for (uint32_t axis = TIGRIS_BATCH_AXES; axis-- > 0U;) {
        offset += index % batch[axis] * step[axis];
        index /= batch[axis];
    }
    return offset;
}

static inline uint32_t tigris_product_count(const tigris_products *p)
{
    return p->batch[0] * p->batch[1] * p->batch[2];
}

/* The row of its product that output vector `vector` is. */
static inline uint32_t tigris_product_row(const tigris_products *p, uint32_t vector)
{
    return p->interleaved != 0U ? vector / tigris_product_count(p) : vector % p->rows;
}

static inline uint32_t tigris_product_index(const tigris_products *p, uint32_t vector)
{
    return p->interleaved != 0U ? vector % tigris_product_count(p) : vector / p->rows;
}

/* Elements from the start of A to the first term of output vector `vector`. */
static inline uint32_t tigris_product_a(const tigris_products *p, uint32_t vector)
{
    return tigris_matrix_of(tigris_product_index(p, vector), p->batch, p->batch_step_a) +
           tigris_product_row(p, vector) * p->row_step_a;
}

/* Elements from the start of B to the matrix of output vector `vector`. */
static inline uint32_t tigris_product_b(const tigris_products *p, uint32_t vector)
{
    return tigris_matrix_of(tigris_product_index(p, vector), p->batch, p->batch_step_b);
}

/* Output elements `from` to `at` are made since the last pause. Pauses if their products are many, and sets `from`; whether
 * the run is to stop. */
static inline int tigris_products_pause(const tigris_kernel_call *call, uint32_t pace, uint32_t at, uint32_t *from)
{
    if (at - *from < pace) {
        return 0;
    }
    *from = at;
    return tigris_pauses(call);
}

/* Every term lies inside its input for every band; the products are the whole output. */
int tigris_check_products(const tigris_check_call *call, const tigris_products *products);

#endif
