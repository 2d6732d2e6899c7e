/* From samples to rows: the window, the bands, and what is done in each of them. */
#include "speech_features.h"

#include <string.h>

#include "levels.h"
#include "spectrum.h"
#include "tables.h"

#define WINDOW_BITS 12U
#define WEIGHT_BITS 12U

void speech_features_reset(speech_features *front)
{
    memset(front, 0, sizeof *front);
}

size_t speech_features_take(speech_features *front, const int16_t *samples, size_t count)
{
    const size_t room = SPEECH_FEATURES_WINDOW - front->held;
    const size_t taken = count < room ? count : room;
    memcpy(front->samples + front->held, samples, taken * sizeof *samples);
    front->held += (uint32_t)taken;
    return taken;
}

static int16_t windowed(const speech_features *front, uint32_t i)
{
    return (int16_t)((front->samples[i] * speech_window[i]) >> WINDOW_BITS);
}

/* The magnitude in 16 bits, where that of -32,768 is negative. So a sample of this value in the middle of the window is
 * not seen as the largest, and lost when the others are shifted up: the reference does the same. */
static int16_t larger(int16_t largest, int16_t value)
{
    const int16_t magnitude = (int16_t)(value < 0 ? -value : value);
    return magnitude > largest ? magnitude : largest;
}

/* Pairs of windowed samples become complex numbers, shifted up as far as 16 bits allow; returns by how many bits. */
static uint32_t load_window(speech_features *front)
{
    const uint32_t pairs = SPEECH_FEATURES_WINDOW / 2U;
    speech_bin *bins = front->spectrum;
    int16_t largest = 0;
    memset(bins, 0, sizeof front->spectrum);
    for (uint32_t n = 0; n < pairs; n++) {
        bins[n].z.re = windowed(front, 2U * n);
        bins[n].z.im = windowed(front, 2U * n + 1U);
        largest = larger(larger(largest, bins[n].z.re), bins[n].z.im);
    }
    const uint32_t shift = 15U - speech_bits((uint32_t)largest);
    for (uint32_t n = 0; n < pairs; n++) {
        bins[n].z.re = (int16_t)((uint32_t)(uint16_t)bins[n].z.re << shift);
        bins[n].z.im = (int16_t)((uint32_t)(uint16_t)bins[n].z.im << shift);
    }
    return shift;
}

/* Amplitudes of the channels. Between the centres of two channels a bin's energy belongs to the lower one by its
 * weight, and to the upper one by the rest. */
static void sum_bands(const speech_bin *bins, uint32_t shift, uint32_t signal[SPEECH_FEATURES_CHANNELS])
{
    const uint16_t *weight = speech_band_weights;
    uint64_t rising = 0; /* of the channel whose centre is this band's end */
    for (uint32_t band = 0; band <= SPEECH_FEATURES_CHANNELS; band++) {
        uint64_t all = 0;
        uint64_t falling = 0;
        for (uint32_t bin = speech_band_edges[band]; bin < speech_band_edges[band + 1U]; bin++) {
            all += bins[bin].energy;
            falling += (uint64_t)bins[bin].energy * *weight++;
        }
        if (band > 0U) {
            signal[band - 1U] = speech_square_root(rising + falling) >> shift;
        }
        rising = (all << WEIGHT_BITS) - falling;
    }
}

int speech_features_row(speech_features *front, uint16_t row[SPEECH_FEATURES_CHANNELS])
{
    uint32_t signal[SPEECH_FEATURES_CHANNELS];
    if (front->held < SPEECH_FEATURES_WINDOW) {
        return 0;
    }
    const uint32_t shift = load_window(front);
    front->held -= SPEECH_FEATURES_HOP;
    memmove(front->samples, front->samples + SPEECH_FEATURES_HOP, front->held * sizeof *front->samples);
    speech_spectrum(front->spectrum);
    sum_bands(front->spectrum, shift, signal);
    for (uint32_t i = 0; i < SPEECH_FEATURES_CHANNELS; i++) {
        const uint32_t left = speech_reduce_noise(signal[i], &front->noise[i], i % 2U);
        row[i] = speech_logarithm(speech_apply_gain(left, front->noise[i]));
    }
    return 1;
}

void speech_features_int8(const uint16_t row[SPEECH_FEATURES_CHANNELS], int8_t quantised[SPEECH_FEATURES_CHANNELS])
{
    for (uint32_t i = 0; i < SPEECH_FEATURES_CHANNELS; i++) {
        const uint32_t level = (row[i] * 256U + 333U) / 666U;
        quantised[i] = (int8_t)((int32_t)(level < 255U ? level : 255U) - 128);
    }
}
