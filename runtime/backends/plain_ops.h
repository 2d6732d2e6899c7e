/* Shared by the adapters of kernel libraries: the plain convolutions of a plan, to size their scratch, and of a call.
 *
 * The build plugins define TIGRIS_ESP_NN or TIGRIS_CMSIS_NN, which compiles the library's adapter. */
#ifndef TIGRIS_PLAIN_OPS_H
#define TIGRIS_PLAIN_OPS_H

#include "../src/kernels/access.h"
#include "../src/kernels/plain_int8.h"
#include "../src/kernels/layer_vectors.h"
#include "tigris_backends.h"

/* One plain convolution. The rows are those of a call's band; for a plan's operator, the most of any of its bands. */
typedef struct tigris_plain_conv {
    const tigris_conv_int8_params *params;
    const tigris_tensor_record *input;
    const tigris_tensor_record *output;
    int32_t input_rows;
    int32_t output_rows;
    int32_t pad_top;
    int32_t depthwise; /* 1: PLAIN_DEPTHWISE_CONV_2D */
    int32_t banded;    /* 1: the operator has several bands, and some have no padding above */
} tigris_plain_conv;

/* Functions that return the bytes of scratch a library's kernel needs. `fully_connected` NULL: none. */
typedef struct tigris_plain_scratch {
    int32_t (*conv)(const tigris_plain_conv *conv);
    int32_t (*fully_connected)(const tigris_fully_connected_int8_params *params);
} tigris_plain_scratch;

/* The most scratch of any operator that a library's kernel in `backend` runs, for tigris_backend.prepare. The kernels'
 * checks select the operators, so a library never gets sizes that no call can have. */
uint32_t tigris_largest_plain_scratch(const tigris_plan *plan, const tigris_backend *backend,
                                      const tigris_plain_scratch *bytes_of);

/* The plain convolution of a call. */
tigris_plain_conv tigris_plain_conv_of(const tigris_kernel_call *call, int32_t depthwise);

/* Columns of padding on the right that the last window reads. */
int32_t tigris_plain_pad_right(const tigris_plain_conv *conv);

/* Whether a library may run a call that needs `bytes` of scratch: the scratch is large enough, and the `count`
 * multipliers and shifts are still valid. A shorter band may need more than the taller one that the scratch was sized
 * for. */
int tigris_plain_may_run(const tigris_kernel_call *call, int32_t bytes, uint32_t multiplier, uint32_t shift,
                         uint32_t count);

/* Whether every size of the operator fits the 16 bits of the libraries' types. */
int tigris_is_small_conv(const tigris_check_call *call);
int tigris_is_small_layer(const tigris_check_call *call);

#endif
