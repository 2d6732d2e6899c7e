/* What is done to the level of one channel. */
#ifndef SPEECH_LEVELS_H
#define SPEECH_LEVELS_H

#include <stdint.h>

/* Bits of a number: 0 for 0, else one more than the place of its highest one. */
static inline uint32_t speech_bits(uint32_t value)
{
    uint32_t bits = 0;
    for (uint32_t half = 16; half > 0U; half /= 2U) {
        if (value >> half != 0U) {
            value >>= half;
            bits += half;
        }
    }
    return bits + value;
}

/* The square root, rounded; below 2^32 never more than 65,535. */
uint32_t speech_square_root(uint64_t value);

/* What of the signal is louder than the noise so far, at least a twentieth. The noise, in steps of 1/1024, follows the
 * signal before: by 2.5 % a row in even channels, 6 % in odd ones. */
uint32_t speech_reduce_noise(uint32_t signal, uint32_t *noise, uint32_t odd);

/* PCAN: the signal divided by (noise + 80)^0.95, then compressed: squared where it is low. */
uint32_t speech_apply_gain(uint32_t signal, uint32_t noise);

/* 64 ln(8 * level), 0 for levels below 1/4. */
uint16_t speech_logarithm(uint32_t level);

#endif
