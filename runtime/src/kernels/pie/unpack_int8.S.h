/* Sums of sixteen channels from the accumulators. Two accumulators of 20 bits lie in 40 bits. Words that begin at
 * multiples of 8 bits hold an even channel's sum in their low 20 bits. They hold an odd one's in their high 20. */

/* Eight lanes of 20 bits to the four words of `even` and of `odd`. */
    .macro TIGRIS_PIE_UNPACK half, even, odd
    rur.qacc_\half\()_0 a12
    ee.movi.32.q    \even, a12, 0
    rur.qacc_\half\()_1 a13
    ssai    8
    src     a15, a13, a12
    ee.movi.32.q    \odd, a15, 0
    rur.qacc_\half\()_2 a14
    src     a15, a14, a13
    ee.movi.32.q    \even, a15, 1
    ssai    16
    src     a15, a14, a13
    ee.movi.32.q    \odd, a15, 1
    rur.qacc_\half\()_3 a12
    src     a15, a12, a14
    ee.movi.32.q    \even, a15, 2
    ssai    24
    src     a15, a12, a14
    ee.movi.32.q    \odd, a15, 2
    rur.qacc_\half\()_4 a13
    src     a15, a13, a12
    ee.movi.32.q    \even, a15, 3
    ee.movi.32.q    \odd, a13, 3
    .endm
