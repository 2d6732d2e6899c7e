/* CONV_2D of int8 with MVE for PORTABLE weights: VLD4 loads four tiles of a block as 16 taps of each of its four channels.
 * The taps of the patch have the order of the tiles. */
#include "mve.h"

#if TIGRIS_MVE

#define ARE_ROWS 0
#define PRODUCTS                                                                                                       \
    "2: vld40.32 {q0, q1, q2, q3}, [r1]\n\t"                                                                           \
    "vld41.32 {q0, q1, q2, q3}, [r1]\n\t"                                                                              \
    "vldrb.8 q4, [r3], #16\n\t"                                                                                        \
    "vld42.32 {q0, q1, q2, q3}, [r1]\n\t"                                                                              \
    "vld43.32 {q0, q1, q2, q3}, [r1]!\n\t"                                                                             \
    "vmladava.s8 r0, q0, q4\n\t"                                                                                       \
    "vldrb.8 q5, [r5], #16\n\t"                                                                                        \
    "vmladava.s8 r2, q1, q4\n\t"                                                                                       \
    "vmladava.s8 r4, q2, q4\n\t"                                                                                       \
    "vmladava.s8 r6, q3, q4\n\t"                                                                                       \
    "vmladava.s8 r8, q0, q5\n\t"                                                                                       \
    "vmladava.s8 r10, q1, q5\n\t"                                                                                      \
    "vmladava.s8 r12, q2, q5\n\t"                                                                                      \
    "vmladava.s8 lr, q3, q5\n\t"                                                                                       \
    "subs r9, r9, #1\n\t"                                                                                              \
    "bgt 2b\n\t"                                                                                                       \
    "bmi 3f\n\t" /* that was the tail */                                                                               \
    "ldr r1, [r11, #72]\n\t"                                                                                           \
    "cmp r1, #0\n\t"                                                                                                   \
    "bne 2b\n"
#include "conv_2d_int8.h"

int tigris_conv_2d_int8_by_set(const tigris_kernel_call *call)
{
    const tigris_conv_int8_params *params = call->params;
    const uint32_t taps = (uint32_t)params->kernel_height * params->kernel_width * call->inputs[0].tensor->channels;
    if (params->groups != 1 || ((uintptr_t)(call->weights + params->weights) & 3U) != 0U ||
        !fits(call->output->tensor->channels, taps)) {
        return 0;
    }
    run(call);
    return 1;
}

#endif
