/* The backend of this folder's kernels, with the portable kernels behind it. Linking this file links every kernel. */
#include "tigris_backends.h"

#if defined(TIGRIS_PIE)

static const tigris_kernel_entry *const kernels[] = {
    &tigris_pie_add_int8,
    &tigris_pie_conv_2d_int8,
    &tigris_pie_depthwise_conv_2d_int8,
    &tigris_pie_fully_connected_int8,
    &tigris_pie_sub_int8,
};
const tigris_backend tigris_pie_backend = {"pie", kernels, sizeof kernels / sizeof kernels[0], NULL,
                                           &tigris_portable_backend};

#endif
