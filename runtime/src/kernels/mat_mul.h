/* MAT_MUL: where the elements of batches of matrices lie.
 *
 * The two parameter records begin with the same geometry; it is copied out of them here. */
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

/* Elements from the start of A and B to the first term of output element `at`. */
static inline uint32_t tigris_product_a(const tigris_products *p, uint32_t at)
{
    const uint32_t row = at / p->columns;
    return tigris_matrix_of(row / p->rows, p->batch, p->batch_step_a) + row % p->rows * p->row_step_a;
}

static inline uint32_t tigris_product_b(const tigris_products *p, uint32_t at)
{
    const uint32_t matrix = at / p->columns / p->rows;
    return tigris_matrix_of(matrix, p->batch, p->batch_step_b) + at % p->columns * p->column_step_b;
}

/* Every term lies inside its input for every band; the products are the whole output. */
int tigris_check_products(const tigris_check_call *call, const tigris_products *products);

#endif
