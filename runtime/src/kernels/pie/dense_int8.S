/* Sums of products over whole vectors, for 1x1 convolutions, fully connected layers, and convolutions over patches that
 * tigris_pie_copy has made: see pie_int8.h. ESP32-S3. */
#ifdef TIGRIS_PIE

#include "scale_int8.S.h"

    .text
    .literal_position

/* The layer to registers, but for the bytes between outputs, which functions keep in a4; a5 counts pixels. */
    .macro TIGRIS_PIE_ENTER
    entry   a1, 32
    l32i    a15, a4, 8
    wsr.sar a15
    l32i    a8, a4, 0
    l32i    a9, a4, 4
    l32i    a11, a4, 12
    addi    a12, a4, 20
    addi    a13, a4, 21
    movi    a10, 16
    movi    a7, 0
    movi    a15, 12
    wur.sar_byte a15
    .endm

/* One sum of 16 products to a lane. */
    .macro TIGRIS_PIE_DOT_16 sums, lane
    ee.vmulas.s8.accx.ld.ip q4, a6, 16, q0, q4
    ee.srs.accx     a15, a7, 0
    ee.movi.32.q    \sums, a15, \lane
    .endm

/* One sum of 32 products to a lane. */
    .macro TIGRIS_PIE_DOT_32 sums, lane
    ee.vmulas.s8.accx.ld.ip q4, a6, 16, q0, q4
    ee.vmulas.s8.accx.ld.ip q4, a6, 16, q1, q4
    ee.srs.accx     a15, a7, 0
    ee.movi.32.q    \sums, a15, \lane
    .endm

/* One sum of 64 products to a lane. */
    .macro TIGRIS_PIE_DOT_64 sums, lane
    ee.vmulas.s8.accx.ld.ip q4, a6, 16, q0, q4
    ee.vmulas.s8.accx.ld.ip q4, a6, 16, q1, q4
    ee.vmulas.s8.accx.ld.ip q4, a6, 16, q2, q4
    ee.vmulas.s8.accx.ld.ip q4, a6, 16, q3, q4
    ee.srs.accx     a15, a7, 0
    ee.movi.32.q    \sums, a15, \lane
    .endm

    .macro TIGRIS_PIE_EIGHT dot
    \dot q5, 0
    \dot q5, 1
    \dot q5, 2
    \dot q5, 3
    \dot q6, 0
    \dot q6, 1
    \dot q6, 2
    \dot q6, 3
    .endm

/* Functions of 16 and 32 input channels: the stream is read once a pixel. `more`: vectors of a pixel but the first. */
    .macro TIGRIS_PIE_FUNCTION_SHORT name, dot, more, multiply, clamps
    .type   \name, @function
    .align  4
    .global \name
\name:
    TIGRIS_PIE_ENTER
    l32i    a4, a4, 24
    TIGRIS_PIE_HALF q2
1:
    mov     a6, a8
    ee.vld.128.ip   q0, a2, 16
    .rept \more
    ee.vld.128.ip   q1, a2, 16
    .endr
    ee.zero.accx
    ee.zero.q       q7
    ee.vld.128.ip   q4, a6, 16
    loopgtz a9, 2f
    TIGRIS_PIE_EIGHT \dot
    TIGRIS_PIE_DIFFERENCES
    TIGRIS_PIE_OFFSETS
    \multiply       q5, q6
    ee.vunzip.8     q5, q3
    .rept \clamps
    TIGRIS_PIE_CLAMP q3, q5
    .endr
    ee.vst.l.64.ip  q3, a3, 8
2:
    add     a3, a3, a4
    addi    a5, a5, -1
    bnez    a5, 1b
    retw
    .size   \name, . - \name
    .endm

    TIGRIS_PIE_FUNCTION_SHORT tigris_pie_dense_16_above, TIGRIS_PIE_DOT_16, 0, TIGRIS_PIE_MULTIPLY_ABOVE, 0
    TIGRIS_PIE_FUNCTION_SHORT tigris_pie_dense_16, TIGRIS_PIE_DOT_16, 0, TIGRIS_PIE_MULTIPLY, 0
    TIGRIS_PIE_FUNCTION_SHORT tigris_pie_dense_16_clamped, TIGRIS_PIE_DOT_16, 0, TIGRIS_PIE_MULTIPLY, 1
    TIGRIS_PIE_FUNCTION_SHORT tigris_pie_dense_16_whole, TIGRIS_PIE_DOT_16, 0, TIGRIS_PIE_MULTIPLY_WHOLE, 0
    TIGRIS_PIE_FUNCTION_SHORT tigris_pie_dense_16_whole_clamped, TIGRIS_PIE_DOT_16, 0, TIGRIS_PIE_MULTIPLY_WHOLE, 1
    TIGRIS_PIE_FUNCTION_SHORT tigris_pie_dense_32_above, TIGRIS_PIE_DOT_32, 1, TIGRIS_PIE_MULTIPLY_ABOVE, 0
    TIGRIS_PIE_FUNCTION_SHORT tigris_pie_dense_32, TIGRIS_PIE_DOT_32, 1, TIGRIS_PIE_MULTIPLY, 0
    TIGRIS_PIE_FUNCTION_SHORT tigris_pie_dense_32_clamped, TIGRIS_PIE_DOT_32, 1, TIGRIS_PIE_MULTIPLY, 1
    TIGRIS_PIE_FUNCTION_SHORT tigris_pie_dense_32_whole, TIGRIS_PIE_DOT_32, 1, TIGRIS_PIE_MULTIPLY_WHOLE, 0
    TIGRIS_PIE_FUNCTION_SHORT tigris_pie_dense_32_whole_clamped, TIGRIS_PIE_DOT_32, 1, TIGRIS_PIE_MULTIPLY_WHOLE, 1

/* Of 64: the fourth vector of the input is loaded again for every eight outputs. `counted`: whose loops would be longer
 * than those of the hardware can be. */
    .macro TIGRIS_PIE_FUNCTION_64 name, multiply, clamps, counted=0
    .type   \name, @function
    .align  4
    .global \name
\name:
    TIGRIS_PIE_ENTER
    l32i    a4, a4, 24
    .rept \counted
    s32i    a4, a1, 12
    .endr
    TIGRIS_PIE_HALF q3
1:
    mov     a6, a8
    ee.vld.128.ip   q0, a2, 16
    ee.vld.128.ip   q1, a2, 16
    ee.vld.128.ip   q2, a2, 16
    ee.zero.accx
    ee.zero.q       q7
    ee.vld.128.ip   q4, a6, 16
    .rept \counted
    mov     a4, a9
    .endr
    .rept 1 - \counted
    loopgtz a9, 2f
    .endr
3:
    ee.vld.128.ip   q3, a2, 0
    TIGRIS_PIE_EIGHT TIGRIS_PIE_DOT_64
    TIGRIS_PIE_DIFFERENCES
    TIGRIS_PIE_OFFSETS
    \multiply       q5, q6
    ee.vunzip.8     q5, q3
    .rept \clamps
    TIGRIS_PIE_CLAMP q3, q5
    .endr
    ee.vst.l.64.ip  q3, a3, 8
    .rept \counted
    addi    a4, a4, -1
    bnez    a4, 3b
    l32i    a4, a1, 12
    .endr
2:
    add     a3, a3, a4
    addi    a2, a2, 16
    addi    a5, a5, -1
    bnez    a5, 1b
    retw
    .size   \name, . - \name
    .endm

    TIGRIS_PIE_FUNCTION_64 tigris_pie_dense_64_above, TIGRIS_PIE_MULTIPLY_ABOVE, 0
    TIGRIS_PIE_FUNCTION_64 tigris_pie_dense_64, TIGRIS_PIE_MULTIPLY, 0
    TIGRIS_PIE_FUNCTION_64 tigris_pie_dense_64_clamped, TIGRIS_PIE_MULTIPLY, 1
    TIGRIS_PIE_FUNCTION_64 tigris_pie_dense_64_whole, TIGRIS_PIE_MULTIPLY_WHOLE_64, 0, 1
    TIGRIS_PIE_FUNCTION_64 tigris_pie_dense_64_whole_clamped, TIGRIS_PIE_MULTIPLY_WHOLE_64, 1, 1

/* One sum of any number of vectors to a lane; a5 counts them. */
    .macro TIGRIS_PIE_DOT sums, lane
    mov     a14, a2
    ee.zero.accx
    loopgtz a5, 9f
    ee.vld.128.ip   q0, a14, 16
    ee.vmulas.s8.accx.ld.ip q4, a6, 16, q0, q4
9:
    ee.srs.accx     a15, a7, 0
    ee.movi.32.q    \sums, a15, \lane
    .endm

/* Functions of any number of vectors, which the layer holds; a0 is saved on the stack, and counts eights of outputs. */
    .macro TIGRIS_PIE_FUNCTION name, clamps
    .type   \name, @function
    .align  4
    .global \name
\name:
    TIGRIS_PIE_ENTER
    s32i    a0, a1, 0
    s32i    a5, a1, 4
    l32i    a5, a4, 16
    l32i    a4, a4, 24
    TIGRIS_PIE_HALF q7
1:
    mov     a6, a8
    mov     a0, a9
    ee.vld.128.ip   q4, a6, 16
2:
    TIGRIS_PIE_EIGHT TIGRIS_PIE_DOT
    TIGRIS_PIE_OFFSETS 2
    TIGRIS_PIE_MULTIPLY_WHOLE q5, q6, q7
    ee.vunzip.8     q5, q3
    .rept \clamps
    TIGRIS_PIE_CLAMP q3, q5
    .endr
    ee.vst.l.64.ip  q3, a3, 8
    addi    a0, a0, -1
    bnez    a0, 2b
    mov     a2, a14
    add     a3, a3, a4
    l32i    a15, a1, 4
    addi    a15, a15, -1
    s32i    a15, a1, 4
    bnez    a15, 1b
    l32i    a0, a1, 0
    retw
    .size   \name, . - \name
    .endm

    TIGRIS_PIE_FUNCTION tigris_pie_dense, 0
    TIGRIS_PIE_FUNCTION tigris_pie_dense_clamped, 1
#endif
