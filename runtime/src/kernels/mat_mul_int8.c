/* MAT_MUL: products of the matrices of two activations, int8 with TensorFlow Lite's arithmetic. */
#include <string.h>

#include "inlining.h"
#include "mat_mul.h"
#include "scale_int8.h"
#include "tigris_kernels.h"

/* 32768 products of at most 255 * 255 stay inside 32 bits. */
#define MOST_TERMS 32768U

static tigris_products products_of(const tigris_mat_mul_int8_params *params)
{
    tigris_products products;
    memcpy(&products, params, sizeof products);
    return products;
}

/* Sums of four adjacent columns. */
typedef struct four_sums {
    uint32_t a;
    uint32_t b;
    uint32_t c;
    uint32_t d;
} four_sums;

/* One row of A times four columns of B, whose stride is `column_step`. Only the zero point of A is subtracted; sums may
 * wrap, and are right once the caller has subtracted that of B. */
static four_sums multiply_four(const int8_t *row, uint32_t row_step, int32_t zero_point, const int8_t *column,
                               uint32_t step, uint32_t column_step, uint32_t count)
{
    four_sums sum = {0U, 0U, 0U, 0U};
    const int8_t *b = column + column_step;
    const int8_t *c = b + column_step;
    const int8_t *d = c + column_step;
    for (; count != 0U; count--) {
        const int32_t value = *row - zero_point;
        sum.a += (uint32_t)(value * *column);
        sum.b += (uint32_t)(value * *b);
        sum.c += (uint32_t)(value * *c);
        sum.d += (uint32_t)(value * *d);
        row += row_step;
        column += step;
        b += step;
        c += step;
        d += step;
    }
    return sum;
}

/* One row of A times one column of B, with the same arithmetic. */
static uint32_t multiply_one(const int8_t *row, uint32_t row_step, int32_t zero_point, const int8_t *column,
                             uint32_t step, uint32_t count)
{
    uint32_t sum = 0U;
    for (; count != 0U; count--) {
        sum += (uint32_t)((*row - zero_point) * *column);
        row += row_step;
        column += step;
    }
    return sum;
}

static uint32_t sum_of(const int8_t *row, uint32_t row_step, int32_t zero_point, uint32_t count)
{
    uint32_t sum = 0U;
    for (; count != 0U; count--) {
        sum += (uint32_t)(*row - zero_point);
        row += row_step;
    }
    return sum;
}

TIGRIS_INLINE four_sums add_four(four_sums sum, int32_t value, const int8_t *terms)
{
    sum.a += (uint32_t)(value * terms[0]);
    sum.b += (uint32_t)(value * terms[1]);
    sum.c += (uint32_t)(value * terms[2]);
    sum.d += (uint32_t)(value * terms[3]);
    return sum;
}

/* multiply_four for matrices that are both stored by rows. */
static four_sums multiply_rows(const int8_t *row, int32_t zero_point, const int8_t *column, uint32_t step, uint32_t count)
{
    four_sums sum = {0U, 0U, 0U, 0U};
    if ((count & 1U) != 0U) {
        sum = add_four(sum, *row++ - zero_point, column);
        column += step;
    }
    for (const int8_t *const end = row + (count & ~1U); row != end; row += 2) {
        sum = add_four(sum, row[0] - zero_point, column);
        column += step;
        sum = add_four(sum, row[1] - zero_point, column);
        column += step;
    }
    return sum;
}

static four_sums four_columns(const tigris_mat_mul_int8_params *p, const int8_t *row, const int8_t *column)
{
    if (p->column_step_b == 1U && p->depth_step_a == 1U) {
        return multiply_rows(row, p->zero_point[0], column, p->depth_step_b, p->depth);
    }
    return multiply_four(row, p->depth_step_a, p->zero_point[0], column, p->depth_step_b, p->column_step_b, p->depth);
}

/* Requantises a sum from which the correction has been subtracted. */
TIGRIS_INLINE int8_t finish(const tigris_mat_mul_int8_params *p, tigris_scale scale, uint32_t sum)
{
    const tigris_output_stage stage = {p->output_zero_point, p->activation_min, p->activation_max};
    if (TIGRIS_LIKELY(tigris_is_right_shift(p->output_shift))) {
        return (int8_t)tigris_requantise_right_shift(sum, scale, stage);
    }
    return (int8_t)tigris_requantise_any_shift((int32_t)sum, p->output_multiplier, p->output_shift, stage.zero_point,
                                               stage.low, stage.high);
}

/* Columns [first, end) of one row of the output. Constants are copied: the compiler must assume that writing outputs
 * changes the originals. */
static void multiply_row(const tigris_mat_mul_int8_params *params, const int8_t *row, const int8_t *matrix,
                         uint32_t first, uint32_t end, int8_t *to)
{
    const tigris_mat_mul_int8_params p = *params;
    const tigris_output_stage stage = {p.output_zero_point, p.activation_min, p.activation_max};
    const tigris_scale scale = tigris_scale_of(p.output_multiplier, p.output_shift, stage);
    const uint32_t correction = (uint32_t)p.zero_point[1] * sum_of(row, p.depth_step_a, p.zero_point[0], p.depth);
    const int8_t *column = matrix + first * p.column_step_b;
    for (; first + 4U <= end; first += 4U) {
        const four_sums sum = four_columns(&p, row, column);
        to[0] = finish(&p, scale, sum.a - correction);
        to[1] = finish(&p, scale, sum.b - correction);
        to[2] = finish(&p, scale, sum.c - correction);
        to[3] = finish(&p, scale, sum.d - correction);
        to += 4;
        column += 4U * p.column_step_b;
    }
    for (; first < end; first++) {
        const uint32_t sum = multiply_one(row, p.depth_step_a, p.zero_point[0], column, p.depth_step_b, p.depth);
        *to++ = finish(&p, scale, sum - correction);
        column += p.column_step_b;
    }
}

/* Four columns of two rows, with both matrices stored by rows: the sums of one row, then of the other. */
static void multiply_pairs(const int8_t *first, const int8_t *second, int32_t zero_point, const int8_t *column,
                           uint32_t step, uint32_t count, uint32_t *sums)
{
    four_sums a = {0U, 0U, 0U, 0U};
    four_sums b = {0U, 0U, 0U, 0U};
    for (const int8_t *const end = first + count; first != end; column += step) {
        const int32_t x = *first++ - zero_point;
        const int32_t y = *second++ - zero_point;
        a = add_four(a, x, column);
        b = add_four(b, y, column);
    }
    sums[0] = a.a;
    sums[1] = a.b;
    sums[2] = a.c;
    sums[3] = a.d;
    sums[4] = b.a;
    sums[5] = b.b;
    sums[6] = b.c;
    sums[7] = b.d;
}

/* Two whole rows of a product, written to `to` and `after`. */
static void multiply_two_rows(const tigris_mat_mul_int8_params *params, const int8_t *row, const int8_t *matrix,
                              int8_t *to, int8_t *after)
{
    const tigris_mat_mul_int8_params p = *params;
    const tigris_output_stage stage = {p.output_zero_point, p.activation_min, p.activation_max};
    const tigris_scale scale = tigris_scale_of(p.output_multiplier, p.output_shift, stage);
    const int8_t *const other = row + p.row_step_a;
    const uint32_t corrections[] = {(uint32_t)p.zero_point[1] * sum_of(row, 1U, p.zero_point[0], p.depth),
                                    (uint32_t)p.zero_point[1] * sum_of(other, 1U, p.zero_point[0], p.depth)};
    const uint32_t blocked = p.columns & ~3U;
    for (uint32_t column = 0; column != blocked; column += 4U) {
        uint32_t sums[8];
        multiply_pairs(row, other, p.zero_point[0], matrix + column, p.depth_step_b, p.depth, sums);
        for (uint32_t i = 0; i < 4U; i++) {
            to[column + i] = finish(&p, scale, sums[i] - corrections[0]);
            after[column + i] = finish(&p, scale, sums[4U + i] - corrections[1]);
        }
    }
    if (blocked != p.columns) {
        multiply_row(params, row, matrix, blocked, p.columns, to + blocked);
        multiply_row(params, other, matrix, blocked, p.columns, after + blocked);
    }
}

/* The number of rows of other products between two rows of one product in the output. */
static uint32_t products_between(const tigris_products *p)
{
    return p->interleaved != 0U ? tigris_product_count(p) : 1U;
}

/* Whether both matrices are stored by rows, and two rows of each product, interleaved, start at output element `at`
 * and end before `end`. */
static int begins_two_rows(const tigris_products *p, uint32_t at, uint32_t end)
{
    const uint32_t vector = at / p->columns;
    const uint32_t between = products_between(p);
    return p->column_step_b == 1U && p->depth_step_a == 1U && at % p->columns == 0U && vector % between == 0U &&
           end - at >= 2U * between * p->columns && tigris_product_row(p, vector) + 1U < p->rows;
}

static void run(const tigris_kernel_call *call)
{
    const tigris_mat_mul_int8_params *params = tigris_params(call);
    const tigris_products products = products_of(tigris_params(call));
    const tigris_span span = tigris_band_span(tigris_output_band(call));
    const int8_t *a = (const int8_t *)(const void *)tigris_input_data(call, 0);
    const int8_t *b = (const int8_t *)(const void *)tigris_input_data(call, 1);
    const uint32_t held = tigris_band_span(tigris_input_band(call, 0)).first;
    int8_t *output = tigris_int8_output(call);
    const uint32_t between = products_between(&products);
    uint32_t pairs = 0U; /* pairs of rows still to be computed */
    const uint32_t pace = TIGRIS_YIELD_STEPS / products.depth;
    uint32_t paused = span.first;
    for (uint32_t at = span.first; at < span.end;) {
        if (tigris_products_pause(call, pace, at, &paused)) {
            return;
        }
        const uint32_t vector = at / products.columns;
        const uint32_t column = at % products.columns; /* a band may begin and end amid a row */
        const int8_t *row = a + (tigris_product_a(&products, vector) - held);
        const int8_t *matrix = b + tigris_product_b(&products, vector);
        if (pairs == 0U && begins_two_rows(&products, at, span.end)) {
            pairs = between;
        }
        uint32_t count = products.columns - column;
        if (pairs != 0U) {
            multiply_two_rows(params, row, matrix, output, output + between * products.columns);
            pairs--;
            count += pairs == 0U ? between * products.columns : 0U; /* skips the second rows, which are done */
        } else {
            count = count < span.end - at ? count : span.end - at;
            multiply_row(params, row, matrix, column, column + count, output);
        }
        output += count;
        at += count;
    }
}

static tigris_status check(const tigris_check_call *call)
{
    const tigris_mat_mul_int8_params *params = call->params;
    const tigris_products products = products_of(params);
    return tigris_check_result(
        tigris_check_types(call, 2U, TIGRIS_DTYPE_INT8, TIGRIS_DTYPE_INT8) &&
        tigris_check_products(call, &products) && params->depth <= MOST_TERMS &&
        tigris_check_int8(params->zero_point[0]) && tigris_check_int8(params->zero_point[1]) &&
        tigris_check_int8(params->output_zero_point) &&
        tigris_check_multiplier(params->output_multiplier, params->output_shift) &&
        tigris_check_range(params->activation_min, params->activation_max));
}

TIGRIS_KERNEL_ENTRY(tigris_mat_mul_int8, MAT_MUL, INT8, tigris_mat_mul_int8_params, run, check);
