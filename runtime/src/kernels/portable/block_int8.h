/* The part of block_int8.h for 32-bit machines without vector instructions.
 *
 * A patch's word holds the tap of both pixels, a + b * 2^16, so one multiplication by a weight gives both products. The
 * sum of two such products, lane by lane, fits 16 bits once TIGRIS_LANE_BIAS is added: products of int8 lie in
 * -16256 … 16384. Each biased sum t of two taps is added to two totals: t to one, t >> 16 to the other. The lanes' own
 * totals A and B follow from them. With n sums added,
 *
 *   total of b's lane:  high = B + n * bias
 *   total of t:         both = A + n * bias + 2^16 * high
 *
 * modulo 2^32. Both totals start such that n * bias cancels: n is known beforehand (tigris_block_bias). That is 7
 * instructions for four products instead of 8, and half the loads. */
#ifndef TIGRIS_PORTABLE_BLOCK_INT8_H
#define TIGRIS_PORTABLE_BLOCK_INT8_H

#define TIGRIS_LANE_BIAS 0x7F00U

TIGRIS_INLINE uint32_t tigris_lanes(int8_t a, int8_t b)
{
    return (uint32_t)(int32_t)a + ((uint32_t)(int32_t)b << 16);
}

/* Taps [at, at + count) of a patch: bytes of the pixels from a and b on. A step is 1, or 0 when all are that byte. */
static TIGRIS_NOINLINE void tigris_fill_patch(uint32_t *patch, int32_t at, const int8_t *a, int32_t step_a,
                                              const int8_t *b, int32_t step_b, int32_t count)
{
    uint32_t *to = patch + at;
    if ((step_a & step_b) != 0) {
        for (; count >= 4; count -= 4) {
            to[0] = tigris_lanes(a[0], b[0]);
            to[1] = tigris_lanes(a[1], b[1]);
            to[2] = tigris_lanes(a[2], b[2]);
            to[3] = tigris_lanes(a[3], b[3]);
            a += 4;
            b += 4;
            to += 4;
        }
    }
    for (; count > 0; count--) {
        *to++ = tigris_lanes(*a, *b);
        a += step_a;
        b += step_b;
    }
}

/* The lane biases that the sums of a kernel with `taps` taps collect; tigris_init_pair subtracts them. */
static inline uint32_t tigris_block_bias(int32_t taps)
{
    const int32_t tail = taps % TIGRIS_TILE_TAPS;
    return (uint32_t)((taps - tail) / 2 + tail) * TIGRIS_LANE_BIAS;
}

/* Initialises the two totals of a channel, `both` and `high`, with its bias. */
TIGRIS_INLINE void tigris_init_pair(uint32_t *both, uint32_t *high, int32_t bias, uint32_t block_bias)
{
    *high = (uint32_t)bias - block_bias;
    *both = *high + (*high << 16);
}

/* Unpacks the totals of a channel into the sums of the first and the second pixel. */
TIGRIS_INLINE void tigris_unpack_pair(const uint32_t sum[2], uint32_t *a, uint32_t *b)
{
    *b = sum[1]; /* NOLINT(clang-analyzer-core.uninitialized.Assign): initialised, since every kernel has a tap */
    *a = sum[0] - (sum[1] << 16);
}

/* Subtracts `a` from the sum of the first pixel and `b` from that of the second. */
TIGRIS_INLINE void tigris_subtract_pair(uint32_t sum[2], uint32_t a, uint32_t b)
{
    sum[1] -= b; /* NOLINT(clang-analyzer-core.uninitialized.Assign): initialised by the first part of the taps */
    sum[0] -= a + (b << 16);
}

TIGRIS_INLINE uint32_t tigris_weight(int8_t weight)
{
    return (uint32_t)(int32_t)weight;
}

/* Two totals of a channel. */
typedef struct tigris_totals {
    uint32_t both;
    uint32_t high;
} tigris_totals;

#define TIGRIS_BOTH_BIAS (TIGRIS_LANE_BIAS * 0x10001U)

/* Adds the products of taps p and q. */
TIGRIS_INLINE void tigris_add_two(tigris_totals *s, uint32_t p, int8_t first, uint32_t q, int8_t second)
{
    const uint32_t t = p * tigris_weight(first) + TIGRIS_BOTH_BIAS + q * tigris_weight(second);
    s->both += t; /* NOLINT(clang-analyzer-core.uninitialized.Assign): initialised by the first part of the taps */
    s->high += t >> 16;
    TIGRIS_STEP(); /* 44 % of ResNet-8 */
}

TIGRIS_INLINE void tigris_add_one(tigris_totals *s, uint32_t p, int8_t weight)
{
    const uint32_t t = p * tigris_weight(weight) + TIGRIS_BOTH_BIAS;
    s->both += t; /* NOLINT(clang-analyzer-core.uninitialized.Assign): initialised by the first part of the taps */
    s->high += t >> 16;
}

/* Adds the products of a patch's `taps` taps and a block's weights. For each channel, sum holds
 * the total of both lanes and that of the high one. */
TIGRIS_INLINE void tigris_add_block(const uint32_t *patch, const int8_t *w, int32_t taps,
                                    uint32_t sum[2 * TIGRIS_CHANNEL_BLOCK])
{
    tigris_totals s0 = {sum[0], sum[1]}, s1 = {sum[2], sum[3]}, s2 = {sum[4], sum[5]}, s3 = {sum[6], sum[7]};
    const uint32_t *const last = patch + taps;
    const uint32_t *const end = patch + (taps & ~(TIGRIS_TILE_TAPS - 1));
    while (patch != end) {
        /* NOLINTNEXTLINE(clang-analyzer-core.uninitialized.Assign): patches are filled as far as there are taps */
        uint32_t p = patch[0], q = patch[1];
        tigris_add_two(&s0, p, w[0], q, w[2]);
        tigris_add_two(&s1, p, w[4], q, w[6]);
        tigris_add_two(&s2, p, w[8], q, w[10]);
        tigris_add_two(&s3, p, w[12], q, w[14]);
        p = patch[2], q = patch[3];
        tigris_add_two(&s0, p, w[1], q, w[3]);
        tigris_add_two(&s1, p, w[5], q, w[7]);
        tigris_add_two(&s2, p, w[9], q, w[11]);
        tigris_add_two(&s3, p, w[13], q, w[15]);
        patch += 4;
        w += 16;
    }
    while (patch != last) {
        const uint32_t p = *patch++;
        tigris_add_one(&s0, p, w[0]);
        tigris_add_one(&s1, p, w[1]);
        tigris_add_one(&s2, p, w[2]);
        tigris_add_one(&s3, p, w[3]);
        w += TIGRIS_CHANNEL_BLOCK;
    }
    sum[0] = s0.both, sum[1] = s0.high, sum[2] = s1.both, sum[3] = s1.high;
    sum[4] = s2.both, sum[5] = s2.high, sum[6] = s3.both, sum[7] = s3.high;
}

/* Adds the products of a patch's `taps` taps and the weights of one channel, which are in tiles too. */
static inline void tigris_add_channel(const uint32_t *patch, const int8_t *w, int32_t taps, uint32_t sum[2])
{
    tigris_totals s = {sum[0], sum[1]};
    for (; taps >= TIGRIS_TILE_TAPS; taps -= TIGRIS_TILE_TAPS) {
        /* NOLINTNEXTLINE(clang-analyzer-core.CallAndMessage): patches are filled as far as there are taps */
        tigris_add_two(&s, patch[0], w[0], patch[1], w[2]);
        tigris_add_two(&s, patch[2], w[1], patch[3], w[3]);
        patch += TIGRIS_TILE_TAPS;
        w += TIGRIS_TILE_TAPS;
    }
    for (; taps > 0; taps--) {
        tigris_add_one(&s, *patch++, *w++);
    }
    /* NOLINTNEXTLINE(clang-analyzer-core.uninitialized.Assign): initialised by the first part of the taps */
    sum[0] = s.both, sum[1] = s.high;
}

#if (defined(__riscv) && !defined(__riscv_32e)) || defined(TIGRIS_MANY_REGISTERS)
/* ---- four pixels: where there are registers for the totals of a block ---- */

#define TIGRIS_PIXELS4

/* Adds the products of taps p and q of two pixels and those of r and v of two others. */
TIGRIS_INLINE void tigris_add_two_pixels4(tigris_totals s[2], uint32_t p, uint32_t r, int8_t first, uint32_t q,
                                          uint32_t v, int8_t second)
{
    tigris_add_two(&s[0], p, first, q, second);
    TIGRIS_HOLD(s[0].both); /* with the three below 6.4 % of ResNet-8 */
    TIGRIS_HOLD(s[0].high);
    tigris_add_two(&s[1], r, first, v, second);
    TIGRIS_HOLD(s[1].both);
    TIGRIS_HOLD(s[1].high);
}

/* Adds the products of a tile in two patches, `stride` words from each other, and a block's weights. For each
 * channel, s holds the totals of two pixels and those of the others. `stride` is a constant, so that both patches
 * take one register. */
TIGRIS_INLINE void tigris_add_tile_4x4(tigris_totals s[2 * TIGRIS_CHANNEL_BLOCK], const uint32_t *patch,
                                       int32_t stride, const int8_t *w)
{
    uint32_t p = patch[0], q = patch[1], r = patch[stride], v = patch[stride + 1];
    tigris_add_two_pixels4(s, p, r, w[0], q, v, w[2]);
    tigris_add_two_pixels4(s + 2, p, r, w[4], q, v, w[6]);
    tigris_add_two_pixels4(s + 4, p, r, w[8], q, v, w[10]);
    tigris_add_two_pixels4(s + 6, p, r, w[12], q, v, w[14]);
    p = patch[2], q = patch[3], r = patch[stride + 2], v = patch[stride + 3];
    tigris_add_two_pixels4(s, p, r, w[1], q, v, w[3]);
    tigris_add_two_pixels4(s + 2, p, r, w[5], q, v, w[7]);
    tigris_add_two_pixels4(s + 4, p, r, w[9], q, v, w[11]);
    tigris_add_two_pixels4(s + 6, p, r, w[13], q, v, w[15]);
}

TIGRIS_INLINE void tigris_load_pixels4(tigris_totals s[2 * TIGRIS_CHANNEL_BLOCK],
                                       const uint32_t sum[4 * TIGRIS_CHANNEL_BLOCK])
{
    s[0].both = sum[0], s[0].high = sum[1], s[1].both = sum[2], s[1].high = sum[3];
    s[2].both = sum[4], s[2].high = sum[5], s[3].both = sum[6], s[3].high = sum[7];
    s[4].both = sum[8], s[4].high = sum[9], s[5].both = sum[10], s[5].high = sum[11];
    s[6].both = sum[12], s[6].high = sum[13], s[7].both = sum[14], s[7].high = sum[15];
}

TIGRIS_INLINE void tigris_store_pixels4(const tigris_totals s[2 * TIGRIS_CHANNEL_BLOCK],
                                        uint32_t sum[4 * TIGRIS_CHANNEL_BLOCK])
{
    sum[0] = s[0].both, sum[1] = s[0].high, sum[2] = s[1].both, sum[3] = s[1].high;
    sum[4] = s[2].both, sum[5] = s[2].high, sum[6] = s[3].both, sum[7] = s[3].high;
    sum[8] = s[4].both, sum[9] = s[4].high, sum[10] = s[5].both, sum[11] = s[5].high;
    sum[12] = s[6].both, sum[13] = s[6].high, sum[14] = s[7].both, sum[15] = s[7].high;
}

TIGRIS_INLINE void tigris_add_one_pixels4(tigris_totals s[2], uint32_t p, uint32_t r, int8_t weight)
{
    tigris_add_one(&s[0], p, weight);
    tigris_add_one(&s[1], r, weight);
}

/* Adds the products of the first `taps` taps of two patches, in whole tiles, and of `tail` taps behind them. */
TIGRIS_INLINE void tigris_add_4x4(const uint32_t *patch, int32_t stride, const int8_t *w, int32_t taps,
                                  int32_t tail, uint32_t sum[4 * TIGRIS_CHANNEL_BLOCK])
{
    tigris_totals s[2 * TIGRIS_CHANNEL_BLOCK];
    tigris_load_pixels4(s, sum);
    for (const uint32_t *const end = patch + taps; patch != end; patch += TIGRIS_TILE_TAPS) {
        tigris_add_tile_4x4(s, patch, stride, w);
        w += TIGRIS_TILE_TAPS * TIGRIS_CHANNEL_BLOCK;
    }
    for (; tail > 0; tail--, patch++) {
        tigris_add_one_pixels4(s, patch[0], patch[stride], w[0]);
        tigris_add_one_pixels4(s + 2, patch[0], patch[stride], w[1]);
        tigris_add_one_pixels4(s + 4, patch[0], patch[stride], w[2]);
        tigris_add_one_pixels4(s + 6, patch[0], patch[stride], w[3]);
        w += TIGRIS_CHANNEL_BLOCK;
    }
    tigris_store_pixels4(s, sum);
}

#define TIGRIS_IM2COL_TAPS 16

/* Adds the products of 16 taps in each of three columns to the sums of blocks up to `end`. Two pixels read the
 * im2col tile of a column, the other two that of the next column. `depth`: taps of a column. */
static TIGRIS_NOINLINE void tigris_add_im2col_pixels4(const uint32_t *patch, const int8_t *weights, int32_t depth,
                                                      uint32_t *sums, const uint32_t *end)
{
    const int32_t across = (depth - TIGRIS_IM2COL_TAPS) * TIGRIS_CHANNEL_BLOCK;
    const int32_t run = across == 0 ? 3 * TIGRIS_IM2COL_TAPS : TIGRIS_IM2COL_TAPS;
    for (; sums != end; sums += 4 * TIGRIS_CHANNEL_BLOCK) {
        tigris_totals s[2 * TIGRIS_CHANNEL_BLOCK];
        const int8_t *w = weights;
        tigris_load_pixels4(s, sums);
        for (const uint32_t *from = patch; from != patch + 3 * TIGRIS_IM2COL_TAPS;) {
            for (const uint32_t *const run_end = from + run; from != run_end; from += TIGRIS_TILE_TAPS) {
                tigris_add_tile_4x4(s, from, TIGRIS_IM2COL_TAPS, w);
                w += TIGRIS_TILE_TAPS * TIGRIS_CHANNEL_BLOCK;
            }
            w += across;
        }
        tigris_store_pixels4(s, sums);
        weights += 9 * depth * TIGRIS_CHANNEL_BLOCK;
    }
}
#endif

/* ---- tiles of TIGRIS_PIXELS pixels or of two ---- */

/* Initialises the totals of a channel at `pixels` pixels with its bias. */
TIGRIS_INLINE void tigris_init_pixels(uint32_t *sum, int32_t pixels, int32_t bias, uint32_t block_bias)
{
    tigris_init_pair(&sum[0], &sum[1], bias, block_bias);
    if (pixels == 4) {
        sum[2] = sum[0];
        sum[3] = sum[1];
    }
}

/* Unpacks the totals of a channel into a sum of each pixel. With four pixels a pair of totals holds the first and the
 * third, or the second and the fourth. */
TIGRIS_INLINE void tigris_unpack_pixels(const uint32_t *sum, int32_t pixels, uint32_t *a, uint32_t *b, uint32_t *c,
                                        uint32_t *d)
{
    tigris_unpack_pair(sum, a, pixels == 4 ? c : b);
    if (pixels == 4) {
        tigris_unpack_pair(sum + 2, b, d);
    }
}

#if defined(TIGRIS_PIXELS4)
#define TIGRIS_PIXELS 4
#define TIGRIS_PIXELS_TAPS TIGRIS_PATCH_TAPS
#define TIGRIS_PIXELS_WORDS (2 * TIGRIS_PATCH_TAPS) /* of a patch */

/* Fills a patch with the `count` taps of adjacent pixels, which follow each other. */
TIGRIS_INLINE void tigris_fill_pixels(uint32_t *patch, const int8_t *from, int32_t count, int32_t pixels)
{
    if (pixels == 2) {
        tigris_fill_patch(patch, 0, from, 1, from + count, 1, count);
        return;
    }
    tigris_fill_patch(patch, 0, from, 1, from + 2 * count, 1, count);
    tigris_fill_patch(patch, TIGRIS_PATCH_TAPS, from + count, 1, from + 3 * count, 1, count);
}

/* Adds the products of `taps` taps and a block's weights. `most`: taps that the patch has room for, a constant. */
TIGRIS_INLINE void tigris_add_pixels(const uint32_t *patch, int32_t most, const int8_t *w, int32_t taps, uint32_t *sum,
                                     int32_t pixels)
{
    const int32_t tail = taps & (TIGRIS_TILE_TAPS - 1);
    if (pixels == 2) {
        tigris_add_block(patch, w, taps, sum);
        return;
    }
    tigris_add_4x4(patch, most, w, taps - tail, tail, sum);
}
#else
#define TIGRIS_PIXELS 2
#endif

/* ---- one vector ---- */

#define TIGRIS_VECTOR_TAPS INT32_MAX

/* With one vector no lanes are packed: taps are read in place. */
typedef struct tigris_vector {
    const int8_t *taps;
} tigris_vector;

static inline void tigris_fill_vector(tigris_vector *vector, const int8_t *from, int32_t count)
{
    (void)count;
    vector->taps = from;
}

TIGRIS_INLINE uint32_t tigris_add_tap(const tigris_vector *vector, int32_t tap, const int8_t *w, uint32_t sum)
{
    return sum + tigris_product(vector->taps[tap], *w);
}

TIGRIS_INLINE void tigris_add_product(int8_t value, int8_t weight, uint32_t *sum)
{
    *sum += tigris_product(value, weight);
    TIGRIS_HOLD(*sum); /* 2.8 % of ad */
}

/* Adds column `k` of a tile of the four channels of a block, at w. */
TIGRIS_INLINE void tigris_add_column(int8_t value, const int8_t *w, int32_t k, uint32_t sum[TIGRIS_CHANNEL_BLOCK])
{
    tigris_add_product(value, w[k], &sum[0]);
    tigris_add_product(value, w[k + 4], &sum[1]);
    tigris_add_product(value, w[k + 8], &sum[2]);
    tigris_add_product(value, w[k + 12], &sum[3]);
}

/* Adds column `k` of the tiles of two blocks, at w and v. */
TIGRIS_INLINE void tigris_add_columns(int8_t value, const int8_t *w, const int8_t *v, int32_t k,
                                      uint32_t sum[2 * TIGRIS_CHANNEL_BLOCK])
{
    tigris_add_column(value, w, k, sum);
    tigris_add_column(value, v, k, sum + TIGRIS_CHANNEL_BLOCK);
    TIGRIS_STEP(); /* 39 % of ad */
}

/* Sums of two blocks of four channels, at w and v: `initial` and the products of the whole tiles. */
static inline void tigris_vector_blocks(const tigris_vector *vector, const int8_t *w, const int8_t *v, int32_t tiled,
                                        const uint32_t *initial, uint32_t sum[2 * TIGRIS_CHANNEL_BLOCK])
{
    const int8_t *a = vector->taps;
    uint32_t sums[2 * TIGRIS_CHANNEL_BLOCK] = {initial[0], initial[1], initial[2], initial[3],
                                               initial[4], initial[5], initial[6], initial[7]};
    for (const int8_t *const end = a + tiled; a != end; a += TIGRIS_TILE_TAPS) {
        tigris_add_columns(a[0], w, v, 0, sums);
        tigris_add_columns(a[1], w, v, 2, sums);
        tigris_add_columns(a[2], w, v, 1, sums);
        tigris_add_columns(a[3], w, v, 3, sums);
        w += TIGRIS_TILE_TAPS * TIGRIS_CHANNEL_BLOCK;
        v += TIGRIS_TILE_TAPS * TIGRIS_CHANNEL_BLOCK;
    }
    sum[0] = sums[0], sum[1] = sums[1], sum[2] = sums[2], sum[3] = sums[3];
    sum[4] = sums[4], sum[5] = sums[5], sum[6] = sums[6], sum[7] = sums[7];
}

/* Sums of a block, at w: `initial` and the products of the whole tiles. */
static inline void tigris_vector_block(const tigris_vector *vector, const int8_t *w, int32_t tiled,
                                       const uint32_t *initial, uint32_t sum[TIGRIS_CHANNEL_BLOCK])
{
    const int8_t *a = vector->taps;
    uint32_t sums[TIGRIS_CHANNEL_BLOCK] = {initial[0], initial[1], initial[2], initial[3]};
    for (const int8_t *const end = a + tiled; a != end; a += TIGRIS_TILE_TAPS) {
        tigris_add_column(a[0], w, 0, sums);
        tigris_add_column(a[1], w, 2, sums);
        tigris_add_column(a[2], w, 1, sums);
        tigris_add_column(a[3], w, 3, sums);
        w += TIGRIS_TILE_TAPS * TIGRIS_CHANNEL_BLOCK;
    }
    sum[0] = sums[0], sum[1] = sums[1], sum[2] = sums[2], sum[3] = sums[3];
}

/* The sum of a channel behind the blocks, at w. */
static inline uint32_t tigris_vector_channel(const tigris_vector *vector, const int8_t *w, int32_t tiled, uint32_t sum)
{
    const int8_t *a = vector->taps;
    for (const int8_t *const end = a + tiled; a != end; a += TIGRIS_TILE_TAPS) {
        tigris_add_product(a[0], w[0], &sum);
        tigris_add_product(a[1], w[2], &sum);
        tigris_add_product(a[2], w[1], &sum);
        tigris_add_product(a[3], w[3], &sum);
        w += TIGRIS_TILE_TAPS;
    }
    return sum;
}

#endif
