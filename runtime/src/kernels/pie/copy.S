/* Copies of windows to patches: see pie_int8.h. ESP32-S3. */
#ifdef TIGRIS_PIE

    .text

/* The end of a row. */
    .macro TIGRIS_PIE_NEXT_ROW rows
    add     a2, a2, a6
    add     a3, a3, a7
    addi    a5, a5, -1
    bnez    a5, \rows
    retw
    .endm

/* Copies rows by the registers' loads and stores of `size` bytes. */
    .macro TIGRIS_PIE_COPY load, store, size
1:
    loopgtz a4, 2f
    \load   a8, a3, 0
    addi    a3, a3, \size
    \store  a8, a2, 0
    addi    a2, a2, \size
2:
    TIGRIS_PIE_NEXT_ROW 1b
    .endm

/* tigris_pie_copy(to, from, bytes, rows, to_step, from_step) */
    .type   tigris_pie_copy, @function
    .align  4
    .global tigris_pie_copy
tigris_pie_copy:
    entry   a1, 32
    or      a8, a2, a3
    or      a8, a8, a4
    or      a8, a8, a6
    or      a8, a8, a7
    sub     a6, a6, a4
    sub     a7, a7, a4
    extui   a9, a8, 0, 2
    bnez    a9, 5f
    extui   a9, a8, 0, 3
    bnez    a9, 4f
    extui   a9, a8, 0, 4
    bnez    a9, 3f
    srli    a4, a4, 4
1:
    loopgtz a4, 2f
    ee.vld.128.ip   q0, a3, 16
    ee.vst.128.ip   q0, a2, 16
2:
    TIGRIS_PIE_NEXT_ROW 1b
3:
    srli    a4, a4, 3
1:
    loopgtz a4, 2f
    ee.vld.l.64.ip  q0, a3, 8
    ee.vst.l.64.ip  q0, a2, 8
2:
    TIGRIS_PIE_NEXT_ROW 1b
4:
    srli    a4, a4, 2
    TIGRIS_PIE_COPY l32i, s32i, 4
5:
    TIGRIS_PIE_COPY l8ui, s8i, 1
    .size   tigris_pie_copy, . - tigris_pie_copy
#endif
