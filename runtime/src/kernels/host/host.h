/* Kernels with the vector instructions of the processors that the host library runs on: AVX2 of x86-64, which is asked
 * for at run time, and NEON of AArch64, which is always there. They read plans of the portable packing, and outputs are
 * the portable kernels' to the byte: sums wrap, so that their order does not matter.
 *
 * What depends on the processor is in avx2.h and neon.h, under the same names; the kernels are written once. What a
 * kernel does not take it leaves to the portable one. */
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
/* For processors that have the instructions only: tigris_host_fastest says which. */
extern const tigris_backend tigris_host_backend;

/* The backend above, or NULL, which stands for the portable kernels, where this processor lacks the instructions. */
const tigris_backend *tigris_host_fastest(void);

#else

static inline const tigris_backend *tigris_host_fastest(void)
{
    return NULL;
}

#endif

#endif
