/* The instruction sets that this compiler may use. Each set has a folder here:
 *
 *   portable/  instructions of any 32-bit machine
 *   dsp/       DSP instructions of Armv7E-M (Cortex-M4, M7) and Armv8-M
 *   mve/       vector instructions of Armv8.1-M (MVE, "Helium": Cortex-M52, M55, M85), beside DSP instructions
 *
 * portable/ and dsp/ have headers of the same names with the same functions; the including header chooses by the macros
 * below. mve/ holds whole kernels, which take over calls of the portable ones (set.h), and kernels of a packing of
 * their own. Other folders hold kernels that a plan selects by its packing, or a build by its table of kernels. */
#ifndef TIGRIS_INSTRUCTION_SET_H
#define TIGRIS_INSTRUCTION_SET_H

#if defined(__ARM_FEATURE_DSP) && defined(__ARM_FEATURE_SIMD32)
#define TIGRIS_DSP
#endif

/* Without optimisation compilers lack registers for the assembler. */
#if defined(__ARM_FEATURE_MVE) && (__ARM_FEATURE_MVE & 1) && defined(__OPTIMIZE__)
#define TIGRIS_MVE 1
#else
#define TIGRIS_MVE 0
#endif

#endif
