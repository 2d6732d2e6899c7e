#include "spectrum.h"

#include <string.h>

#define FIRST 2U                 /* the lowest frequency of a row; gravity is in 0 and, by the window, in 1 */
#define FRACTION_BITS 12         /* of the transform, which are dropped */
#define LEAST (8 * 14)           /* eighths of an octave of power that count as nothing */
#define TURN SPECTRUM_WINDOW     /* steps of the table */

/* 2^14 cos(2 pi n / TURN) */
static const int16_t cosines[TURN] = {
    16384, 16364, 16305, 16207, 16069, 15893, 15679, 15426, 15137, 14811, 14449, 14053, 13623, 13160, 12665, 12140,
    11585, 11003, 10394, 9760, 9102, 8423, 7723, 7005, 6270, 5520, 4756, 3981, 3196, 2404, 1606, 804,
    0, -804, -1606, -2404, -3196, -3981, -4756, -5520, -6270, -7005, -7723, -8423, -9102, -9760, -10394, -11003,
    -11585, -12140, -12665, -13160, -13623, -14053, -14449, -14811, -15137, -15426, -15679, -15893, -16069, -16207, -16305, -16364,
    -16384, -16364, -16305, -16207, -16069, -15893, -15679, -15426, -15137, -14811, -14449, -14053, -13623, -13160, -12665, -12140,
    -11585, -11003, -10394, -9760, -9102, -8423, -7723, -7005, -6270, -5520, -4756, -3981, -3196, -2404, -1606, -804,
    0, 804, 1606, 2404, 3196, 3981, 4756, 5520, 6270, 7005, 7723, 8423, 9102, 9760, 10394, 11003,
    11585, 12140, 12665, 13160, 13623, 14053, 14449, 14811, 15137, 15426, 15679, 15893, 16069, 16207, 16305, 16364,
};

typedef struct {
    int64_t re, im;
} complex_sum;

static complex_sum frequency(const spectrum *row, uint32_t axis, uint32_t turns)
{
    complex_sum sum = {0, 0};
    for (uint32_t n = 0; n < SPECTRUM_WINDOW; n++) {
        const uint32_t phase = turns * n % TURN;
        sum.re += row->samples[n][axis] * (int32_t)cosines[phase];
        sum.im += row->samples[n][axis] * (int32_t)cosines[(phase + TURN - TURN / 4) % TURN];
    }
    return sum;
}

/* The square of one part of the transform under the window of Hann: a frequency twice, less its neighbours. */
static uint64_t square(int64_t below, int64_t here, int64_t above)
{
    const int64_t seen = (2 * here - below - above) / (1 << FRACTION_BITS);
    return (uint64_t)(seen * seen);
}

static void add_window(spectrum *row)
{
    for (uint32_t axis = 0; axis < SPECTRUM_AXES; axis++) {
        complex_sum below = frequency(row, axis, FIRST - 1), here = frequency(row, axis, FIRST);
        for (uint32_t band = 0; band < SPECTRUM_BANDS; band++) {
            const complex_sum above = frequency(row, axis, FIRST + band + 1);
            row->power[band] += square(below.re, here.re, above.re) + square(below.im, here.im, above.im);
            below = here;
            here = above;
        }
    }
}

/* Eighths of an octave, linear within one, from LEAST. */
static uint8_t logarithm(uint64_t power)
{
    int32_t octave = 3;
    for (power += 8; power >> (octave + 1) != 0;)
        octave++;
    const int32_t eighths = 8 * octave + (int32_t)(power >> (octave - 3) & 7) - LEAST;
    return (uint8_t)(eighths < 0 ? 0 : eighths > UINT8_MAX ? UINT8_MAX : eighths);
}

void spectrum_reset(spectrum *row)
{
    memset(row, 0, sizeof *row);
}

bool spectrum_take(spectrum *row, const int16_t sample[SPECTRUM_AXES], uint8_t features[SPECTRUM_BANDS])
{
    memcpy(row->samples[row->held++], sample, sizeof *row->samples);
    if (row->held < SPECTRUM_WINDOW)
        return false;
    row->held = 0;
    add_window(row);
    if (++row->windows < SPECTRUM_WINDOWS)
        return false;
    for (uint32_t band = 0; band < SPECTRUM_BANDS; band++)
        features[band] = logarithm(row->power[band]);
    spectrum_reset(row);
    return true;
}
