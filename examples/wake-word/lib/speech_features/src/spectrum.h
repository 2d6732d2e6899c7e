/* The Fourier transform of 512 real numbers in 16 bits. */
#ifndef SPEECH_SPECTRUM_H
#define SPEECH_SPECTRUM_H

#include "speech_features.h"

/* From 512 real numbers, pairs of them as the complex numbers of `bins`, to the energies of bins 1 … 255: squared
 * magnitudes of the transform divided by 512. Bin 0 is left without meaning. */
void speech_spectrum(speech_bin bins[256]);

#endif
