/* Which instructions this compiler may use. Each set has a folder here, with the files that depend on it:
 *
 *   portable/  none but those of any 32-bit machine
 *   dsp/       DSP instructions of Armv7E-M (Cortex-M4, M7) and Armv8-M
 *   mve/       vector instructions of Armv8.1-M (MVE, "Helium": Cortex-M52, M55, M85), beside DSP instructions
 *   rvv/       vector instructions of RISC-V (RVV 1.0), beside portable ones
 *
 * Files of the same name in these have the same functions, and what includes them chooses by the macros below. mve/ and
 * rvv/ have the loops of whole kernels, which a kernel calls first and which leave to it what they do not take. Folders of
 * other sets hold kernels of their own, which a plan asks for by its packing or a build by its table of kernels. */
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

/* XTheadVector has older instructions under the same macro. */
#if defined(__riscv_vector) && !defined(__riscv_xtheadvector) && defined(__OPTIMIZE__)
#define TIGRIS_RVV 1
#else
#define TIGRIS_RVV 0
#endif

#endif
