/* Sums of pixels, sixteen channels at a time: see pie_int8.h. ESP32-S3. */
#ifdef TIGRIS_PIE

#include "unpack_int8.S.h"

    .text

/* Stores four sums, added to those before. */
    .macro TIGRIS_PIE_STORE_SUMS sums
    ee.vld.128.ip   q4, a3, 16
    ee.vadds.s32    \sums, \sums, q4
    ee.vst.128.ip   \sums, a2, 16
    .endm

/* tigris_pie_sum_pixels(sums, before, from, pixels, channels) */
    .type   tigris_pie_sum_pixels, @function
    .align  4
    .global tigris_pie_sum_pixels
tigris_pie_sum_pixels:
    entry   a1, 32
    movi    a8, 1
    s8i     a8, a1, 0
    ee.vldbc.8      q5, a1
    srli    a7, a6, 4
    addi    a5, a5, -1
1:
    mov     a8, a4
    addi    a4, a4, 16
    ee.zero.qacc
    ee.vld.128.xp   q0, a8, a6
    loopgtz a5, 2f
    ee.vmulas.s8.qacc.ld.xp q0, a8, a6, q0, q5
2:
    ee.vmulas.s8.qacc q0, q5
    TIGRIS_PIE_UNPACK l, q0, q1
    TIGRIS_PIE_UNPACK h, q2, q3
    ssai    12
    ee.vsl.32       q0, q0
    ee.vsl.32       q2, q2
    ee.vsr.32       q0, q0
    ee.vsr.32       q1, q1
    ee.vsr.32       q2, q2
    ee.vsr.32       q3, q3
    ee.vzip.32      q0, q1
    ee.vzip.32      q2, q3
    TIGRIS_PIE_STORE_SUMS q0
    TIGRIS_PIE_STORE_SUMS q1
    TIGRIS_PIE_STORE_SUMS q2
    TIGRIS_PIE_STORE_SUMS q3
    addi    a7, a7, -1
    bnez    a7, 1b
    retw
    .size   tigris_pie_sum_pixels, . - tigris_pie_sum_pixels
#endif
