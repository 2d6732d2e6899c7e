/* The int8 convolution of the host kernels, with weights from the caller. */
#ifndef TIGRIS_HOST_CONV_2D_INT8_H
#define TIGRIS_HOST_CONV_2D_INT8_H

#include "host.h"

#if TIGRIS_HOST_AVX2 || TIGRIS_HOST_NEON

/* Most taps of an output; the portable kernel computes larger kernels. */
#define TIGRIS_HOST_CONV_TAPS 5120

/* Computes all outputs of a call with `weights` in place of the call's. Returns 0, with nothing written, if it
 * cannot. */
int tigris_host_run_conv(const tigris_kernel_call *call, const int8_t *weights);

#endif
#endif
