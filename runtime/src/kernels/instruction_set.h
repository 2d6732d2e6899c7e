/* Which instructions this compiler may use. Each set has a folder here, with the files that depend on it:
 *
 *   portable/  none but those of any 32-bit machine
 *   dsp/       DSP instructions of Armv7E-M (Cortex-M4, M7) and Armv8-M
 *
 * Files of the same name in these have the same functions, and what includes them chooses by the macros below. Folders of
 * other sets hold whole kernels, which a plan asks for by its packing or a build by its table of kernels. */
#ifndef TIGRIS_INSTRUCTION_SET_H
#define TIGRIS_INSTRUCTION_SET_H

#if defined(__ARM_FEATURE_DSP) && defined(__ARM_FEATURE_SIMD32)
#define TIGRIS_DSP
#endif

#endif
