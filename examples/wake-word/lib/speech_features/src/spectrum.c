/* The arithmetic is that of kissfft in 16 bits (github.com/mborgerding/kissfft), to the bit: a transform of 256 complex
 * numbers, decimated in time, in four steps of radix 4, each of which divides by 4 first; then the split into the
 * transform of 512 real numbers. kissfft recurses and copies; here the numbers are put into the order of its leaves at
 * first, and each step works in place. */
#include "spectrum.h"

#include "tables.h"

#define POINTS 256U
#define TURN 512U /* steps of speech_sine in a full turn */

/* C99 leaves both to the compiler, and all there are do so. */
typedef char right_shifts_round_down[(-3 >> 1) == -2 ? 1 : -1];
typedef char conversions_wrap[(int16_t)40000 == -25536 ? 1 : -1];

typedef struct {
    int32_t re, im;
} complex32;

/* a / 2^15, halves up, kept in 16 bits. */
static inline int32_t rounded(int32_t a)
{
    return (int16_t)((a + (1 << 14)) >> 15);
}

/* z / divisor, as a product with 32767 / divisor. */
static inline complex32 divided(speech_bin bin, int32_t divisor)
{
    const int32_t share = INT16_MAX / divisor;
    const complex32 result = {rounded(bin.z.re * share), rounded(bin.z.im * share)};
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

/* z turned clockwise by `angle` steps, of TURN. Below 2^14 a product with 32767 / 2^15 is rounded to what it was. */
static inline complex32 turned(complex32 z, uint32_t angle)
{
    if (angle == 0U) {
        return z;
    }
    const int32_t cosine = speech_sine[(angle + TURN / 4U) % TURN];
    const int32_t sine = -speech_sine[angle % TURN];
    const complex32 result = {rounded(z.re * cosine - z.im * sine), rounded(z.re * sine + z.im * cosine)};
    return result;
}

static inline void store(speech_bin *bin, int32_t re, int32_t im)
{
    bin->z.re = (int16_t)re;
    bin->z.im = (int16_t)im;
}

/* Index n with its four digits of base 4 in the opposite order. */
static uint32_t reversed(uint32_t n)
{
    return (n & 3U) << 6 | (n & 12U) << 2 | (n & 48U) >> 2 | n >> 6;
}

static void reorder(speech_bin bins[POINTS])
{
    for (uint32_t n = 0; n < POINTS; n++) {
        const uint32_t other = reversed(n);
        if (n < other) {
            const speech_bin kept = bins[n];
            bins[n] = bins[other];
            bins[other] = kept;
        }
    }
}

/* Four transforms of `quarter` points, side by side, become one; `angle` is that of its second point. */
static void join(speech_bin *bins, uint32_t quarter, uint32_t angle)
{
    for (uint32_t k = 0; k < quarter; k++, bins++) {
        const complex32 a = divided(bins[0], 4);
        const complex32 b = turned(divided(bins[quarter], 4), k * angle);
        const complex32 c = turned(divided(bins[2U * quarter], 4), k * angle * 2U);
        const complex32 d = turned(divided(bins[3U * quarter], 4), k * angle * 3U);
        const complex32 even = sum(a, c), odd = difference(a, c);
        const complex32 both = sum(b, d), between = difference(b, d);
        store(&bins[0], even.re + both.re, even.im + both.im);
        store(&bins[quarter], odd.re + between.im, odd.im - between.re);
        store(&bins[2U * quarter], even.re - both.re, even.im - both.im);
        store(&bins[3U * quarter], odd.re - between.im, odd.im + between.re);
    }
}

static uint32_t energy(int32_t re, int32_t im)
{
    const int16_t x = (int16_t)(re >> 1);
    const int16_t y = (int16_t)(im >> 1);
    return (uint32_t)(x * x) + (uint32_t)(y * y);
}

/* Bins k and 256 - k of the real transform, from the same two of the complex one. */
static void split(speech_bin bins[POINTS])
{
    for (uint32_t k = 1; k <= POINTS / 2U; k++) {
        const complex32 low = divided(bins[k], 2);
        /* The conjugate before it is divided: halves are rounded up, whatever their sign. */
        const speech_bin conjugate = {{bins[POINTS - k].z.re, (int16_t)-bins[POINTS - k].z.im}};
        const complex32 high = divided(conjugate, 2);
        const complex32 even = sum(low, high);
        const complex32 odd = turned(difference(low, high), k + TURN / 4U);
        bins[k].energy = energy(even.re + odd.re, even.im + odd.im);
        bins[POINTS - k].energy = energy(even.re - odd.re, odd.im - even.im);
    }
}

void speech_spectrum(speech_bin bins[POINTS])
{
    reorder(bins);
    for (uint32_t quarter = 1; quarter < POINTS; quarter *= 4U) {
        for (uint32_t first = 0; first < POINTS; first += 4U * quarter) {
            join(bins + first, quarter, TURN / (4U * quarter));
        }
    }
    split(bins);
}
