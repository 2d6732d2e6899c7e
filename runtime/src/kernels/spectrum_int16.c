/* SPECTRUM: levels of frequency bands from samples, to the bit as TensorFlow Lite Micro's operators SignalWindow,
 * SignalFftAutoScale, SignalRfft, SignalEnergy, SignalFilterBank and SignalFilterBankSquareRoot compute them.
 *
 * The transform is kissfft's in 16 bits (github.com/mborgerding/kissfft). It transforms half as many complex numbers as
 * there are points, decimated in time. Its steps are of radix 4, with one of radix 2 before them if the number is no
 * power of 4. kissfft recurses; here the numbers are put into the order of its leaves first, and each step works in
 * place. */
#include <string.h>

#include "levels.h"
#include "tigris_kernels.h"

#define MOST_POINTS 32768U

/* A complex number, or the energy that it is turned into. */
typedef union bin {
    struct {
        int16_t re, im;
    } z;
    uint32_t energy;
} bin;

TIGRIS_STATIC_ASSERT(sizeof(bin) == sizeof(uint32_t), tigris_spectrum_bin_size);

typedef struct complex32 {
    int32_t re, im;
} complex32;

/* a / 2^15, halves up, kept in 16 bits. Sums are unsigned: those of a damaged table wrap. */
static inline int32_t rounded(uint32_t a)
{
    return (int16_t)((int32_t)(a + (1U << 14)) >> 15);
}

/* (re, im) / divisor, as a product with 32767 / divisor. */
static inline complex32 divided(int32_t re, int32_t im, int32_t divisor)
{
    const int32_t share = INT16_MAX / divisor;
    const complex32 result = {rounded((uint32_t)(re * share)), rounded((uint32_t)(im * share))};
    return result;
}

static inline complex32 sum(complex32 a, complex32 b)
{
    const complex32 result = {(int16_t)(a.re + b.re), (int16_t)(a.im + b.im)};
    return result;
}

static inline complex32 difference(complex32 a, complex32 b)
{
    const complex32 result = {(int16_t)(a.re - b.re), (int16_t)(a.im - b.im)};
    return result;
}

/* z turned clockwise by `angle` of `points` steps. Without a turn kissfft multiplies by 32767 / 2^15 and rounds, which
 * gives z again, because z was divided by 2 at least. */
static inline complex32 turned(complex32 z, const int16_t *sine, uint32_t points, uint32_t angle)
{
    if (angle == 0U) {
        return z;
    }
    const int32_t cosine = sine[(angle + points / 4U) & (points - 1U)], by = sine[angle & (points - 1U)];
    const complex32 result = {rounded((uint32_t)(z.re * cosine) + (uint32_t)(z.im * by)),
                              rounded((uint32_t)(z.im * cosine) - (uint32_t)(z.re * by))};
    return result;
}

static inline void store(bin *to, int32_t re, int32_t im)
{
    to->z.re = (int16_t)re;
    to->z.im = (int16_t)im;
}

/* The position of complex number n of `count` in the order of the leaves: its base-4 digits reversed. */
static uint32_t leaf(uint32_t n, uint32_t count)
{
    uint32_t place = 0;
    for (; count >= 4U; count /= 4U, n /= 4U) {
        place += (n & 3U) * (count / 4U);
    }
    return place + n; /* n is now the base-2 digit, or 0 */
}

static int16_t windowed(const tigris_spectrum_params *params, const int16_t *samples, const int16_t *window, uint32_t i)
{
    return (int16_t)tigris_clamp((samples[i] * window[i]) >> params->shift, INT16_MIN, INT16_MAX);
}

/* The larger of `largest` and |value| in 16 bits; |-32,768| wraps to a negative number, as in the reference. */
static int16_t larger(int16_t largest, int16_t value)
{
    return value > largest ? value : -value > largest ? (int16_t)-value : largest;
}

/* Stores pairs of windowed samples as complex numbers, shifted left as far as 16 bits allow. Returns the shift. */
static uint32_t load(const tigris_kernel_call *call, bin *bins)
{
    const tigris_spectrum_params *params = tigris_params(call);
    const int16_t *samples = (const int16_t *)(const void *)tigris_input_data(call, 0);
    const int16_t *window = tigris_int16_data(call, params->window);
    const uint32_t count = params->points / 2U;
    int16_t largest = 0;
    memset(bins, 0, (count + 1U) * sizeof *bins);
    for (uint32_t i = 0; i < params->samples; i++) {
        largest = larger(largest, windowed(params, samples, window, i));
    }
    const uint32_t shift = largest > 0 ? 15U - tigris_bits((uint32_t)largest) : 0U;
    for (uint32_t i = 0; i < params->samples; i++) {
        const int16_t value = (int16_t)((uint32_t)windowed(params, samples, window, i) << shift);
        bin *to = bins + leaf(i / 2U, count);
        if (i % 2U == 0U) {
            to->z.re = value;
        } else {
            to->z.im = value;
        }
    }
    return shift;
}

/* Transforms of one point, side by side, become transforms of two. */
static void join_pairs(bin *bins, uint32_t count)
{
    for (const bin *end = bins + count; bins != end; bins += 2) {
        const complex32 a = divided(bins[0].z.re, bins[0].z.im, 2), b = divided(bins[1].z.re, bins[1].z.im, 2);
        store(&bins[0], a.re + b.re, a.im + b.im);
        store(&bins[1], a.re - b.re, a.im - b.im);
    }
}

/* Four transforms of `quarter` points, side by side, become one. */
static void join_fours(bin *bins, uint32_t quarter, const int16_t *sine, uint32_t points)
{
    const uint32_t angle = points / (4U * quarter);
    for (uint32_t k = 0; k < quarter; k++, bins++) {
        complex32 part[4];
        for (uint32_t i = 0; i < 4U; i++) {
            const bin *from = &bins[i * quarter];
            part[i] = turned(divided(from->z.re, from->z.im, 4), sine, points, i * k * angle);
        }
        const complex32 even = sum(part[0], part[2]), odd = difference(part[0], part[2]);
        const complex32 both = sum(part[1], part[3]), between = difference(part[1], part[3]);
        store(&bins[0], even.re + both.re, even.im + both.im);
        store(&bins[quarter], odd.re + between.im, odd.im - between.re);
        store(&bins[2U * quarter], even.re - both.re, even.im - both.im);
        store(&bins[3U * quarter], odd.re - between.im, odd.im + between.re);
    }
}

static uint32_t energy_of(int32_t re, int32_t im)
{
    return (uint32_t)(re * re) + (uint32_t)(im * im);
}

/* Energies of bins k and count - k of the real transform, from the same two of the complex one. */
static void split(bin *bins, uint32_t count, const int16_t *sine)
{
    const complex32 mean = divided(bins[0].z.re, bins[0].z.im, 2);
    bins[0].energy = energy_of((int16_t)(mean.re + mean.im), 0);
    bins[count].energy = energy_of((int16_t)(mean.re - mean.im), 0);
    for (uint32_t k = 1; k <= count / 2U; k++) {
        const bin *from = &bins[count - k];
        const complex32 low = divided(bins[k].z.re, bins[k].z.im, 2);
        const complex32 high = divided(from->z.re, (int16_t)-from->z.im, 2);
        const complex32 even = sum(low, high);
        const complex32 odd = turned(difference(low, high), sine, 2U * count, k + count / 2U);
        bins[k].energy = energy_of((int16_t)((even.re + odd.re) >> 1), (int16_t)((even.im + odd.im) >> 1));
        bins[count - k].energy = energy_of((int16_t)((even.re - odd.re) >> 1), (int16_t)((odd.im - even.im) >> 1));
    }
}

/* The square root, rounded; below 2^32 at most 65,535. */
static uint32_t square_root(uint64_t value)
{
    uint64_t rest = value, root = 0, bit = (uint64_t)1 << 62;
    while (bit > value) {
        bit >>= 2;
    }
    for (; bit != 0U; bit >>= 2) {
        const uint64_t next = root + bit;
        root >>= 1;
        if (rest >= next) {
            rest -= next;
            root += bit;
        }
    }
    const uint32_t most = value >> 32 == 0U ? UINT16_MAX : UINT32_MAX;
    return (uint32_t)(rest > root && root != most ? root + 1U : root);
}

/* Between the middles of two bands a bin's energy belongs to the lower one by its first weight, to the upper one by its
 * second. With a damaged table the loop stops at the end of the
 * weights or the bins. */
static void sum_bands(const tigris_kernel_call *call, const bin *bins, uint32_t shift)
{
    const tigris_spectrum_params *params = tigris_params(call);
    const uint16_t *limits = tigris_uint16_data(call, params->bands);
    const uint16_t *weight = tigris_uint16_data(call, params->weights);
    const uint16_t *const end = weight + 2U * params->weight_count;
    const uint32_t bands = tigris_row_elements(tigris_output_tensor(call));
    uint32_t *to = tigris_levels_output(call);
    uint64_t upper = 0;
    for (uint32_t band = 0; band <= bands; band++, limits += 2) {
        uint64_t lower = upper;
        upper = 0;
        for (uint32_t k = limits[0]; k < (uint32_t)limits[0] + limits[1] && k <= params->points / 2U && weight != end;
             k++, weight += 2) {
            lower += (uint64_t)bins[k].energy * weight[0];
            upper += (uint64_t)bins[k].energy * weight[1];
        }
        if (band > 0U) {
            *to++ = square_root(lower) >> shift;
        }
    }
}

static void run(const tigris_kernel_call *call)
{
    const tigris_spectrum_params *params = tigris_params(call);
    const int16_t *sine = tigris_int16_data(call, params->sine);
    const uint32_t count = params->points / 2U;
    bin *bins = (bin *)(void *)tigris_scratch(call);
    const uint32_t shift = load(call, bins);
    uint32_t quarter = 1;
    if ((tigris_bits(count) & 1U) == 0U) { /* an odd power of two */
        join_pairs(bins, count);
        quarter = 2;
    }
    for (; quarter < count; quarter *= 4U) {
        if (tigris_yield_from_kernel(call)) {
            return;
        }
        for (uint32_t first = 0; first < count; first += 4U * quarter) {
            join_fours(bins + first, quarter, sine, params->points);
        }
    }
    split(bins, count, sine);
    sum_bands(call, bins, shift);
}

static tigris_status check(const tigris_check_call *call)
{
    const tigris_spectrum_params *params = call->params;
    const uint32_t points = params->points, bands = tigris_row_elements(call->output);
    return tigris_check_result(
        tigris_check_types(call, 1U, TIGRIS_DTYPE_INT16, TIGRIS_DTYPE_INT32) && tigris_check_all_rows(call, 0U) &&
        call->output->height == 1U && call->output->batch == 1U && points >= 4U && points <= MOST_POINTS &&
        (points & (points - 1U)) == 0U && params->samples <= points && params->shift <= 31U &&
        params->samples == tigris_call_elements(call, call->inputs[0]) &&
        call->op->scratch_bytes >= (points / 2U + 1U) * sizeof(bin) &&
        tigris_check_data(call, params->window, params->samples, sizeof(int16_t)) &&
        tigris_check_data(call, params->sine, points, sizeof(int16_t)) && bands <= UINT16_MAX &&
        tigris_check_data(call, params->bands, 2U * (bands + 1U), sizeof(uint16_t)) &&
        params->weight_count <= INT32_MAX &&
        tigris_check_data(call, params->weights, 2U * params->weight_count, sizeof(uint16_t)));
}

TIGRIS_KERNEL_ENTRY(tigris_spectrum_int16, SPECTRUM, INT16, tigris_spectrum_params, run, check);
