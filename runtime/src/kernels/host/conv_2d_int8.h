/* The convolution for kernels that find their weights elsewhere. */
#ifndef TIGRIS_HOST_CONV_2D_INT8_H
#define TIGRIS_HOST_CONV_2D_INT8_H

#include "host.h"

#if TIGRIS_HOST_AVX2 || TIGRIS_HOST_NEON

/* Of an output; more are left to the portable kernel. */
#define TIGRIS_HOST_CONV_TAPS 5120

/* All outputs of a call, by weights in place of the call's. 0: it does not take the call, and has written nothing. */
int tigris_host_run_conv(const tigris_kernel_call *call, const int8_t *weights);

#endif
#endif
