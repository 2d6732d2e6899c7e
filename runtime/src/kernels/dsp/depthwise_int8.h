/* The part of depthwise_int8.h with the DSP instructions of Armv7E-M (Cortex-M4, M7) and Armv8-M.
 *
 * On lines, two bytes of a lane are packed into a register (PKHBT) and take part in up to two products an instruction.
 * Weights stay in memory, since sums of four outputs fill the registers. */
#ifndef TIGRIS_DSP_DEPTHWISE_INT8_H
#define TIGRIS_DSP_DEPTHWISE_INT8_H

/* How a channel's sums become outputs: of any int8 and by a usual scale, by a right shift, by any scale. */
enum { TIGRIS_WALK_USUAL, TIGRIS_WALK_RIGHT, TIGRIS_WALK_OTHERWISE };

static inline int tigris_walks_usually(const tigris_line_walk *walk, int32_t channel, int32_t fast_above)
{
    return tigris_is_fast_scale(walk->multiplier[channel], walk->shift[channel], fast_above);
}

/* `sum` and the column at `from` as column 0 of an output. */
TIGRIS_INLINE uint32_t tigris_walk_first(const tigris_line_walk *walk, const int8_t *from, uint32_t sum)
{
    for (int32_t i = 0; i < 3; i++) {
        sum = tigris_add_first_first(from[walk->lane[i]], walk->channel.begin[i], sum);
    }
    return sum;
}

TIGRIS_INLINE int32_t tigris_walk_scale(const tigris_line_walk *walk, uint32_t sum, int how)
{
    if (how == TIGRIS_WALK_OTHERWISE) {
        return tigris_requantise_any_shift((int32_t)sum, walk->channel.multiplier, walk->channel.shift,
                                           walk->output.zero_point, walk->output.low, walk->output.high);
    }
    /* Member by member, else GCC copies the record. */
    const tigris_scale scale = {walk->channel.scale.doubled, walk->channel.scale.right, walk->channel.scale.offset};
    return how == TIGRIS_WALK_USUAL ? tigris_requantise_fast(sum, scale, walk->output)
                                    : tigris_requantise_right_shift(sum, scale, walk->output);
}

/* Stride 1: a pair of columns ends two outputs and begins two. */
TIGRIS_INLINE void tigris_walk_stride_1(const tigris_line_walk *walk, const int8_t *input,
                                        int8_t *output, int32_t lines, int usual)
{
    const int32_t lane_1 = walk->lane[1], lane_2 = walk->lane[2], step = walk->step, output_step = walk->output_step;
    for (; lines > 0; lines--) {
        const int8_t *from = input;
        int8_t *to = output;
        int32_t left = walk->columns - 1;
        uint32_t after = walk->channel.bias, next = after + walk->channel.padded[0];
        if (walk->left == 0) {
            next = tigris_walk_first(walk, from, after);
            from += step;
            left--;
        }
#pragma GCC unroll 3
        for (int32_t i = 0; i < 3; i++) {
            const int32_t value = from[walk->lane[i]];
            next = tigris_add_first_second(value, walk->channel.begin[i], next);
            after = tigris_add_first_first(value, walk->channel.begin[i], after);
        }
        from += step;
        const int8_t *const end = to + (left >> 1) * 2 * output_step;
        while (to != end) {
            const int8_t *second = from + step;
            const tigris_pair pairs[3] = {tigris_pack(from[0], second[0]),
                                          tigris_pack(from[lane_1], second[lane_1]),
                                          tigris_pack(from[lane_2], second[lane_2])};
            uint32_t now = next, soon = after;
            after = next = walk->channel.bias;
#pragma GCC unroll 3
            for (int32_t i = 0; i < 3; i++) {
                now = tigris_add_first_second(pairs[i], walk->channel.end[i], now);
                soon = tigris_add_both(pairs[i], walk->channel.end[i], soon);
                next = tigris_add_both(pairs[i], walk->channel.begin[i], next);
                after = tigris_add_second_first(pairs[i], walk->channel.begin[i], after);
            }
            const int32_t first = tigris_walk_scale(walk, now, usual), other = tigris_walk_scale(walk, soon, usual);
            to[0] = (int8_t)first;
            to[output_step] = (int8_t)other;
            to += 2 * output_step;
            from = second + step;
        }
        if ((left & 1) != 0) {
#pragma GCC unroll 3
            for (int32_t i = 0; i < 3; i++) {
                const int32_t value = from[walk->lane[i]];
                next = tigris_add_first_second(value, walk->channel.end[i], next);
                after = tigris_add_first_first(value, walk->channel.end[i], after);
            }
            *to = (int8_t)tigris_walk_scale(walk, next, usual);
            to += output_step;
            next = after;
        }
        if (walk->right != 0) {
            *to = (int8_t)tigris_walk_scale(walk, next + walk->channel.padded[1], usual);
        }
        input += walk->line_step;
        output += walk->output_line_step;
    }
}

/* Stride 2: an odd column is the middle of an output, an even one ends an output and begins the next. */
TIGRIS_INLINE void tigris_walk_stride_2(const tigris_line_walk *walk, const int8_t *input,
                                        int8_t *output, int32_t lines, int usual)
{
    const int32_t lane_1 = walk->lane[1], lane_2 = walk->lane[2], step = walk->step;
    for (; lines > 0; lines--) {
        const int8_t *from = input;
        int8_t *to = output;
        int32_t left = walk->columns;
        uint32_t next = walk->channel.bias + walk->channel.padded[0];
        if (walk->left == 0) {
            next = tigris_walk_first(walk, from, walk->channel.bias);
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
            next = walk->channel.bias;
#pragma GCC unroll 3
            for (int32_t i = 0; i < 3; i++) {
                now = tigris_add_both(pairs[i], walk->channel.end[i], now);
                next = tigris_add_second_first(pairs[i], walk->channel.begin[i], next);
            }
            *to = (int8_t)tigris_walk_scale(walk, now, usual);
            to += walk->output_step;
            from = even + step;
        }
        if (walk->right != 0) {
            next += walk->channel.padded[1];
            for (int32_t i = 0; i < 3; i++) {
                next = tigris_add_first_first(from[walk->lane[i]], walk->channel.end[i], next);
            }
            *to = (int8_t)tigris_walk_scale(walk, next, usual);
        }
        input += walk->line_step;
        output += walk->output_line_step;
    }
}

static TIGRIS_NOINLINE void tigris_walk_1(const tigris_line_walk *walk, const int8_t *input, int8_t *output,
                                          int32_t lines)
{
    tigris_walk_stride_1(walk, input, output, lines, TIGRIS_WALK_USUAL);
}

static TIGRIS_NOINLINE void tigris_walk_2(const tigris_line_walk *walk, const int8_t *input, int8_t *output,
                                          int32_t lines)
{
    tigris_walk_stride_2(walk, input, output, lines, TIGRIS_WALK_USUAL);
}

TIGRIS_INLINE void tigris_walk_by(const tigris_line_walk *walk, const int8_t *input, int8_t *output, int32_t lines, int how)
{
    if (walk->stride == 1) {
        tigris_walk_stride_1(walk, input, output, lines, how);
    } else {
        tigris_walk_stride_2(walk, input, output, lines, how);
    }
}

/* The same where outputs do not take all of int8, or the scale is not usual. */
#if TIGRIS_WALKS_ROWS
static TIGRIS_NOINLINE void tigris_walk_in_range(const tigris_line_walk *walk, const int8_t *input, int8_t *output,
                                                 int32_t lines)
{
    tigris_walk_by(walk, input, output, lines, TIGRIS_WALK_RIGHT);
}

static TIGRIS_NOINLINE void tigris_walk_otherwise(const tigris_line_walk *walk, const int8_t *input, int8_t *output,
                                                  int32_t lines)
{
    if (tigris_is_right_shift(walk->channel.shift)) {
        tigris_walk_in_range(walk, input, output, lines);
    } else {
        tigris_walk_by(walk, input, output, lines, TIGRIS_WALK_OTHERWISE);
    }
}
#else
static TIGRIS_NOINLINE void tigris_walk_otherwise(const tigris_line_walk *walk, const int8_t *input, int8_t *output,
                                                  int32_t lines)
{
    tigris_walk_by(walk, input, output, lines, TIGRIS_WALK_RIGHT);
}

/* Where size counts, whether lines have a way for a channel. */
static inline int tigris_walks_channel(const tigris_line_walk *walk, int32_t channel)
{
    return tigris_is_right_shift(walk->shift[channel]);
}
#endif

TIGRIS_INLINE void tigris_begin_channel(tigris_line_walk *walk, int32_t channel)
{
    const tigris_line_taps taps = tigris_channel_taps(walk, channel);
    int32_t first = 0, last = 0;
    walk->channel.bias = (uint32_t)walk->bias[channel];
    walk->channel.multiplier = walk->multiplier[channel];
    walk->channel.shift = walk->shift[channel];
    walk->channel.scale = tigris_scale_of(walk->channel.multiplier, walk->channel.shift, walk->output);
#pragma GCC unroll 3
    for (int32_t i = 0; i < 3; i++) {
        const int8_t *from = taps.lane[i];
        int32_t w0 = from[0], w1 = from[taps.apart], w2 = from[2 * taps.apart];
        if (i > 0 && walk->lane[i] == 0) {
            walk->channel.bias += (uint32_t)((w0 + w1 + w2) * walk->padding);
            w0 = w1 = w2 = 0;
        }
        walk->channel.begin[i] = tigris_pack(w0, w1);
        walk->channel.end[i] = tigris_pack(w1, w2);
        first += w0;
        last += w2;
    }
    walk->channel.padded[0] = (uint32_t)(first * walk->padding);
    walk->channel.padded[1] = (uint32_t)(last * walk->padding);
}

TIGRIS_INLINE void tigris_walk_usually(const tigris_line_walk *walk, const int8_t *input, int8_t *output, int32_t lines)
{
    if (walk->stride == 1) {
        tigris_walk_1(walk, input, output, lines);
    } else {
        tigris_walk_2(walk, input, output, lines);
    }
}

#if TIGRIS_WALKS_ROWS
/* Lines of all channels that are not scaled as usual; the first output begins at `input` in the middle lane. */
static TIGRIS_NOINLINE void tigris_walk_others(tigris_line_walk *walk, const int8_t *input, int8_t *output, int32_t lines)
{
    const int32_t fast_above = tigris_fast_above(walk->output);
    for (int32_t channel = 0; channel < walk->channels; channel++) {
        if (!tigris_walks_usually(walk, channel, fast_above)) {
            tigris_begin_channel(walk, channel);
            tigris_walk_otherwise(walk, input + channel, output + channel, lines);
        }
    }
}

/* The same of all channels. Others come last, so that rows by themselves may have them done there too. */
static TIGRIS_NOINLINE void tigris_walk_lines(tigris_line_walk *walk, const int8_t *input, int8_t *output, int32_t lines)
{
    const int32_t fast_above = tigris_fast_above(walk->output);
    int others = 0;
    for (int32_t channel = 0; channel < walk->channels; channel++) {
        if (tigris_walks_usually(walk, channel, fast_above)) {
            tigris_begin_channel(walk, channel);
            tigris_walk_usually(walk, input + channel, output + channel, lines);
        } else {
            others = 1;
        }
    }
    if (others) {
        tigris_walk_others(walk, input, output, lines);
    }
}
#else
/* Lines of all channels; the first output begins at `input` in the middle lane. */
static TIGRIS_NOINLINE void tigris_walk_lines(tigris_line_walk *walk, const int8_t *input, int8_t *output, int32_t lines)
{
    const int32_t fast_above = tigris_fast_above(walk->output);
    for (int32_t channel = 0; channel < walk->channels; channel++) {
        tigris_begin_channel(walk, channel);
        if (tigris_walks_usually(walk, channel, fast_above)) {
            tigris_walk_usually(walk, input + channel, output + channel, lines);
        } else {
            tigris_walk_otherwise(walk, input + channel, output + channel, lines);
        }
    }
}
#endif

#if TIGRIS_WALKS_ROWS
/* Whether tigris_walk_row takes a line: of five outputs, as registers hold their sums, of all of int8. */
static inline int tigris_walks_row(const tigris_line_walk *walk)
{
    return walk->columns == 5 && tigris_fast_above(walk->output) != INT32_MAX && tigris_is_plain_row(walk);
}

/* A lane of a row of five outputs; its weights lie at `weights`, in a block. */
TIGRIS_INLINE const int8_t *tigris_walk_row_lane(const int8_t *from, int32_t step, const int8_t *weights, int32_t padding,
                                                 uint32_t sum[5])
{
    const tigris_pair begin = tigris_pack(weights[0], weights[4]), end = tigris_pack(weights[4], weights[8]);
    sum[0] = tigris_add_first_first(padding, begin, sum[0]);
    sum[4] = tigris_add_first_second(padding, end, sum[4]);
    TIGRIS_ADD_ROW_OF_FIVE(sum, from, step, begin, end);
    return from;
}

/* A row that tigris_walks_row takes, lane by lane, from pairs of columns, so that sums keep their registers. What
 * channels share is in variables, since a store could change the record. */
static TIGRIS_NOINLINE void tigris_walk_row(tigris_line_walk *walk, const int8_t *input, int8_t *output)
{
    const int32_t step = walk->step, padding = walk->padding, across = walk->lane[2] - 2 * step;
    const int32_t *const biases = walk->bias, *const multipliers = walk->multiplier;
    const int8_t *const shifts = walk->shift;
    const tigris_output_stage stage = walk->output;
    const int32_t channels = walk->channels, fast_above = tigris_fast_above(stage);
    const int8_t *weights = walk->weights;
    int others = 0;
    input += walk->lane[1];
    for (int32_t channel = 0; channel < channels; channel++) {
        const int32_t multiplier = multipliers[channel], shift = shifts[channel];
        if (tigris_is_fast_scale(multiplier, shift, fast_above)) {
            const tigris_scale scale = tigris_scale_of(multiplier, shift, stage);
            const uint32_t bias = (uint32_t)biases[channel];
            uint32_t sum[5] = {bias, bias, bias, bias, bias};
            const int8_t *from = tigris_walk_row_lane(input, step, weights, padding, sum);
            from = tigris_walk_row_lane(from + across, step, weights + 12, padding, sum);
            from = tigris_walk_row_lane(from + across, step, weights + 24, padding, sum);
            output[0] = (int8_t)tigris_requantise_fast(sum[0], scale, stage);
            output[step] = (int8_t)tigris_requantise_fast(sum[1], scale, stage);
            int8_t *const to = output + 2 * step;
            to[0] = (int8_t)tigris_requantise_fast(sum[2], scale, stage);
            to[step] = (int8_t)tigris_requantise_fast(sum[3], scale, stage);
            to[2 * step] = (int8_t)tigris_requantise_fast(sum[4], scale, stage);
        } else {
            others = 1;
        }
        input++;
        output++;
        weights += (channel & 3) == 3 ? 33 : 1;
    }
    if (others) {
        tigris_walk_others(walk, input - walk->lane[1] - walk->channels, output - walk->channels, 1);
    }
}
#endif

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
