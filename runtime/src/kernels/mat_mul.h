/* MAT_MUL: the positions of elements in batches of matrices.
 *
 * Parameter records of all types start with the same geometry, which is copied out of them here. The output is a
 * sequence of vectors, one for each row of a product. A band starts and ends at rows of its tensor, perhaps in the
 * middle of a vector. */
#ifndef TIGRIS_MAT_MUL_H
#define TIGRIS_MAT_MUL_H

#include "vectors.h"

#define TIGRIS_BATCH_AXES 3U

/* The first fields of the parameter records, in their order. */
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

/* The row of output vector `vector` in its product. */
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

/* Calls the yield hook if the output elements from `from` to `at`, computed since the last pause, took many
 * products, and then sets `from`. Returns whether the run must stop. */
static inline int tigris_products_pause(const tigris_kernel_call *call, uint32_t pace, uint32_t at, uint32_t *from)
{
    if (at - *from < pace) {
        return 0;
    }
    *from = at;
    return tigris_yield_from_kernel(call);
}

/* Every term lies inside its input in every band, and the products fill the output. */
int tigris_check_products(const tigris_check_call *call, const tigris_products *products);

#endif
