/* Depthwise convolutions, sixteen channels at a time: see pie_int8.h. ESP32-S3.
 * The compiler proves that a channel's sums fit the accumulators of 20 bits. */
#ifdef TIGRIS_PIE

#include "scale_int8.S.h"
#include "unpack_int8.S.h"

    .text

/* The next tap: its products, the input of the one behind it by `step`, and its weights. */
    .macro TIGRIS_PIE_TAP now, next, row, step
    ee.vmulas.s8.qacc.ld.xp \next, \row, \step, \now, q4
    ee.vld.128.ip   q4, a6, 16
    .endm

/* Sums of sixteen channels to their bytes in q5. The layer is on the stack. */
    .macro TIGRIS_PIE_OUTPUTS multiply, clamps
    TIGRIS_PIE_UNPACK l, q0, q5
    TIGRIS_PIE_UNPACK h, q1, q6
    ssai    12
    ee.vsl.32       q0, q0
    ee.vsl.32       q1, q1
    ee.andq         q5, q5, q7
    ee.andq         q6, q6, q7
    ee.vadds.s32.ld.incp q3, a6, q0, q0, q4
    ee.vadds.s32.ld.incp q4, a6, q1, q1, q3
    ee.vadds.s32.ld.incp q3, a6, q5, q5, q4
    ee.vadds.s32.ld.incp q4, a6, q6, q6, q3
    ee.vunzip.16    q0, q1
    ee.vunzip.16    q5, q6
    \multiply       q0, q1
    \multiply       q5, q6
    ee.vunzip.8     q0, q5
    ee.src.q        q6, q5, q5
    ee.vzip.8       q5, q6
    .rept \clamps
    l32i    a15, a1, 16
    addi    a12, a15, 20
    addi    a13, a15, 21
    TIGRIS_PIE_CLAMP q5, q6
    .endr
    .endm

/* The constants of q2, q7 and SAR_BYTE. */
    .macro TIGRIS_PIE_CONSTANTS
    TIGRIS_PIE_HALF q2
    movi            a15, -4096
    ee.movi.32.q    q7, a15, 0
    ee.movi.32.q    q7, a15, 1
    ee.movi.32.q    q7, a15, 2
    ee.movi.32.q    q7, a15, 3
    movi            a15, 8
    wur.sar_byte    a15
    .endm

/* The functions' arguments: a2: input; a3: output; a4: layer; a5: pixels or pairs; a6: window. */

/* a0, a5 and a8 point to the three rows of the first window, a7 is the step from tap to tap, a15 from window to window. */
    .macro TIGRIS_PIE_THREE_ROWS
    l32i    a7, a6, 8
    l32i    a8, a6, 12
    addx2   a15, a7, a7
    add     a15, a15, a8
    mov     a0, a2
    add     a5, a0, a15
    add     a8, a5, a15
    l32i    a15, a6, 16
    .endm

/* 3x3 kernels. */
    .macro TIGRIS_PIE_DEPTHWISE name, multiply, clamps
    .type   \name, @function
    .align  4
    .global \name
\name:
    entry   a1, 64
    s32i    a0, a1, 0
    s32i    a5, a1, 4
    s32i    a4, a1, 16
    TIGRIS_PIE_THREE_ROWS
    l32i    a14, a4, 4
    slli    a14, a14, 4
    sub     a15, a15, a14
    s32i    a15, a1, 12
    l32i    a11, a4, 12
    movi    a10, 16
    TIGRIS_PIE_CONSTANTS
    slli    a9, a7, 1
    sub     a9, a10, a9
1:
    l32i    a4, a1, 16
    l32i    a6, a4, 0
    l32i    a4, a4, 4
    ee.vld.128.ip   q4, a6, 16
2:
    ee.zero.qacc
    ee.vld.128.xp   q0, a0, a7
    TIGRIS_PIE_TAP  q0, q0, a0, a7
    TIGRIS_PIE_TAP  q0, q0, a0, a9
    TIGRIS_PIE_TAP  q0, q0, a5, a7
    TIGRIS_PIE_TAP  q0, q0, a5, a7
    TIGRIS_PIE_TAP  q0, q0, a5, a9
    TIGRIS_PIE_TAP  q0, q0, a8, a7
    TIGRIS_PIE_TAP  q0, q0, a8, a7
    TIGRIS_PIE_TAP  q0, q0, a8, a9
    ee.vmulas.s8.qacc.ld.ip q4, a6, 16, q0, q4
    TIGRIS_PIE_OUTPUTS \multiply, \clamps
    ee.vst.128.ip   q5, a3, 16
    addi    a4, a4, -1
    bnez    a4, 2b
    l32i    a15, a1, 12
    add     a0, a0, a15
    add     a5, a5, a15
    add     a8, a8, a15
    l32i    a15, a1, 4
    addi    a15, a15, -1
    s32i    a15, a1, 4
    bnez    a15, 1b
    l32i    a0, a1, 0
    retw
    .size   \name, . - \name
    .endm

    TIGRIS_PIE_DEPTHWISE tigris_pie_depthwise_3x3_above, TIGRIS_PIE_MULTIPLY_ABOVE, 0
    TIGRIS_PIE_DEPTHWISE tigris_pie_depthwise_3x3, TIGRIS_PIE_MULTIPLY, 0
    TIGRIS_PIE_DEPTHWISE tigris_pie_depthwise_3x3_clamped, TIGRIS_PIE_MULTIPLY, 1
    TIGRIS_PIE_DEPTHWISE tigris_pie_depthwise_3x3_whole, TIGRIS_PIE_MULTIPLY_WHOLE, 0
    TIGRIS_PIE_DEPTHWISE tigris_pie_depthwise_3x3_whole_clamped, TIGRIS_PIE_MULTIPLY_WHOLE, 1

/* A tap of two pixels of eight channels, `last` bytes behind the second of which the row goes on. */
    .macro TIGRIS_PIE_PAIR_TAP row, last
    ee.vld.l.64.xp  q0, \row, a7
    ee.vld.h.64.xp  q0, \row, \last
    ee.vmulas.s8.qacc.ld.ip q4, a6, 16, q0, q4
    .endm

/* 3x3 kernels, two output pixels of eight channels at a time. */
    .macro TIGRIS_PIE_PAIRS name, multiply, clamps
    .type   \name, @function
    .align  4
    .global \name
\name:
    entry   a1, 64
    s32i    a0, a1, 0
    s32i    a4, a1, 16
    s32i    a5, a1, 4
    l32i    a11, a4, 12
    l32i    a15, a4, 0
    s32i    a15, a1, 12
    TIGRIS_PIE_THREE_ROWS
    l32i    a2, a1, 4
    sub     a9, a7, a15
    slli    a4, a7, 1
    sub     a4, a15, a4
    mov     a7, a15
    movi    a10, 16
    TIGRIS_PIE_CONSTANTS
1:
    l32i    a6, a1, 12
    ee.zero.qacc
    ee.vld.128.ip   q4, a6, 16
    TIGRIS_PIE_PAIR_TAP a0, a9
    TIGRIS_PIE_PAIR_TAP a0, a9
    TIGRIS_PIE_PAIR_TAP a0, a4
    TIGRIS_PIE_PAIR_TAP a5, a9
    TIGRIS_PIE_PAIR_TAP a5, a9
    TIGRIS_PIE_PAIR_TAP a5, a4
    TIGRIS_PIE_PAIR_TAP a8, a9
    TIGRIS_PIE_PAIR_TAP a8, a9
    TIGRIS_PIE_PAIR_TAP a8, a4
    TIGRIS_PIE_OUTPUTS \multiply, \clamps
    ee.vst.l.64.ip  q5, a3, 8
    ee.vst.h.64.ip  q5, a3, 8
    addi    a2, a2, -1
    bnez    a2, 1b
    l32i    a0, a1, 0
    retw
    .size   \name, . - \name
    .endm

    TIGRIS_PIE_PAIRS tigris_pie_depthwise_3x3_pairs_above, TIGRIS_PIE_MULTIPLY_ABOVE, 0
    TIGRIS_PIE_PAIRS tigris_pie_depthwise_3x3_pairs, TIGRIS_PIE_MULTIPLY, 0
    TIGRIS_PIE_PAIRS tigris_pie_depthwise_3x3_pairs_clamped, TIGRIS_PIE_MULTIPLY, 1
    TIGRIS_PIE_PAIRS tigris_pie_depthwise_3x3_pairs_whole, TIGRIS_PIE_MULTIPLY_WHOLE, 0
    TIGRIS_PIE_PAIRS tigris_pie_depthwise_3x3_pairs_whole_clamped, TIGRIS_PIE_MULTIPLY_WHOLE, 1

/* Kernels of any size. */
    .macro TIGRIS_PIE_WINDOW name, multiply, clamps
    .type   \name, @function
    .align  4
    .global \name
\name:
    entry   a1, 64
    s32i    a4, a1, 16
    mov     a7, a6
    l32i    a11, a4, 12
    movi    a10, 16
    TIGRIS_PIE_CONSTANTS
1:
    l32i    a4, a1, 16
    mov     a9, a2
    l32i    a6, a4, 0
    l32i    a4, a4, 4
    ee.vld.128.ip   q4, a6, 16
2:
    mov     a8, a9
    addi    a9, a9, 16
    l32i    a15, a7, 0
    l32i    a12, a7, 4
    l32i    a13, a7, 8
    l32i    a14, a7, 12
    ee.zero.qacc
3:
    loopgtz a12, 4f
    ee.vld.128.xp   q0, a8, a13
    ee.vmulas.s8.qacc.ld.ip q4, a6, 16, q0, q4
4:
    add     a8, a8, a14
    addi    a15, a15, -1
    bnez    a15, 3b
    TIGRIS_PIE_OUTPUTS \multiply, \clamps
    ee.vst.128.ip   q5, a3, 16
    addi    a4, a4, -1
    bnez    a4, 2b
    l32i    a15, a7, 16
    add     a2, a2, a15
    addi    a5, a5, -1
    bnez    a5, 1b
    retw
    .size   \name, . - \name
    .endm

    TIGRIS_PIE_WINDOW tigris_pie_depthwise_above, TIGRIS_PIE_MULTIPLY_ABOVE, 0
    TIGRIS_PIE_WINDOW tigris_pie_depthwise, TIGRIS_PIE_MULTIPLY, 0
    TIGRIS_PIE_WINDOW tigris_pie_depthwise_clamped, TIGRIS_PIE_MULTIPLY, 1
    TIGRIS_PIE_WINDOW tigris_pie_depthwise_whole, TIGRIS_PIE_MULTIPLY_WHOLE, 0
    TIGRIS_PIE_WINDOW tigris_pie_depthwise_whole_clamped, TIGRIS_PIE_MULTIPLY_WHOLE, 1
#endif
