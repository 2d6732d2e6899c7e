/* The backend of this folder's kernels for weights of the packing ROWS_16. The portable backend searches it last, so a
 * plan with either packing runs. Linking this file links every kernel. */
#include "tigris_backends.h"

#include "mve.h"

#if TIGRIS_MVE

static const tigris_kernel_entry *const kernels[] = {&tigris_mve_conv_2d_int8, &tigris_mve_fully_connected_int8};
const tigris_backend tigris_mve_backend = {"mve", kernels, sizeof kernels / sizeof kernels[0], NULL, NULL};

#else

/* No operator's kind: without the instructions such plans are refused (TIGRIS_ERR_PACKING). */
#define NO_KERNEL {UINT16_MAX, 0, 0, 0, NULL, NULL}
const tigris_kernel_entry tigris_mve_conv_2d_int8 = NO_KERNEL;
const tigris_kernel_entry tigris_mve_fully_connected_int8 = NO_KERNEL;

#endif
