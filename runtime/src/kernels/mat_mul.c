/* Checks that the MAT_MUL kernels share. */
#include "mat_mul.h"

/* Adds the extent of an axis to `last`. Returns 0 if it exceeds 32 bits. */
static int reach(uint64_t *last, uint32_t size, uint32_t step)
{
    if (size == 0U) {
        return 0;
    }
    const uint64_t more = (uint64_t)(size - 1U) * step;
    if (more > UINT32_MAX) {
        return 0;
    }
    *last += more;
    return 1;
}

/* Terms of a sum step through A or B: if both steps were 0, memory would not bound the depth, nor the time of a sum. */
static int stays_inside(const tigris_products *params, uint32_t a_elements, uint32_t b_elements)
{
    if (params->depth > 1U && params->depth_step_a == 0U && params->depth_step_b == 0U) {
        return 0;
    }
    uint64_t a = 0U;
    uint64_t b = 0U;
    for (uint32_t axis = 0; axis < TIGRIS_BATCH_AXES; axis++) {
        if (!reach(&a, params->batch[axis], params->batch_step_a[axis]) ||
            !reach(&b, params->batch[axis], params->batch_step_b[axis])) {
            return 0;
        }
    }
    return reach(&a, params->rows, params->row_step_a) && reach(&a, params->depth, params->depth_step_a) &&
           reach(&b, params->depth, params->depth_step_b) && reach(&b, params->columns, params->column_step_b) &&
           a < a_elements && b < b_elements;
}

static int covers_output(const tigris_products *params, uint32_t elements)
{
    const uint32_t sizes[] = {params->batch[0], params->batch[1], params->batch[2], params->rows, params->columns};
    uint64_t count = 1U;
    for (uint32_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        count *= sizes[i];
        if (count == 0U || count > elements) {
            return 0;
        }
    }
    return count == elements;
}

/* Whether the kernel works in bands: a row of A and a row of the output hold the same whole rows of all products. */
static int is_row_by_row(const tigris_check_call *call, const tigris_products *params)
{
    const uint32_t row = tigris_row_elements(call->inputs[0]);
    const uint32_t products = tigris_product_count(params);
    uint64_t last = (uint64_t)(params->depth - 1U) * params->depth_step_a;
    for (uint32_t axis = 0; axis < TIGRIS_BATCH_AXES; axis++) {
        last += (uint64_t)(params->batch[axis] - 1U) * params->batch_step_a[axis];
    }
    if ((products != 1U && params->interleaved == 0U) || last >= params->row_step_a || row % params->row_step_a != 0U) {
        return 0;
    }
    const uint32_t rows = row / params->row_step_a; /* of a product, in one of the tensor */
    return params->rows == tigris_multiply(rows, call->output->height) &&
           tigris_multiply(rows, products * params->columns) == tigris_row_elements(call->output) &&
           tigris_check_same_rows(call, 0U);
}

int tigris_check_products(const tigris_check_call *call, const tigris_products *products)
{
    return products->interleaved <= 1U && stays_inside(products, tigris_call_elements(call, call->inputs[0]),
                        tigris_call_elements(call, call->inputs[1])) &&
           covers_output(products, tigris_call_elements(call, call->output)) && tigris_check_all_rows(call, 1U) &&
           (tigris_check_all_rows(call, 0U) || is_row_by_row(call, products));
}
