/* What the adapters of kernel libraries share: the plain convolutions of a plan, for sizing their scratch, and of a call.
 *
 * A library is compiled in when TIGRIS_ESP_NN or TIGRIS_CMSIS_NN is defined, which the build plugins do. */
#ifndef TIGRIS_PLAIN_OPS_H
#define TIGRIS_PLAIN_OPS_H

#include "../src/kernels/access.h"
#include "../src/kernels/plain_int8.h"
#include "../src/kernels/layer_vectors.h"
#include "tigris_backends.h"

/* One plain convolution. Rows: of the band at hand; for a plan's operator the most that any of its bands has. */
typedef struct tigris_plain_conv {
    const tigris_conv_int8_params *params;
    const tigris_tensor_record *input;
    const tigris_tensor_record *output;
    int32_t input_rows;
    int32_t output_rows;
    int32_t pad_top;
    int32_t depthwise; /* 1: PLAIN_DEPTHWISE_CONV_2D */
    int32_t banded;    /* 1: of several bands, of which others have no padding above */
} tigris_plain_conv;

/* Bytes of scratch that a library's kernels take for one operator. `fully_connected` NULL: none. */
typedef struct tigris_plain_scratch {
    int32_t (*conv)(const tigris_plain_conv *conv);
    int32_t (*fully_connected)(const tigris_fully_connected_int8_params *params);
} tigris_plain_scratch;

/* The most that any operator which a library's kernel of `backend` runs takes. For tigris_backend.prepare: the kernels'
 * own checks say which those are, so a library is never asked about sizes that no call can have. */
uint32_t tigris_largest_plain_scratch(const tigris_plan *plan, const tigris_backend *backend,
                                      const tigris_plain_scratch *bytes_of);

/* The convolution of a call. */
tigris_plain_conv tigris_plain_conv_of(const tigris_kernel_call *call, int32_t depthwise);

/* Columns of padding on the right that the last window reads. */
int32_t tigris_plain_pad_right(const tigris_plain_conv *conv);

/* Whether a library may run a call for which it wants `bytes` of scratch: it has them, and the `count` multipliers and
 * shifts still are what was checked. Shorter bands may want more than the taller ones that the scratch was sized for. */
int tigris_plain_may_run(const tigris_kernel_call *call, int32_t bytes, uint32_t multiplier, uint32_t shift,
                         uint32_t count);

/* Whether every size of the operator fits the 16 bits that libraries keep them in. */
int tigris_is_small_conv(const tigris_check_call *call);
int tigris_is_small_layer(const tigris_check_call *call);

#endif
