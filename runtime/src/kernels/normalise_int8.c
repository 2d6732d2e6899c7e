/* NORMALISE, int8: elements less the mean of their vector, divided by its deviation, times a factor, plus an offset.
 *
 * Let a vector have n elements q, S be their sum and Q the sum of their squares. (q - S / n) / deviation is then
 * (n q - S) / sqrt(n Q - S^2), whose terms are integers. The root's reciprocal is computed once a vector, in 31
 * bits. */
#include "requantise.h"

#include "tigris_kernels.h"
#include "vectors.h"

#define MOST_ELEMENTS (UINT32_C(1) << 17) /* most elements of a vector, so that sums of squares fit 32 bits */

/* The elements of one vector: lines of elements. */
typedef struct lines {
    uint32_t count;
    uint32_t step; /* from one to the next */
    uint32_t length;
    uint32_t element_step;
    uint32_t term_step; /* of factors and offsets, from line to line */
    uint32_t element_term_step;
} lines;

/* z = (q * scale - shift) * root / 2^32 is the standardised element in the fixed point of the parameters. */
typedef struct standard {
    uint32_t scale;
    uint32_t shift;
    int32_t root;
} standard;

static inline int32_t high_product(int32_t a, int32_t b)
{
    return (int32_t)(((int64_t)a * b) >> 32);
}

static inline uint32_t high_unsigned(uint32_t a, uint32_t b)
{
    return (uint32_t)(((uint64_t)a * b) >> 32);
}

/* 1 / sqrt(a) for a in [1/4, 1), Q0.32; result Q1.30: four steps of Newton's method from a line. */
static int32_t reciprocal_root(uint32_t a)
{
    const uint32_t at_zero = 2305300000U; /* 2.147 in Q2.30 */
    const uint32_t slope = 1317500000U;   /* 1.227 in Q2.30 */
    uint32_t x = at_zero - high_unsigned(a, slope);
    for (int32_t i = 0; i < 4; i++) {
        const uint32_t product = high_unsigned(a, high_unsigned(x, x)); /* a * x^2 in Q4.28 */
        x = (uint32_t)(((uint64_t)x * ((UINT32_C(3) << 28) - product)) >> 29);
    }
    return x > INT32_MAX ? INT32_MAX : (int32_t)x;
}

/* Shifts `value` left by the largest even number of bits. Returns that number. */
static int32_t normalise(uint64_t *value)
{
    int32_t shift = 0;
    for (uint32_t step = 32U; step >= 2U; step /= 2U) {
        if (*value >> (64U - step) == 0U) {
            *value <<= step;
            shift += (int32_t)step;
        }
    }
    return shift;
}

/* `variance` is n^2 times the vector's, `mean` n times. */
static standard standard_of(const tigris_normalise_int8_params *params, uint32_t n, uint64_t variance, int32_t mean)
{
    const uint64_t epsilon = (uint64_t)params->epsilon_high << 32 | params->epsilon_low;
    uint64_t value = (variance << (params->variance_bits & 31U)) + epsilon;
    standard result = {0U, 0U, 0};
    if (value == 0U) { /* all elements are the mean */
        return result;
    }
    const int32_t shift = normalise(&value);
    /* The product with the root loses 32 bits, the root has 30, the variance had half of its shifts in it. */
    int32_t left = (int32_t)params->fraction_bits - 30 + (shift + (int32_t)(params->variance_bits & 31U)) / 2;
    result.root = reciprocal_root((uint32_t)(value >> 32));
    if (left < 0) {
        result.root = left < -31 ? 0 : result.root >> -left;
        left = 0;
    }
    left = left > 31 ? 31 : left; /* beyond that all elements are the mean */
    result.scale = n << left;
    result.shift = (uint32_t)mean << left;
    return result;
}

static standard measure(const tigris_normalise_int8_params *params, const lines *of, const int8_t *from)
{
    int32_t sum = 0;
    uint32_t squares = 0U;
    for (uint32_t i = 0; i < of->count; i++) {
        const int8_t *at = from;
        for (uint32_t k = of->length; k != 0U; k--) {
            const int32_t value = *at;
            sum += value;
            squares += (uint32_t)(value * value);
            at += of->element_step;
        }
        from += of->step;
    }
    const uint32_t n = of->count * of->length;
    if (params->centred != 0U) {
        return standard_of(params, n, (uint64_t)n * squares - (uint64_t)((int64_t)sum * sum), sum);
    }
    const int64_t zero = params->input_zero_point;
    const int64_t about_zero = (int64_t)squares - 2 * zero * sum + (int64_t)n * zero * zero;
    return standard_of(params, n, (uint64_t)n * (uint64_t)about_zero, (int32_t)n * params->input_zero_point);
}

/* Computes the outputs of one line. */
static void finish(const standard *with, uint32_t bits, const lines *of, const int32_t *terms, const int8_t *from,
                   int8_t *to)
{
    const standard by = *with;
    const uint32_t step = of->element_step;
    const uint32_t term_step = 2U * of->element_term_step;
    for (uint32_t k = of->length; k != 0U; k--) {
        const int32_t z = high_product((int32_t)((uint32_t)(int32_t)*from * by.scale - by.shift), by.root);
        const int32_t sum = tigris_wrapping_add(high_product(z, terms[0]), terms[1]) >> bits;
        *to = (int8_t)tigris_clamp(sum, INT8_MIN, INT8_MAX);
        from += step;
        to += step;
        terms += term_step;
    }
}

static lines lines_of(const tigris_normalise_int8_params *p)
{
    const lines across = {1U, 0U, p->points, p->groups, 0U, p->point_term_step};
    const lines along = {p->points, p->groups * p->channels, p->channels, 1U, p->point_term_step,
                         p->channel_term_step};
    return p->channels == 1U ? across : along;
}

/* Elements of a line from `at` on that lie before `end`. */
static uint32_t elements_before(const lines *of, uint32_t at, uint32_t end)
{
    const uint32_t count = at >= end ? 0U : (end - at + of->element_step - 1U) / of->element_step;
    return count < of->length ? count : of->length;
}

/* Computes the band's outputs of the vector whose first element is `first` of the tensor. */
static void run_vector(const tigris_kernel_call *call, const int32_t *terms, uint32_t first)
{
    const tigris_normalise_int8_params *params = tigris_params(call);
    const tigris_span span = tigris_band_span(tigris_output_band(call));
    const uint32_t held = tigris_band_span(tigris_input_band(call, 0)).first;
    const int8_t *from = (const int8_t *)(const void *)tigris_input_data(call, 0);
    int8_t *to = tigris_int8_output(call);
    lines of = lines_of(params);
    const standard by = measure(params, &of, from + (first - held));
    const uint32_t bits = params->output_bits & 31U;
    const uint32_t length = of.length;
    for (uint32_t i = 0; i < of.count; i++) {
        of.length = length;
        const uint32_t before = span.first > first ? elements_before(&of, first, span.first) : 0U;
        const uint32_t at = first + before * of.element_step;
        of.length = elements_before(&of, first, span.end) - before;
        finish(&by, bits, &of, terms + 2U * before * of.element_term_step, from + (at - held), to + (at - span.first));
        first += of.step;
        terms += 2U * of.term_step;
    }
}

static void run(const tigris_kernel_call *call)
{
    const tigris_normalise_int8_params *params = tigris_params(call);
    const uint32_t block = params->points * params->groups * params->channels;
    const int32_t *terms = tigris_int32_data(call, params->terms);
    const tigris_span span = tigris_band_span(tigris_output_band(call));
    for (uint32_t first = span.first - span.first % block; first < span.end; first += block) {
        for (uint32_t group = 0; group < params->groups; group++) {
            run_vector(call, terms + 2U * group * params->group_term_step, first + group * params->channels);
        }
    }
}

/* The last factor and offset that a block reads lie inside the weight block. */
static int has_terms(const tigris_check_call *call)
{
    const tigris_normalise_int8_params *p = call->params;
    const uint64_t last = (uint64_t)(p->points - 1U) * p->point_term_step +
                          (uint64_t)(p->groups - 1U) * p->group_term_step +
                          (uint64_t)(p->channels - 1U) * p->channel_term_step;
    return p->point_term_step < MOST_ELEMENTS && p->group_term_step < MOST_ELEMENTS &&
           p->channel_term_step < MOST_ELEMENTS && last < UINT32_MAX / 2U &&
           tigris_check_data(call, p->terms, 2U * ((uint32_t)last + 1U), sizeof(int32_t));
}

static tigris_status check(const tigris_check_call *call)
{
    const tigris_normalise_int8_params *p = call->params;
    const uint32_t length = tigris_multiply(p->points, p->channels);
    const uint32_t block = tigris_multiply(length, p->groups);
    return tigris_check_result(tigris_check_types(call, 1U, TIGRIS_DTYPE_INT8, TIGRIS_DTYPE_INT8) && length != 0U &&
                               length <= MOST_ELEMENTS && p->groups != 0U && block != UINT32_MAX &&
                               p->fraction_bits <= 31U &&
                               tigris_check_mapped(call, block, 1U) && tigris_check_int8(p->input_zero_point) &&
                               has_terms(call));
}

TIGRIS_KERNEL_ENTRY(tigris_normalise_int8, NORMALISE, INT8, tigris_normalise_int8_params, run, check);
