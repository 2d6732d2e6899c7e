/* Four outputs at a time. A load of four segments splits the tiles of a block into the taps of its four channels.
 * They are multiplied by the vector's taps, and VWREDSUM adds the products of 16 bits. With vectors of 128 bits a
 * step is 128 products. */
#include "rows_int8.h"

#if TIGRIS_RVV

#define BLOCK TIGRIS_RVV_BLOCK
#define TILE TIGRIS_RVV_TILE
#define BATCH 64 /* outputs whose sums are kept, a multiple of BLOCK */

/* Adds those of v2 with v8, v10, v12 and v14 to lane 0 of v4, v5, v6 and v7. */
#define PRODUCTS                                                                                                       \
    "vwmul.vv v16, v8, v2\n\t"                                                                                         \
    "vwmul.vv v20, v10, v2\n\t"                                                                                        \
    "vwmul.vv v24, v12, v2\n\t"                                                                                        \
    "vwmul.vv v28, v14, v2\n\t"                                                                                        \
    "vsetvli zero, zero, e16, m4, ta, ma\n\t"                                                                          \
    "vwredsum.vs v4, v16, v4\n\t"                                                                                      \
    "vwredsum.vs v5, v20, v5\n\t"                                                                                      \
    "vwredsum.vs v6, v24, v6\n\t"                                                                                      \
    "vwredsum.vs v7, v28, v7\n\t"
#define REGISTERS                                                                                                      \
    "v2", "v3", "v4", "v5", "v6", "v7", "v8", "v9", "v10", "v11", "v12", "v13", "v14", "v15", "v16", "v17", "v18",     \
        "v19", "v20", "v21", "v22", "v23", "v24", "v25", "v26", "v27", "v28", "v29", "v30", "v31"

void tigris_rvv_order_taps(int8_t *to, const int8_t *from, int32_t count)
{
    size_t tiles = (size_t)count / TILE, left = (size_t)count % TILE;
    while (tiles != 0U) {
        const size_t now = RVV(vsetvl_e8m2)(tiles);
        vint8m2_t a, b, c, d;
        TIGRIS_RVV_LOAD_4(a, b, c, d, from, now);
        TIGRIS_RVV_STORE_4(to, a, c, b, d, now);
        from += TILE * now;
        to += TILE * now;
        tiles -= now;
    }
    for (; left != 0U; left--) {
        *to++ = *from++;
    }
}

/* The sums of the channels of `blocks` blocks, some: what they begin with, and the products of `count` taps of each. From a
 * block's last tap to the next one's first are `skipped` weights. */
static void add_blocks(const int8_t *weights, int32_t skipped, int32_t blocks, const int8_t *taps, int32_t count,
                       const int32_t *begin, int32_t *sums)
{
    const int8_t *at;
    size_t tiles, now;
    __asm__ volatile("0: vsetivli zero, 1, e32, m1, ta, ma\n\t"
                     "vlseg4e32.v v4, (%[begin])\n\t"
                     "addi %[begin], %[begin], 16\n\t"
                     "mv %[at], %[taps]\n\t"
                     "mv %[tiles], %[all]\n\t"
                     "beqz %[tiles], 2f\n"
                     "1: vsetvli %[now], %[tiles], e32, m2, ta, ma\n\t"
                     "vlseg4e32.v v8, (%[weights])\n\t"
                     "sub %[tiles], %[tiles], %[now]\n\t"
                     "slli %[now], %[now], 2\n\t"
                     "vsetvli zero, %[now], e8, m2, ta, ma\n\t"
                     "vle8.v v2, (%[at])\n\t"
                     "add %[at], %[at], %[now]\n\t"
                     "slli %[now], %[now], 2\n\t"
                     "add %[weights], %[weights], %[now]\n\t"
                     PRODUCTS
                     "bnez %[tiles], 1b\n"
                     "2: beqz %[left], 3f\n\t"
                     "vsetvli zero, %[left], e8, m2, ta, ma\n\t"
                     "vlseg4e8.v v8, (%[weights])\n\t" /* [tap][channel] */
                     "vle8.v v2, (%[at])\n\t"
                     "slli %[now], %[left], 2\n\t"
                     "add %[weights], %[weights], %[now]\n\t"
                     PRODUCTS
                     "3: vsetivli zero, 1, e32, m1, ta, ma\n\t"
                     "vsseg4e32.v v4, (%[sums])\n\t"
                     "addi %[sums], %[sums], 16\n\t"
                     "add %[weights], %[weights], %[skipped]\n\t"
                     "addi %[blocks], %[blocks], -1\n\t"
                     "bnez %[blocks], 0b"
                     : [weights] "+&r"(weights), [begin] "+&r"(begin), [sums] "+&r"(sums), [blocks] "+&r"(blocks),
                       [at] "=&r"(at), [tiles] "=&r"(tiles), [now] "=&r"(now)
                     : [taps] "r"(taps), [all] "r"(count / TILE), [left] "r"(count % TILE), [skipped] "r"(skipped)
                     : REGISTERS, TIGRIS_RVV_LENGTH "memory");
}

/* add_blocks for a whole vector of `tiles` tiles, which is one step. */
static void add_short_blocks(const int8_t *weights, int32_t blocks, const int8_t *taps, size_t tiles, const int32_t *begin,
                             int32_t *sums)
{
    const size_t bytes = tiles * TILE;
    __asm__ volatile("vsetvli zero, %[bytes], e8, m2, ta, ma\n\t"
                     "vle8.v v2, (%[taps])\n"
                     "0: vsetivli zero, 1, e32, m1, ta, ma\n\t"
                     "vlseg4e32.v v4, (%[begin])\n\t"
                     "addi %[begin], %[begin], 16\n\t"
                     "vsetvli zero, %[tiles], e32, m2, ta, ma\n\t"
                     "vlseg4e32.v v8, (%[weights])\n\t"
                     "add %[weights], %[weights], %[all]\n\t"
                     "vsetvli zero, %[bytes], e8, m2, ta, ma\n\t"
                     PRODUCTS
                     "addi %[blocks], %[blocks], -1\n\t"
                     "vsetivli zero, 1, e32, m1, ta, ma\n\t"
                     "vsseg4e32.v v4, (%[sums])\n\t"
                     "addi %[sums], %[sums], 16\n\t"
                     "bnez %[blocks], 0b"
                     : [weights] "+&r"(weights), [begin] "+&r"(begin), [sums] "+&r"(sums), [blocks] "+&r"(blocks)
                     : [taps] "r"(taps), [tiles] "r"(tiles), [bytes] "r"(bytes), [all] "r"(bytes * BLOCK)
                     : REGISTERS, TIGRIS_RVV_LENGTH "memory");
}

/* The sum of a channel behind the last whole block. */
static int32_t add_row(const int8_t *weights, const int8_t *taps, int32_t count, int32_t begin)
{
    vint32m1_t sum = RVV(vmv_v_x_i32m1)(begin, 1);
    for (size_t left = (size_t)count, now; left != 0U; left -= now) {
        now = RVV(vsetvl_e8m4)(left);
        const vint16m8_t products =
            RVV(vwmul_vv_i16m8)(RVV(vle8_v_i8m4)(weights, now), RVV(vle8_v_i8m4)(taps, now), now);
        sum = TIGRIS_RVV_SUM_UP(sum, products, now);
        weights += now;
        taps += now;
    }
    return RVV(vmv_x_s_i32m1_i32)(sum);
}

/* Adds the products of `count` taps, which begin at tap `at` of the rows, to the sums of the outputs from `first` up to
 * `end`. At tap 0 the sums begin with the bias. */
static void add_rows(const tigris_rvv_layer *layer, const int8_t *taps, int32_t at, int32_t count, int32_t first,
                     int32_t end, int32_t *sums)
{
    const int32_t length = layer->length, blocks = (end - first) / BLOCK;
    const int32_t *begin = at == 0 ? layer->bias + first : sums;
    const int8_t *weights = layer->weights + first * length;
    const size_t tiles = (size_t)count / TILE;
    if (blocks != 0 && count == length && count % TILE == 0 && RVV(vsetvl_e32m2)(tiles) == tiles) {
        add_short_blocks(weights, blocks, taps, tiles, begin, sums);
    } else if (blocks != 0) {
        add_blocks(weights + at * BLOCK, (length - count) * BLOCK, blocks, taps, count, begin, sums);
    }
    for (int32_t i = blocks * BLOCK; i < end - first; i++) {
        sums[i] = add_row(weights + (i * length + at), taps, count, begin[i]);
    }
}

/* The sums of outputs from `first` up to `end` become outputs. */
static void finish(const tigris_rvv_layer *layer, int32_t first, int32_t end, const int32_t *sums, int8_t *output)
{
    TIGRIS_RVV_ROUND_UP();
    while (first < end) {
        const size_t now = RVV(vsetvl_e32m4)((size_t)(end - first));
        tigris_rvv_outputs(&layer->end, layer->step == 0 ? -1 : first, RVV(vle32_v_i32m4)(sums, now), now,
                           output + first);
        first += (int32_t)now;
        sums += now;
    }
}

void tigris_rvv_run_layer(const tigris_rvv_layer *layer, const int8_t *taps, int8_t *output)
{
    int32_t sums[BATCH];
    for (int32_t first = 0; first < layer->outputs; first += BATCH) {
        const int32_t end = layer->outputs - first < BATCH ? layer->outputs : first + BATCH;
        add_rows(layer, taps, 0, layer->length, first, end, sums);
        finish(layer, first, end, sums, output);
    }
}

void tigris_rvv_run_long_layer(const tigris_rvv_layer *layer, const int8_t *vector, int8_t *part, int32_t most,
                               int8_t *output)
{
    int32_t sums[BATCH];
    for (int32_t first = 0; first < layer->outputs; first += BATCH) {
        const int32_t end = layer->outputs - first < BATCH ? layer->outputs : first + BATCH;
        for (int32_t at = 0, count; at < layer->length; at += count) {
            count = layer->length - at < most ? layer->length - at : most;
            tigris_rvv_order_taps(part, vector + at, count);
            add_rows(layer, part, at, count, first, end, sums);
        }
        finish(layer, first, end, sums, output);
    }
}

#endif
