/* Constants of the front end, written by make_tables.py. */
#ifndef SPEECH_TABLES_H
#define SPEECH_TABLES_H

#include <stdint.h>

/* The Hann window, in 1/4096. */
extern const int16_t speech_window[480];

/* 32767 sin(2 pi i / 512). */
extern const int16_t speech_sine[512];

/* Band b has the bins from edge b to before edge b + 1; bin 1 is at 31.25 Hz. */
extern const uint8_t speech_band_edges[42];

/* Of each bin, from the first edge on: what of its energy belongs to the channel whose centre lies below, in 1/4096. */
extern const uint16_t speech_band_weights[236];

/* Gains of noise 0 and 1; then from each power of two to the next one value, slope and bend. */
extern const int16_t speech_gain_first[2];
extern const int16_t speech_gain[31][3];

/* 65536 (log2(1 + i / 128) - i / 128). */
extern const uint16_t speech_log[130];

#endif
