/* Sums of two tensors, sixteen elements at a time: see pie_int8.h. ESP32-S3. */
#ifdef TIGRIS_PIE

    .text

/* The byte at the top of each lane of `x` becomes the sum of those of `x` and `y`; q4 holds the words' halves, q5 2^14
 * in each lane. */
    .macro TIGRIS_PIE_SUM x, y
    ee.zero.qacc
    ee.vsmulas.s16.qacc \x, q4, 0
    ee.vsmulas.s16.qacc \y, q4, 2
    ee.vsmulas.s16.qacc q5, q4, 4
    ee.srcmb.s16.qacc   q6, a9, 0
    ee.vsmulas.s16.qacc \x, q4, 1
    ee.vsmulas.s16.qacc \y, q4, 3
    ee.vsmulas.s16.qacc q5, q4, 5
    ee.srcmb.s16.qacc   \x, a10, 0
    .endm

/* tigris_pie_add(a, b, output, words, vectors) */
    .type   tigris_pie_add, @function
    .align  4
    .global tigris_pie_add
tigris_pie_add:
    entry   a1, 32
    l32i    a8, a5, 0
    ee.movi.32.q    q4, a8, 0
    l32i    a8, a5, 4
    ee.movi.32.q    q4, a8, 1
    l32i    a8, a5, 8
    ee.movi.32.q    q4, a8, 2
    movi    a8, 0x4000
    s32i    a8, a1, 0
    ee.vldbc.16     q5, a1
    movi    a9, 16
    movi    a10, 11
    loopgtz a6, 1f
    ee.zero.q       q2
    ee.vld.128.ip   q0, a2, 16
    ee.zero.q       q3
    ee.vld.128.ip   q1, a3, 16
    ee.vzip.8       q2, q0
    ee.vzip.8       q3, q1
    TIGRIS_PIE_SUM  q2, q3
    TIGRIS_PIE_SUM  q0, q1
    ee.vunzip.8     q2, q0
    ee.vst.128.ip   q0, a4, 16
1:
    retw
    .size   tigris_pie_add, . - tigris_pie_add
#endif
