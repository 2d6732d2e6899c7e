/* MAT_MUL: products of the matrices of two activations, int8 with TensorFlow Lite's arithmetic. */
#include "block_int8.h"
#include "mat_mul.h"
#include "scale_int8.h"
#include "tigris_kernels.h"

#if defined(TIGRIS_DSP)
#include "dsp/mat_mul_int8.h"
#else
#include "portable/mat_mul_int8.h"
#endif

/* 32768 products of at most 255 * 255 stay inside 32 bits. */
#define MOST_TERMS 32768U

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

/* Sum of a row of A from which its zero point has been subtracted. */
static uint32_t sum_of(const int8_t *row, uint32_t row_step, int32_t zero_point, uint32_t count)
{
    int32_t sum = -(int32_t)count * zero_point;
    for (; count >= 4U; count -= 4U) {
        sum += row[0] + row[row_step] + row[2U * row_step] + row[3U * row_step];
        row += 4U * row_step;
    }
    for (; count != 0U; count--) {
        sum += *row;
        row += row_step;
    }
    return (uint32_t)sum;
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

/* The requantisation of all outputs. */
typedef struct requantisation {
    tigris_scale scale;
    tigris_output_stage stage;
    int32_t multiplier;
    int32_t shift;
    int is_fast;
} requantisation;

static inline requantisation requantisation_of(const tigris_mat_mul_int8_params *p)
{
    const tigris_output_stage stage = {p->output_zero_point, p->activation_min, p->activation_max};
    const int32_t multiplier = p->output_multiplier, shift = p->output_shift;
    const requantisation made = {tigris_scale_of(multiplier, shift, stage), stage, multiplier, shift,
                                 tigris_is_fast_scale(multiplier, shift, tigris_fast_above(stage))};
    return made;
}

/* Requantises a sum from which the correction has been subtracted. */
TIGRIS_INLINE int8_t finish(requantisation r, uint32_t sum)
{
    return (int8_t)(TIGRIS_LIKELY(r.is_fast) ? tigris_requantise_fast(sum, r.scale, r.stage)
                                             : tigris_requantise_slow(sum, r.multiplier, r.shift, r.stage));
}

/* Columns [first, end) of one row of the output. Constants are copied: the compiler must assume that writing outputs
 * changes the originals. */
static TIGRIS_NOINLINE void multiply_row(const tigris_mat_mul_int8_params *params, const int8_t *row,
                                         const int8_t *matrix, uint32_t first, uint32_t end, int8_t *to)
{
    const tigris_mat_mul_int8_params p = *params;
    const requantisation requantised = requantisation_of(&p);
    const uint32_t correction = (uint32_t)p.zero_point[1] * sum_of(row, p.depth_step_a, p.zero_point[0], p.depth);
    const int8_t *column = matrix + first * p.column_step_b;
    for (; first + 4U <= end; first += 4U) {
        const four_sums sum = four_columns(&p, row, column);
        to[0] = finish(requantised, sum.a - correction);
        to[1] = finish(requantised, sum.b - correction);
        to[2] = finish(requantised, sum.c - correction);
        to[3] = finish(requantised, sum.d - correction);
        to += 4;
        column += 4U * p.column_step_b;
    }
    for (; first < end; first++) {
        const uint32_t sum = multiply_one(row, p.depth_step_a, p.zero_point[0], column, p.depth_step_b, p.depth);
        *to++ = finish(requantised, sum - correction);
        column += p.column_step_b;
    }
}

/* ---- rows of A times two packed columns of B ---- */

#define LEAST_ROWS 4   /* for which packing pays */
#define BLOCK_TERMS 32 /* of each packed column; a multiple of TIGRIS_TILE_TAPS */

/* Rows of A for which two columns are packed, a multiple of TIGRIS_ROW_TILE. More rows save packing, at 12 bytes of
 * stack each: at -Os an inference takes less than 1 KB. */
#if defined(__OPTIMIZE_SIZE__)
#define BLOCK_ROWS 16
#else
#define BLOCK_ROWS 32
#endif

/* Rows of a product. */
typedef struct product_rows {
    const int8_t *row;    /* the first, of A */
    const int8_t *matrix; /* B */
    uint32_t count;       /* at most BLOCK_ROWS */
    uint32_t step;        /* from a row of the output to the next */
} product_rows;

/* Adds the products of a block's `terms` terms to the sums of all rows. `is_first`: there are no sums yet. */
static TIGRIS_NOINLINE void add_rows(const uint32_t *block, const int8_t *row, uint32_t step, uint32_t rows,
                                     int32_t terms, int is_first, uint32_t *sums)
{
    for (uint32_t first = 0; first < rows; first += TIGRIS_ROW_TILE) {
        tigris_add_row_tile(block, row, step, rows - first, terms, is_first, sums);
        row += TIGRIS_ROW_TILE * step;
        sums += 2 * TIGRIS_ROW_TILE;
    }
}

/* Writes two columns of the output, or one. Sums of a row are adjacent; `initial`: what a row adds to both. */
static TIGRIS_NOINLINE void write_columns(const tigris_mat_mul_int8_params *p, const product_rows *rows,
                                          const uint32_t *sums, const uint32_t *initial, const uint32_t column_sums[2],
                                          int has_two, int8_t *to)
{
    const requantisation requantised = requantisation_of(p);
    const uint32_t zero = (uint32_t)p->zero_point[0], a = zero * column_sums[0], b = zero * column_sums[1];
    const uint32_t step = rows->step;
    for (const uint32_t *const end = initial + rows->count; initial != end;) {
        const uint32_t correction = *initial++;
        to[0] = finish(requantised, sums[0] + correction - a);
        if (has_two) {
            to[1] = finish(requantised, sums[1] + correction - b);
        }
        sums += 2;
        to += step;
    }
}

/* All columns of rows of a product. */
static TIGRIS_NOINLINE void multiply_many_rows(const tigris_mat_mul_int8_params *p, const product_rows *rows,
                                               int8_t *to)
{
    uint32_t block[BLOCK_TERMS];
    uint32_t initial[BLOCK_ROWS];
    uint32_t sums[2 * BLOCK_ROWS];
    const uint32_t zero = 0U - (uint32_t)p->zero_point[1], step = p->depth_step_b;
    for (uint32_t i = 0; i < rows->count; i++) {
        initial[i] = zero * sum_of(rows->row + i * p->row_step_a, 1U, p->zero_point[0], p->depth);
    }
    for (uint32_t column = 0; column < p->columns; column += 2U) {
        const int8_t *from = rows->matrix + column * p->column_step_b;
        const int has_two = p->columns - column > 1U;
        uint32_t column_sums[2] = {0U, 0U};
        for (uint32_t at = 0, terms; at < p->depth; at += terms) {
            terms = p->depth - at < BLOCK_TERMS ? p->depth - at : BLOCK_TERMS;
            tigris_pack_columns(block, from, from + (has_two ? p->column_step_b : 0U), step, (int32_t)terms,
                                column_sums);
            add_rows(block, rows->row + at, p->row_step_a, rows->count, (int32_t)terms, at == 0U, sums);
            from += terms * step;
        }
        write_columns(p, rows, sums, initial, column_sums, has_two, to + column);
    }
}

/* The number of rows, at most BLOCK_ROWS, that start at output element `at`, end before `end` and have at most `most`
 * elements. They are of one product, or of each if products are interleaved. 0 if packing does not pay. */
static uint32_t rows_at(const tigris_products *p, uint32_t between, uint32_t at, uint32_t end, uint32_t most)
{
    const uint32_t size = between * p->columns;
    const uint32_t left = p->rows - tigris_product_row(p, at / p->columns);
    uint32_t rows = (end - at < most ? end - at : most) / size;
    rows = rows < left ? rows : left;
    rows = rows < BLOCK_ROWS ? rows : BLOCK_ROWS;
    return p->depth_step_a == 1U && at % size == 0U && rows >= LEAST_ROWS ? rows : 0U;
}

static void run(const tigris_kernel_call *call)
{
    const tigris_mat_mul_int8_params *params = tigris_params(call);
    const tigris_products *products = tigris_params(call); /* how parameters start */
    const tigris_span span = tigris_band_span(tigris_output_band(call));
    const int8_t *a = (const int8_t *)(const void *)tigris_input_data(call, 0);
    const int8_t *b = (const int8_t *)(const void *)tigris_input_data(call, 1);
    const uint32_t held = tigris_band_span(tigris_input_band(call, 0)).first;
    int8_t *output = tigris_int8_output(call);
    const uint32_t between = products->interleaved != 0U ? tigris_product_count(products) : 1U;
    const uint32_t pace = TIGRIS_YIELD_STEPS / 2U / products->depth;
    uint32_t paused = span.first;
    for (uint32_t at = span.first, count; at < span.end; at += count) {
        if (tigris_products_pause(call, pace, at, &paused)) {
            return;
        }
        const uint32_t vector = at / products->columns;
        const uint32_t column = at % products->columns; /* a band may begin and end amid a row */
        const uint32_t rows = rows_at(products, between, at, span.end, pace);
        if (rows == 0U) {
            const uint32_t left = span.end - at;
            count = products->columns - column < left ? products->columns - column : left;
            multiply_row(params, a + (tigris_product_a(products, vector) - held),
                         b + tigris_product_b(products, vector), column, column + count, output);
            output += count;
            continue;
        }
        for (uint32_t i = 0; i < between; i++) {
            const product_rows part = {a + (tigris_product_a(products, vector + i) - held),
                                       b + tigris_product_b(products, vector + i), rows, between * products->columns};
            multiply_many_rows(params, &part, output + i * products->columns);
        }
        count = rows * between * products->columns;
        output += count;
    }
}

static tigris_status check(const tigris_check_call *call)
{
    const tigris_mat_mul_int8_params *params = call->params;
    const tigris_products *products = call->params;
    return tigris_check_result(
        tigris_check_types(call, 2U, TIGRIS_DTYPE_INT8, TIGRIS_DTYPE_INT8) &&
        tigris_check_products(call, products) && params->depth <= MOST_TERMS &&
        tigris_check_int8(params->zero_point[0]) && tigris_check_int8(params->zero_point[1]) &&
        tigris_check_int8(params->output_zero_point) &&
        tigris_check_multiplier(params->output_multiplier, params->output_shift) &&
        tigris_check_range(params->activation_min, params->activation_max));
}

TIGRIS_KERNEL_ENTRY(tigris_mat_mul_int8, MAT_MUL, INT8, tigris_mat_mul_int8_params, run, check);
