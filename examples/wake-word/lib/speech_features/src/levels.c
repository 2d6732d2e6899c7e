/* The arithmetic of microfrontend's filterbank.c (root), noise_reduction.c, pcan_gain_control.c and log_scale.c, to the
 * bit. Sums and products of unsigned numbers wrap as there. PCAN: Wang et al., "Trainable Frontend For Robust and
 * Far-Field Keyword Spotting", 2017. */
#include "levels.h"

#include "tables.h"

uint32_t speech_square_root(uint64_t value)
{
    uint64_t rest = value;
    uint64_t root = 0;
    uint64_t bit = 1;
    while (bit <= rest >> 2) {
        bit <<= 2;
    }
    for (; bit != 0U; bit >>= 2) {
        if (rest >= root + bit) {
            rest -= root + bit;
            root = (root >> 1) + bit;
        } else {
            root >>= 1;
        }
    }
    /* Of values below 2^32 the reference keeps the root in 16 bits. */
    const uint32_t most = value >> 32 == 0U ? UINT16_MAX : UINT32_MAX;
    return (uint32_t)(rest > root && root != most ? root + 1U : root);
}

#define NOISE_BITS 10U
#define SHARE_BITS 14U
#define LEAST_SHARE 819U /* of 2^SHARE_BITS: 5 % */

uint32_t speech_reduce_noise(uint32_t signal, uint32_t *noise, uint32_t odd)
{
    const uint32_t share = odd != 0U ? 983U : 409U; /* of 2^SHARE_BITS: 6 % and 2.5 % */
    const uint32_t fine = signal << NOISE_BITS;
    const uint64_t mean = (uint64_t)fine * share + (uint64_t)*noise * ((1U << SHARE_BITS) - share);
    *noise = (uint32_t)(mean >> SHARE_BITS);
    const uint32_t louder = *noise < fine ? (fine - *noise) >> NOISE_BITS : 0U;
    const uint32_t least = (uint32_t)(((uint64_t)signal * LEAST_SHARE) >> SHARE_BITS);
    return louder > least ? louder : least;
}

/* 2^21 * (noise / 128 + 80)^-0.95: between powers of two a parabola, whose place is told in ten bits. */
static uint32_t gain_at(uint32_t noise)
{
    if (noise < 2U) {
        return (uint32_t)speech_gain_first[noise];
    }
    const uint32_t bits = speech_bits(noise);
    const int16_t *parabola = speech_gain[bits - 2U];
    const int32_t place = (int32_t)((bits < 11U ? noise << (11U - bits) : noise >> (bits - 11U)) & 0x3FFU);
    const int32_t slope = parabola[1] * 32 + ((parabola[2] * place) >> 5);
    return (uint32_t)(int16_t)(((slope * place + (1 << 14)) >> 15) + parabola[0]);
}

uint32_t speech_apply_gain(uint32_t signal, uint32_t noise)
{
    const uint32_t ratio = (uint32_t)(((uint64_t)signal * gain_at(noise)) >> 6); /* in steps of 1/4096 */
    return ratio < 2U << 12 ? (ratio * ratio) >> 20 : (ratio >> 6) - 64U;
}

#define LOG_BITS 16U

uint16_t speech_logarithm(uint32_t level)
{
    const uint32_t value = level << 3;
    if (value <= 1U) {
        return 0;
    }
    const uint32_t whole = speech_bits(value) - 1U;
    const uint32_t part = value - (UINT32_C(1) << whole);
    const uint32_t fraction = whole < LOG_BITS ? part << (LOG_BITS - whole) : part >> (whole - LOG_BITS);
    /* log2(1 + fraction) - fraction, linear between 128 places. */
    const uint32_t place = fraction >> 9;
    const int32_t step = speech_log[place + 1U] - speech_log[place];
    const int32_t above = (step * (int32_t)(fraction & 511U)) >> LOG_BITS;
    const uint32_t log2 = (whole << LOG_BITS) + fraction + speech_log[place] + (uint32_t)above;
    const uint32_t half = UINT32_C(1) << (LOG_BITS - 1U);
    const uint32_t natural = (uint32_t)((UINT64_C(45426) * log2 + half) >> LOG_BITS); /* 45426 / 2^16: ln 2 */
    const uint32_t scaled = ((natural << 6) + half) >> LOG_BITS;
    return (uint16_t)(scaled < UINT16_MAX ? scaled : UINT16_MAX);
}
