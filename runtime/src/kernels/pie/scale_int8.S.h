/* Requantisation of eight channels in vectors: tigris_pio/compiler/backends/pie_scales.py says what is computed, and
 * proves for each layer that it is what requantise.h computes. Macros for the kernels of this folder.
 *
 * Registers: a6 points to the layer's stream of weights and words, and every load advances it by 16 bytes. a10 = 16.
 * a11 = the shift to the right. a12 and a13 point to the activation's limits, a byte each. SAR = the sums' shift to the
 * left. q4 is the next 16 bytes of the stream at any time. */

/* q5, q6: eight sums of 32 bits become their low and high halves, shifted, doubled so often, and with offsets added. */
    .macro TIGRIS_PIE_OFFSETS doublings=0
    ee.vsl.32               q5, q5
    ee.vsl.32               q6, q6
    .rept \doublings
    ee.vadds.s32            q5, q5, q5
    ee.vadds.s32            q6, q6, q6
    .endr
    ee.vadds.s32.ld.incp    q3, a6, q5, q5, q4
    ee.vadds.s32.ld.incp    q4, a6, q6, q6, q3
    ee.vunzip.16            q5, q6
    .endm

/* The sums of a layer whose sums are short, one after another in ACCX: q7 holds the four before. SAR_BYTE = 12. */
    .macro TIGRIS_PIE_DIFFERENCES
    ee.src.q.qup            q3, q7, q5
    ee.vsubs.s32            q5, q5, q3
    ee.src.q.qup            q3, q7, q6
    ee.vsubs.s32            q6, q6, q3
    .endm

/* Multiplies; q4 is the multipliers' high words, and behind them in the stream lie the fractions of the offsets. No output
 * is below the zero point. */
    .macro TIGRIS_PIE_MULTIPLY_ABOVE low, high
    ee.ldqa.u16.128.ip      a6, 16
    ee.vmulas.u16.qacc.ld.ip q3, a6, 16, \low, q4
    ee.vmulas.s16.qacc      \high, q3
    ee.srcmb.s16.qacc       q3, a10, 0
    ee.vmulas.s16.qacc.ld.ip q4, a6, 16, \high, q4
    ee.srcmb.s16.qacc       \low, a11, 0
    .endm

/* As well, with a step where outputs fall below it. */
    .macro TIGRIS_PIE_MULTIPLY low, high
    ee.ldqa.u16.128.ip      a6, 16
    ee.vmulas.u16.qacc.ld.ip q3, a6, 16, \low, q4
    ee.vmulas.s16.qacc.ld.ip \low, a6, 16, \high, q3
    ee.srcmb.s16.qacc       q3, a10, 0
    ee.vcmp.lt.s16          q3, \high, \low
    ee.vmulas.s16.qacc.ld.ip \low, a6, 16, \high, q4
    ee.vmulas.s16.qacc.ld.ip q4, a6, 16, q3, \low
    ee.srcmb.s16.qacc       \low, a11, 0
    .endm

/* As well, with all digits of the multipliers; q4 is twice the fractions, `half` 2^15 in each lane. */
    .macro TIGRIS_PIE_MULTIPLY_WHOLE low, high, half=q2
    ee.zero.qacc
    ee.vmulas.u16.qacc.ld.ip q4, a6, 16, \half, q4
    ee.vmulas.u16.qacc.ld.ip q3, a6, 16, \low, q4
    ee.srcmb.s16.qacc       q4, a10, 0
    ee.vmulas.u16.qacc.ld.ip q4, a6, 16, \low, q3
    ee.vmulas.s16.qacc.ld.ip \low, a6, 16, \high, q4
    ee.srcmb.s16.qacc       q3, a10, 0
    ee.vld.128.ip           q4, a6, 16
    ee.vcmp.lt.s16          q3, \high, \low
    ee.vmulas.s16.qacc.ld.ip \low, a6, 16, \high, q4
    ee.vmulas.s16.qacc.ld.ip q4, a6, 16, q3, \low
    ee.srcmb.s16.qacc       \low, a11, 0
    .endm

/* As well, where no register is free for that: a14 points to it. */
    .macro TIGRIS_PIE_MULTIPLY_WHOLE_64 low, high
    ee.vldbc.16             q3, a14
    TIGRIS_PIE_MULTIPLY_WHOLE \low, \high, q3
    .endm

/* 2^15 in each lane. */
    .macro TIGRIS_PIE_HALF register
    movi            a14, 0x8000
    s32i            a14, a1, 8
    addi            a14, a1, 8
    ee.vldbc.16     \register, a14
    .endm

/* Holds the bytes of `bytes` between the limits. */
    .macro TIGRIS_PIE_CLAMP bytes, free
    ee.vldbc.8              \free, a12
    ee.vmax.s8              \bytes, \bytes, \free
    ee.vldbc.8              \free, a13
    ee.vmin.s8              \bytes, \bytes, \free
    .endm
