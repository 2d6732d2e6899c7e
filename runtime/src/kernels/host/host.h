/* Kernels with the vector instructions of the processors that the host library runs on: AVX2 of x86-64, which is
 * detected at run time, and NEON of AArch64, which every processor has. They read plans of the portable packing.
 * Outputs are bit-exact with the portable kernels: sums wrap, so their order does not matter.
 *
 * avx2.h and neon.h define the same functions for each processor; the kernels are written once. A kernel leaves
 * calls that it does not handle to the portable kernel. */
#ifndef TIGRIS_HOST_H
#define TIGRIS_HOST_H

#include "tigris_kernel.h"

#if defined(__GNUC__) && defined(__x86_64__)
#define TIGRIS_HOST_AVX2 1
#else
#define TIGRIS_HOST_AVX2 0
#endif

#if defined(__GNUC__) && defined(__aarch64__) && defined(__ARM_NEON) && !defined(__AARCH64EB__)
#define TIGRIS_HOST_NEON 1
#else
#define TIGRIS_HOST_NEON 0
#endif

#if TIGRIS_HOST_AVX2 || TIGRIS_HOST_NEON

extern const tigris_kernel_entry tigris_host_conv_2d_int8;
extern const tigris_kernel_entry tigris_host_depthwise_conv_2d_int8;
extern const tigris_kernel_entry tigris_host_fully_connected_int8;
extern const tigris_kernel_entry tigris_host_add_int8;
extern const tigris_kernel_entry tigris_host_sub_int8;
/* Only for processors that have the instructions: use tigris_host_fastest. */
extern const tigris_backend tigris_host_backend;

/* tigris_host_backend, or NULL if this processor lacks the instructions: the portable kernels. */
const tigris_backend *tigris_host_fastest(void);

#else

static inline const tigris_backend *tigris_host_fastest(void)
{
    return NULL;
}

#endif

#endif
