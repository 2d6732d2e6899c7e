/* The machine-dependent part of depthwise_int8.h with the DSP instructions of Armv7E-M (Cortex-M4, M7) and Armv8-M.
 *
 * On lines, two bytes of a lane are packed into a register (PKHBT) and take part in up to two products an instruction.
 * Weights stay in memory, since sums of four outputs fill the registers. */
#ifndef TIGRIS_DEPTHWISE_INT8_DSP_H
#define TIGRIS_DEPTHWISE_INT8_DSP_H

/* The usual scales and ranges, that tigris_walk_scaled is made for. */
static inline int tigris_walk_scales(int32_t multiplier, int32_t shift, tigris_output_stage output)
{
    return tigris_scales_right(shift) && multiplier >= (1 << 30) && output.low == INT8_MIN && output.high == INT8_MAX;
}

/* tigris_scale_by for these. That a product x = 0 of a negative sum counts as negative changes nothing: t = -1 gives 0
 * as well. */
TIGRIS_INLINE int8_t tigris_walk_scaled(int32_t sum, tigris_scale scale)
{
    int32_t value;
    __asm__("add %0, %1, %1, asr #31\n\t"
            "smmlar %0, %1, %2, %0\n\t"
            "asr %0, %0, %3\n\t"
            "add %0, %0, %4\n\t"
            "ssat %0, #8, %0, asr #1"
            : "=&r"(value)
            : "r"(sum), "r"(scale.doubled), "r"(scale.right), "r"(scale.offset));
    return (int8_t)value;
}

/* Two bytes of a lane; the first is the lower half. */
TIGRIS_INLINE int16x2_t tigris_walk_pack(int32_t first, int32_t second)
{
    int16x2_t pair;
    __asm__("pkhbt %0, %1, %2, lsl #16" : "=r"(pair) : "r"(first), "r"(second));
    return pair;
}

/* w0 and w1 of a lane. */
TIGRIS_INLINE int16x2_t tigris_walk_begin(const tigris_walk *walk, int32_t lane)
{
    int16x2_t weights;
    memcpy(&weights, walk->weights[lane], sizeof weights);
    return weights;
}

/* w1 and w2. */
TIGRIS_INLINE int16x2_t tigris_walk_end(const tigris_walk *walk, int32_t lane)
{
    int16x2_t weights;
    memcpy(&weights, walk->weights[lane] + 2, sizeof weights);
    return weights;
}

/* `sum` and the column at `from` as column 0 of an output. */
TIGRIS_INLINE int32_t tigris_walk_first(const tigris_walk *walk, const int8_t *from, int32_t sum)
{
    for (int32_t i = 0; i < 3; i++) {
        sum = __smlabb(from[walk->lane[i]], tigris_walk_begin(walk, i), sum);
    }
    return sum;
}

/* Stride 1: a pair of columns ends two outputs and begins two. */
static TIGRIS_NOINLINE void tigris_walk_stride_1(const tigris_walk *walk, const int8_t *input, int8_t *output,
                                                 int32_t lines)
{
    const int32_t lane_1 = walk->lane[1], lane_2 = walk->lane[2], step = walk->step, output_step = walk->output_step;
    for (; lines > 0; lines--) {
        const int8_t *from = input;
        int8_t *to = output;
        int32_t left = walk->columns - 1;
        int32_t after = (int32_t)walk->bias, next = after + walk->padded[0];
        if (walk->left == 0) {
            next = tigris_walk_first(walk, from, after);
            from += step;
            left--;
        }
#pragma GCC unroll 3
        for (int32_t i = 0; i < 3; i++) {
            const int32_t value = from[walk->lane[i]];
            next = __smlabt(value, tigris_walk_begin(walk, i), next);
            after = __smlabb(value, tigris_walk_begin(walk, i), after);
        }
        from += step;
        for (; left > 1; left -= 2) {
            const int8_t *second = from + step;
            const int16x2_t pairs[3] = {tigris_walk_pack(from[0], second[0]),
                                        tigris_walk_pack(from[lane_1], second[lane_1]),
                                        tigris_walk_pack(from[lane_2], second[lane_2])};
            int32_t now = next, soon = after;
            after = next = (int32_t)walk->bias;
#pragma GCC unroll 3
            for (int32_t i = 0; i < 3; i++) {
                now = __smlabt(pairs[i], tigris_walk_end(walk, i), now);
                soon = __smlad(pairs[i], tigris_walk_end(walk, i), soon);
                next = __smlad(pairs[i], tigris_walk_begin(walk, i), next);
                after = __smlatb(pairs[i], tigris_walk_begin(walk, i), after);
            }
            const tigris_scale scale = walk->scale;
            to[0] = tigris_walk_scaled(now, scale);
            to[output_step] = tigris_walk_scaled(soon, scale);
            to += 2 * output_step;
            from = second + step;
        }
        if (left != 0) {
#pragma GCC unroll 3
            for (int32_t i = 0; i < 3; i++) {
                const int32_t value = from[walk->lane[i]];
                next = __smlabt(value, tigris_walk_end(walk, i), next);
                after = __smlabb(value, tigris_walk_end(walk, i), after);
            }
            *to = tigris_walk_scaled(next, walk->scale);
            to += output_step;
            next = after;
        }
        if (walk->right != 0) {
            *to = tigris_walk_scaled(next + walk->padded[2], walk->scale);
        }
        input += walk->line_step;
        output += walk->output_line_step;
    }
}

/* Stride 2: an odd column is the middle of an output, an even one ends an output and begins the next. */
static TIGRIS_NOINLINE void tigris_walk_stride_2(const tigris_walk *walk, const int8_t *input, int8_t *output,
                                                 int32_t lines)
{
    const int32_t lane_1 = walk->lane[1], lane_2 = walk->lane[2], step = walk->step;
    for (; lines > 0; lines--) {
        const int8_t *from = input;
        int8_t *to = output;
        int32_t left = walk->columns;
        int32_t next = (int32_t)walk->bias + walk->padded[0];
        if (walk->left == 0) {
            next = tigris_walk_first(walk, from, (int32_t)walk->bias);
            from += step;
            left--;
        }
        for (; left > 1; left -= 2) {
            const int8_t *even = from + step;
            const int16x2_t pairs[3] = {tigris_walk_pack(from[0], even[0]),
                                        tigris_walk_pack(from[lane_1], even[lane_1]),
                                        tigris_walk_pack(from[lane_2], even[lane_2])};
            int32_t now = next;
            next = (int32_t)walk->bias;
#pragma GCC unroll 3
            for (int32_t i = 0; i < 3; i++) {
                now = __smlad(pairs[i], tigris_walk_end(walk, i), now);
                next = __smlatb(pairs[i], tigris_walk_begin(walk, i), next);
            }
            *to = tigris_walk_scaled(now, walk->scale);
            to += walk->output_step;
            from = even + step;
        }
        if (walk->right != 0) {
            next += walk->padded[2];
            for (int32_t i = 0; i < 3; i++) {
                next = __smlabb(from[walk->lane[i]], tigris_walk_end(walk, i), next);
            }
            *to = tigris_walk_scaled(next, walk->scale);
        }
        input += walk->line_step;
        output += walk->output_line_step;
    }
}

/* Adds `count` taps of four channels, at least one; the inputs lie `step` apart. */
TIGRIS_INLINE void tigris_add_run(const int8_t *a, int32_t step, const int8_t *w, int32_t count,
                                  uint32_t sum[TIGRIS_CHANNEL_BLOCK])
{
    int32_t s0 = (int32_t)sum[0], s1 = (int32_t)sum[1], s2 = (int32_t)sum[2], s3 = (int32_t)sum[3];
    do {
        const tigris_taps_4 value = tigris_widen(a), weight = tigris_widen(w);
        s0 = __smlabb(value.even, weight.even, s0);
        s1 = __smlabb(value.odd, weight.odd, s1);
        s2 = __smlatt(value.even, weight.even, s2);
        s3 = __smlatt(value.odd, weight.odd, s3);
        a += step;
        w += TIGRIS_CHANNEL_BLOCK;
    } while (--count > 0);
    sum[0] = (uint32_t)s0, sum[1] = (uint32_t)s1, sum[2] = (uint32_t)s2, sum[3] = (uint32_t)s3;
}

#endif
