/* CONV_2D of int8 with MVE for ROWS_16 weights: a vector is 16 taps of a channel. A 1x1 kernel reads whole vectors of the
 * input in place. */
#include "mve.h"

#if TIGRIS_MVE

#include "../check.h"
#include "tigris_backends.h"

#define ARE_ROWS 1
/* Loads and products alternate, so that the processor overlaps them (`python -m bench.mca`). The first vectors of channel 0
 * and of the first pixel are loaded a step ahead, but not behind the last step. */
#define STEP                                                                                                           \
    "vmladava.s8 r0, q0, q4\n\t"                                                                                       \
    "vldrb.8 q1, [r1], #16\n\t"                                                                                        \
    "vmladava.s8 r2, q1, q4\n\t"                                                                                       \
    "vldrb.8 q5, [r5], #16\n\t"                                                                                        \
    "vmladava.s8 r8, q0, q5\n\t"                                                                                       \
    "vldrb.8 q2, [r1], #16\n\t"                                                                                        \
    "vmladava.s8 r10, q1, q5\n\t"                                                                                      \
    "vldrb.8 q3, [r1], #16\n\t"                                                                                        \
    "vmladava.s8 r4, q2, q4\n\t"
#define PRODUCTS                                                                                                       \
    "vldrb.8 q4, [r3], #16\n\t"                                                                                        \
    "vldrb.8 q0, [r1], #16\n\t"                                                                                        \
    "subs r9, r9, #1\n\t"                                                                                              \
    "ble 4f\n"                                                                                                         \
    "2: " STEP                                                                                                         \
    "vldrb.8 q0, [r1], #16\n\t"                                                                                        \
    "vmladava.s8 r6, q3, q4\n\t"                                                                                       \
    "vldrb.8 q4, [r3], #16\n\t"                                                                                        \
    "vmladava.s8 r12, q2, q5\n\t"                                                                                      \
    "subs r9, r9, #1\n\t"                                                                                              \
    "vmladava.s8 lr, q3, q5\n\t"                                                                                       \
    "bgt 2b\n"                                                                                                         \
    "4: " STEP                                                                                                         \
    "vmladava.s8 r6, q3, q4\n\t"                                                                                       \
    "vmladava.s8 r12, q2, q5\n\t"                                                                                      \
    "vmladava.s8 lr, q3, q5\n"
#include "conv_2d_int8.h"

static tigris_status check(const tigris_check_call *call)
{
    const tigris_conv_int8_params *params = call->params;
    if (params->groups != 1U || call->op->operand_count != 1U) {
        return TIGRIS_ERR_PARAMS;
    }
    const uint32_t depth = call->inputs[0]->channels, channels = call->output->channels;
    if (!tigris_check_conv_int8(call, depth)) {
        return TIGRIS_ERR_PARAMS;
    }
    const uint32_t taps = (uint32_t)params->kernel_height * params->kernel_width * depth; /* at most the weights */
    return tigris_check_result(fits(channels, taps) &&
                               tigris_check_data(call, params->weights, tigris_mve_rows_bytes(taps, channels), 1U));
}

const tigris_kernel_entry tigris_mve_conv_2d_int8 = {
    TIGRIS_OP_KIND_CONV_2D, TIGRIS_DTYPE_INT8, TIGRIS_PACKING_ROWS_16, sizeof(tigris_conv_int8_params), run, check};

#endif
