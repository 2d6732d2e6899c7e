/* Maxima and averages of windows: see pie_int8.h. ESP32-S3. */
#ifdef TIGRIS_PIE

    .text

/* tigris_pie_…_pool(input, output, window, channels, pool, pixels): q5, q6 = the limits, a13 = 0 if channels and pointers
 * are whole vectors. */
    .macro TIGRIS_PIE_ENTER_POOL name
    .type   \name, @function
    .align  4
    .global \name
\name:
    entry   a1, 32
    s32i    a5, a1, 0
    l32i    a8, a4, 4
    l32i    a9, a4, 8
    l32i    a10, a4, 12
    l32i    a11, a6, 0
    addi    a14, a6, 4
    ee.vldbc.8.ip   q5, a14, 1
    ee.vldbc.8.ip   q6, a14, 1
    or      a13, a2, a3
    or      a13, a13, a5
    extui   a13, a13, 0, 4
    .endm

/* Loads the taps of `size` channels to q0; `work` for each. */
    .macro TIGRIS_PIE_TAPS load, work, halves
    mov     a12, a2
    l32i    a13, a4, 0
1:
    loopgtz a8, 2f
    \load   q0, a12, a9
    \work   \halves
2:
    add     a12, a12, a10
    addi    a13, a13, -1
    bnez    a13, 1b
    .endm

/* Stores `size` channels of q2 between the limits, and goes on to the next ones, or to the next pixel. */
    .macro TIGRIS_PIE_STORE_CHANNELS next, store, size
    ee.vmax.s8  q2, q2, q5
    ee.vmin.s8  q2, q2, q6
    \store  q2, a3, \size
    addi    a2, a2, \size
    addi    a5, a5, -\size
    bnez    a5, \next
    l32i    a5, a1, 0
    l32i    a13, a4, 16
    sub     a13, a13, a5
    add     a2, a2, a13
    addi    a7, a7, -1
    bnez    a7, \next
    retw
    .endm

    .macro TIGRIS_PIE_MAX halves
    ee.vmax.s8  q2, q2, q0
    .endm

    .macro TIGRIS_PIE_MAX_STEP load, store, size
3:
    mv.qr   q2, q5
    TIGRIS_PIE_TAPS \load, TIGRIS_PIE_MAX, 0
    TIGRIS_PIE_STORE_CHANNELS 3b, \store, \size
    .endm

    TIGRIS_PIE_ENTER_POOL tigris_pie_max_pool
    bnez    a13, 4f
    TIGRIS_PIE_MAX_STEP ee.vld.128.xp, ee.vst.128.ip, 16
4:
    TIGRIS_PIE_MAX_STEP ee.vld.l.64.xp, ee.vst.l.64.ip, 8
    .size   tigris_pie_max_pool, . - tigris_pie_max_pool

/* Adds bytes to sums of 16 bits; q7 = 0. */
    .macro TIGRIS_PIE_ADD_TAP halves
    ee.vcmp.lt.s8   q1, q0, q7
    ee.vzip.8       q0, q1
    ee.vadds.s16    q2, q2, q0
    .rept \halves
    ee.vadds.s16    q3, q3, q1
    .endr
    .endm

/* sums = (sums * multiplier + offset * unit) >> a11. */
    .macro TIGRIS_PIE_DIVIDE sums
    ee.zero.qacc
    ee.vmulas.s16.qacc  \sums, q4
    ee.vmulas.s16.qacc  q0, q1
    ee.srcmb.s16.qacc   \sums, a11, 0
    .endm

/* `halves`: 1 if `size` is a vector, else 0. */
    .macro TIGRIS_PIE_AVERAGE_STEP load, store, size, halves
3:
    ee.vldbc.16 q2, a6
    ee.vldbc.16 q3, a6
    TIGRIS_PIE_TAPS \load, TIGRIS_PIE_ADD_TAP, \halves
    ee.vldbc.16 q0, a14
    ee.vldbc.16 q1, a15
    TIGRIS_PIE_DIVIDE q2
    .rept \halves
    TIGRIS_PIE_DIVIDE q3
    .endr
    ee.vunzip.8 q2, q3
    TIGRIS_PIE_STORE_CHANNELS 3b, \store, \size
    .endm

    TIGRIS_PIE_ENTER_POOL tigris_pie_average_pool
    addi    a6, a6, 6
    addi    a14, a6, 2
    ee.vldbc.16.ip  q4, a14, 2
    ee.zero.q       q7
    addi    a15, a14, 2
    bnez    a13, 4f
    TIGRIS_PIE_AVERAGE_STEP ee.vld.128.xp, ee.vst.128.ip, 16, 1
4:
    TIGRIS_PIE_AVERAGE_STEP ee.vld.l.64.xp, ee.vst.l.64.ip, 8, 0
    .size   tigris_pie_average_pool, . - tigris_pie_average_pool
#endif
