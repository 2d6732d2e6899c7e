/* The part of depthwise_int8.h with the DSP instructions of Armv7E-M (Cortex-M4, M7) and Armv8-M.
 *
 * On lines, two bytes of a lane are packed into a register (PKHBT) and take part in up to two products an instruction.
 * Weights stay in memory, since sums of four outputs fill the registers. */
#ifndef TIGRIS_DSP_DEPTHWISE_INT8_H
#define TIGRIS_DSP_DEPTHWISE_INT8_H

/* w0 and w1 of a lane. */
TIGRIS_INLINE tigris_pair tigris_walk_begin(const tigris_line_walk *walk, int32_t lane)
{
    tigris_pair weights;
    memcpy(&weights, walk->weights[lane], sizeof weights);
    return weights;
}

/* w1 and w2. */
TIGRIS_INLINE tigris_pair tigris_walk_end(const tigris_line_walk *walk, int32_t lane)
{
    tigris_pair weights;
    memcpy(&weights, walk->weights[lane] + 2, sizeof weights);
    return weights;
}

/* What a column of padding adds as column 0 and as column 2. */
TIGRIS_INLINE uint32_t tigris_walk_padded(const tigris_line_walk *walk, int32_t k)
{
    return (uint32_t)((walk->weights[0][k] + walk->weights[1][k] + walk->weights[2][k]) * walk->padding);
}

/* `sum` and the column at `from` as column 0 of an output. */
TIGRIS_INLINE uint32_t tigris_walk_first(const tigris_line_walk *walk, const int8_t *from, uint32_t sum)
{
    for (int32_t i = 0; i < 3; i++) {
        sum = tigris_add_first_first(from[walk->lane[i]], tigris_walk_begin(walk, i), sum);
    }
    return sum;
}

/* Stride 1: a pair of columns ends two outputs and begins two. */
static TIGRIS_NOINLINE void tigris_walk_stride_1(const tigris_line_walk *walk, const int8_t *input, int8_t *output,
                                                 int32_t lines)
{
    const int32_t lane_1 = walk->lane[1], lane_2 = walk->lane[2], step = walk->step, output_step = walk->output_step;
    for (; lines > 0; lines--) {
        const int8_t *from = input;
        int8_t *to = output;
        int32_t left = walk->columns - 1;
        uint32_t after = walk->bias, next = after + tigris_walk_padded(walk, 0);
        if (walk->left == 0) {
            next = tigris_walk_first(walk, from, after);
            from += step;
            left--;
        }
#pragma GCC unroll 3
        for (int32_t i = 0; i < 3; i++) {
            const int32_t value = from[walk->lane[i]];
            next = tigris_add_first_second(value, tigris_walk_begin(walk, i), next);
            after = tigris_add_first_first(value, tigris_walk_begin(walk, i), after);
        }
        from += step;
        const int8_t *const end = to + (left >> 1) * 2 * output_step;
        while (to != end) {
            const int8_t *second = from + step;
            const tigris_pair pairs[3] = {tigris_pack(from[0], second[0]),
                                          tigris_pack(from[lane_1], second[lane_1]),
                                          tigris_pack(from[lane_2], second[lane_2])};
            uint32_t now = next, soon = after;
            after = next = walk->bias;
#pragma GCC unroll 3
            for (int32_t i = 0; i < 3; i++) {
                now = tigris_add_first_second(pairs[i], tigris_walk_end(walk, i), now);
                soon = tigris_add_both(pairs[i], tigris_walk_end(walk, i), soon);
                next = tigris_add_both(pairs[i], tigris_walk_begin(walk, i), next);
                after = tigris_add_second_first(pairs[i], tigris_walk_begin(walk, i), after);
            }
            const tigris_scale scale = walk->scale;
            to[0] = (int8_t)tigris_scale_usually(now, scale, walk->output);
            to[output_step] = (int8_t)tigris_scale_usually(soon, scale, walk->output);
            to += 2 * output_step;
            from = second + step;
        }
        if ((left & 1) != 0) {
#pragma GCC unroll 3
            for (int32_t i = 0; i < 3; i++) {
                const int32_t value = from[walk->lane[i]];
                next = tigris_add_first_second(value, tigris_walk_end(walk, i), next);
                after = tigris_add_first_first(value, tigris_walk_end(walk, i), after);
            }
            *to = (int8_t)tigris_scale_usually(next, walk->scale, walk->output);
            to += output_step;
            next = after;
        }
        if (walk->right != 0) {
            *to = (int8_t)tigris_scale_usually(next + tigris_walk_padded(walk, 3), walk->scale, walk->output);
        }
        input += walk->line_step;
        output += walk->output_line_step;
    }
}

/* Stride 2: an odd column is the middle of an output, an even one ends an output and begins the next. */
static TIGRIS_NOINLINE void tigris_walk_stride_2(const tigris_line_walk *walk, const int8_t *input, int8_t *output,
                                                 int32_t lines)
{
    const int32_t lane_1 = walk->lane[1], lane_2 = walk->lane[2], step = walk->step;
    for (; lines > 0; lines--) {
        const int8_t *from = input;
        int8_t *to = output;
        int32_t left = walk->columns;
        uint32_t next = walk->bias + tigris_walk_padded(walk, 0);
        if (walk->left == 0) {
            next = tigris_walk_first(walk, from, walk->bias);
            from += step;
            left--;
        }
        const int8_t *const end = to + (left >> 1) * walk->output_step;
        while (to != end) {
            const int8_t *even = from + step;
            const tigris_pair pairs[3] = {tigris_pack(from[0], even[0]),
                                          tigris_pack(from[lane_1], even[lane_1]),
                                          tigris_pack(from[lane_2], even[lane_2])};
            uint32_t now = next;
            next = walk->bias;
#pragma GCC unroll 3
            for (int32_t i = 0; i < 3; i++) {
                now = tigris_add_both(pairs[i], tigris_walk_end(walk, i), now);
                next = tigris_add_second_first(pairs[i], tigris_walk_begin(walk, i), next);
            }
            *to = (int8_t)tigris_scale_usually(now, walk->scale, walk->output);
            to += walk->output_step;
            from = even + step;
        }
        if (walk->right != 0) {
            next += tigris_walk_padded(walk, 3);
            for (int32_t i = 0; i < 3; i++) {
                next = tigris_add_first_first(from[walk->lane[i]], tigris_walk_end(walk, i), next);
            }
            *to = (int8_t)tigris_scale_usually(next, walk->scale, walk->output);
        }
        input += walk->line_step;
        output += walk->output_line_step;
    }
}

/* The weights of a lane. Those of one outside are 0, and its products with the padding part of the bias. */
TIGRIS_INLINE void tigris_walk_lane(tigris_line_walk *walk, int32_t lane, int outside)
{
    const int8_t *taps = walk->taps[lane];
    int16_t *to = walk->weights[lane];
    to[0] = taps[0], to[1] = to[2] = taps[walk->apart], to[3] = taps[2 * walk->apart];
    if (outside) {
        walk->bias += (uint32_t)((to[0] + to[1] + to[3]) * walk->padding);
        memset(to, 0, sizeof walk->weights[0]);
    }
}

/* Lines whose first output begins at `input` in the middle lane. */
TIGRIS_INLINE void tigris_walk_lines(tigris_line_walk *walk, const int8_t *input, int8_t *output, int32_t lines)
{
    const uint32_t bias = walk->bias;
    tigris_walk_lane(walk, 0, 0);
    tigris_walk_lane(walk, 1, walk->lane[1] == 0);
    tigris_walk_lane(walk, 2, walk->lane[2] == 0);
    if (walk->stride == 1) {
        tigris_walk_stride_1(walk, input, output, lines);
    } else {
        tigris_walk_stride_2(walk, input, output, lines);
    }
    walk->bias = bias;
}

/* Adds `count` taps of four channels, at least one; the inputs lie `step` apart. */
TIGRIS_INLINE void tigris_add_run(const int8_t *a, int32_t step, const int8_t *w, int32_t count,
                                  uint32_t sum[TIGRIS_CHANNEL_BLOCK])
{
    uint32_t s0 = sum[0], s1 = sum[1], s2 = sum[2], s3 = sum[3];
    const int8_t *const end = w + count * TIGRIS_CHANNEL_BLOCK;
    do {
        const tigris_taps_4 value = tigris_widen(a), weight = tigris_widen(w);
        s0 = tigris_add_first_first(value.even, weight.even, s0);
        s1 = tigris_add_first_first(value.odd, weight.odd, s1);
        s2 = tigris_add_second_second(value.even, weight.even, s2);
        s3 = tigris_add_second_second(value.odd, weight.odd, s3);
        a += step;
        w += TIGRIS_CHANNEL_BLOCK;
    } while (w != end);
    sum[0] = s0, sum[1] = s1, sum[2] = s2, sum[3] = s3;
}

#endif
