/* Sums of products of int16 and weights of int8: see pie_int8.h. ESP32-S3.
 * A weight is the upper byte of its lane, so accumulators of 40 bits hold 256 times the sums. */
#ifdef TIGRIS_PIE

    .text

/* Sixteen weights from a11 to a12 to q1 and q0, and eight inputs to q2. SAR_BYTE = a11 modulo 16. */
    .macro TIGRIS_PIE_WEIGHTS
    ee.vld.128.ip   q0, a11, 16
    ee.vld.128.ip   q1, a12, 16
    ee.src.q.ld.ip  q2, a10, 16, q0, q1
    ee.zero.q       q1
    ee.vzip.8       q1, q0
    .endm

/* tigris_pie_sum_rows(sums, input, weights, step, rows, count) */
    .type   tigris_pie_sum_rows, @function
    .align  4
    .global tigris_pie_sum_rows
tigris_pie_sum_rows:
    entry   a1, 32
    srli    a8, a7, 4
    extui   a9, a7, 0, 4
    addi    a14, a9, -8
    movi    a15, 8
1:
    wur.sar_byte a4
    mov     a10, a3
    mov     a11, a4
    addi    a12, a4, 15
    ee.zero.accx
    loopgtz a8, 2f
    TIGRIS_PIE_WEIGHTS
    ee.vmulas.s16.accx.ld.ip q3, a10, 16, q2, q1
    ee.vmulas.s16.accx q3, q0
2:
    beqz    a9, 3f
    add     a12, a11, a9
    addi    a12, a12, -1
    TIGRIS_PIE_WEIGHTS
    ee.vmulas.s16.accx q2, q1
    blti    a14, 1, 3f
    ee.vld.128.ip   q2, a10, 16
    ee.vmulas.s16.accx q2, q0
3:
    ee.srs.accx     a13, a15, 0
    s32i    a13, a2, 0
    addi    a2, a2, 4
    add     a4, a4, a5
    addi    a6, a6, -1
    bnez    a6, 1b
    retw
    .size   tigris_pie_sum_rows, . - tigris_pie_sum_rows

/* Four lanes of 40 bits, without the lowest eight, to the words at a2. */
    .macro TIGRIS_PIE_STORE_LANES half
    rur.qacc_\half\()_0 a8
    rur.qacc_\half\()_1 a9
    rur.qacc_\half\()_2 a10
    rur.qacc_\half\()_3 a11
    rur.qacc_\half\()_4 a12
    ssai    8
    src     a8, a9, a8
    ssai    16
    src     a9, a10, a9
    ssai    24
    src     a10, a11, a10
    s32i    a8, a2, 0
    s32i    a9, a2, 4
    s32i    a10, a2, 8
    s32i    a12, a2, 12
    addi    a2, a2, 16
    .endm

/* tigris_pie_sum_eight(sums, input, weights, input window, step of weights, weights between rows) */
    .type   tigris_pie_sum_eight, @function
    .align  4
    .global tigris_pie_sum_eight
tigris_pie_sum_eight:
    entry   a1, 32
    l32i    a8, a5, 0
    l32i    a9, a5, 4
    l32i    a10, a5, 8
    l32i    a11, a5, 12
    ee.zero.qacc
1:
    loopgtz a9, 2f
    ee.vld.128.xp   q0, a3, a10
    ee.vld.l.64.xp  q2, a4, a6
    ee.zero.q       q1
    ee.vzip.8       q1, q2
    ee.vmulas.s16.qacc q0, q1
2:
    add     a3, a3, a11
    add     a4, a4, a7
    addi    a8, a8, -1
    bnez    a8, 1b
    TIGRIS_PIE_STORE_LANES l
    TIGRIS_PIE_STORE_LANES h
    retw
    .size   tigris_pie_sum_eight, . - tigris_pie_sum_eight
#endif
