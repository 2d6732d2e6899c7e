/* The part of depthwise_int8.h with the DSP instructions of Armv7E-M (Cortex-M4, M7) and Armv8-M.
 *
 * On lines, two bytes of a lane are packed into a register (PKHBT) and take part in up to two products an instruction.
 * Weights stay in memory, since sums of four outputs fill the registers. */
#ifndef TIGRIS_DSP_DEPTHWISE_INT8_H
#define TIGRIS_DSP_DEPTHWISE_INT8_H

#define TIGRIS_LONGER_LINES 1 /* as in portable/depthwise_int8.h */

/* How a channel's sums are requantised (scale_int8.h). */
enum { TIGRIS_PATH_FAST, TIGRIS_PATH_RIGHT_SHIFT, TIGRIS_PATH_ANY_SHIFT };

static inline int tigris_is_fast_channel(const tigris_line_loop *loop, int32_t channel, int32_t fast_above)
{
    return tigris_is_fast_scale(loop->multiplier[channel], loop->shift[channel], fast_above) &&
           tigris_can_double(loop->bias[channel], loop->shift[channel]);
}

/* `sum` and the column at `from` as column 0 of an output. */
TIGRIS_INLINE uint32_t tigris_add_column_0(const tigris_line_loop *loop, const int8_t *from, uint32_t sum)
{
    for (int32_t i = 0; i < 3; i++) {
        sum = tigris_add_first_first(from[loop->lane[i]], loop->channel.taps[i].begin, sum);
    }
    return sum;
}

TIGRIS_INLINE int32_t tigris_line_result(const tigris_line_loop *loop, uint32_t sum, int path)
{
    if (path == TIGRIS_PATH_ANY_SHIFT) {
        return tigris_requantise_any_shift((int32_t)sum, loop->channel.multiplier, loop->channel.shift,
                                           loop->output.zero_point, loop->output.low, loop->output.high);
    }
    /* Member by member, else GCC copies the record. */
    const tigris_scale scale = {loop->channel.scale.doubled, loop->channel.scale.right, loop->channel.scale.offset};
    return path == TIGRIS_PATH_FAST ? tigris_requantise_doubled(sum, scale)
                                    : tigris_requantise_right_shift(sum, scale, loop->output);
}

/* Stride 1: a pair of columns ends two outputs and begins two. */
TIGRIS_INLINE void tigris_run_stride_1(const tigris_line_loop *loop, const int8_t *input,
                                       int8_t *output, int32_t lines, int path)
{
    const int32_t lane_1 = loop->lane[1], lane_2 = loop->lane[2], step = loop->step;
    for (; lines > 0; lines--) {
        const int8_t *from = input;
        int8_t *to = output;
        int32_t left = loop->columns - 1;
        uint32_t after = loop->channel.bias, next = after + loop->channel.padded[0];
        if (loop->left == 0) {
            next = tigris_add_column_0(loop, from, after);
            from += step;
            left--;
        }
#pragma GCC unroll 3
        for (int32_t i = 0; i < 3; i++) {
            const int32_t value = from[loop->lane[i]];
            next = tigris_add_first_second(value, loop->channel.taps[i].begin, next);
            after = tigris_add_first_first(value, loop->channel.taps[i].begin, after);
        }
        from += step;
        for (int32_t pairs = left >> 1; pairs > 0; pairs--) {
            const int8_t *second = from + loop->step;
            uint32_t now = next, soon = after;
            after = next = loop->channel.bias;
#pragma GCC unroll 3
            for (int32_t i = 0; i < 3; i++) {
                const int32_t lane = i == 0 ? 0 : i == 1 ? lane_1 : lane_2;
                const tigris_pair pair = tigris_pack(from[lane], second[lane]);
                const tigris_lane_taps taps = loop->channel.taps[i];
                now = tigris_add_first_second(pair, taps.end, now);
                soon = tigris_add_both(pair, taps.end, soon);
                next = tigris_add_both(pair, taps.begin, next);
                after = tigris_add_second_first(pair, taps.begin, after);
                TIGRIS_STEP(); /* else GCC loads all lanes first, and spills the sums */
            }
            from = second + loop->step;
            const int32_t first = tigris_line_result(loop, now, path), other = tigris_line_result(loop, soon, path);
            const int32_t output_step = loop->output_step;
            to[0] = (int8_t)first;
            to[output_step] = (int8_t)other;
            to += 2 * output_step;
        }
        if ((left & 1) != 0) {
#pragma GCC unroll 3
            for (int32_t i = 0; i < 3; i++) {
                const int32_t value = from[loop->lane[i]];
                next = tigris_add_first_second(value, loop->channel.taps[i].end, next);
                after = tigris_add_first_first(value, loop->channel.taps[i].end, after);
            }
            *to = (int8_t)tigris_line_result(loop, next, path);
            to += loop->output_step;
            next = after;
        }
        if (loop->right != 0) {
            *to = (int8_t)tigris_line_result(loop, next + loop->channel.padded[1], path);
        }
        input += loop->line_step;
        output += loop->output_line_step;
    }
}

/* Stride 2: an odd column is the middle of an output, an even one ends an output and begins the next. */
TIGRIS_INLINE void tigris_run_stride_2(const tigris_line_loop *loop, const int8_t *input,
                                       int8_t *output, int32_t lines, int path)
{
    const int32_t lane_1 = loop->lane[1], lane_2 = loop->lane[2], step = loop->step;
    for (; lines > 0; lines--) {
        const int8_t *from = input;
        int8_t *to = output;
        int32_t left = loop->columns;
        uint32_t next = loop->channel.bias + loop->channel.padded[0];
        if (loop->left == 0) {
            next = tigris_add_column_0(loop, from, loop->channel.bias);
            from += step;
            left--;
        }
        const int8_t *const end = to + (left >> 1) * loop->output_step;
        while (to != end) {
            const int8_t *even = from + step;
            uint32_t now = next;
            next = loop->channel.bias;
#pragma GCC unroll 3
            for (int32_t i = 0; i < 3; i++) {
                const int32_t lane = i == 0 ? 0 : i == 1 ? lane_1 : lane_2;
                const tigris_pair pair = tigris_pack(from[lane], even[lane]);
                const tigris_lane_taps taps = loop->channel.taps[i];
                now = tigris_add_both(pair, taps.end, now);
                next = tigris_add_second_first(pair, taps.begin, next);
                TIGRIS_STEP();
            }
            *to = (int8_t)tigris_line_result(loop, now, path);
            to += loop->output_step;
            from = even + step;
        }
        if (loop->right != 0) {
            next += loop->channel.padded[1];
            for (int32_t i = 0; i < 3; i++) {
                next = tigris_add_first_first(from[loop->lane[i]], loop->channel.taps[i].end, next);
            }
            *to = (int8_t)tigris_line_result(loop, next, path);
        }
        input += loop->line_step;
        output += loop->output_line_step;
    }
}

static TIGRIS_NOINLINE void tigris_run_fast_1(const tigris_line_loop *loop, const int8_t *input, int8_t *output,
                                              int32_t lines)
{
    tigris_run_stride_1(loop, input, output, lines, TIGRIS_PATH_FAST);
}

static TIGRIS_NOINLINE void tigris_run_fast_2(const tigris_line_loop *loop, const int8_t *input, int8_t *output,
                                              int32_t lines)
{
    tigris_run_stride_2(loop, input, output, lines, TIGRIS_PATH_FAST);
}

TIGRIS_INLINE void tigris_run_path(const tigris_line_loop *loop, const int8_t *input, int8_t *output, int32_t lines,
                                   int path)
{
    if (loop->stride == 1) {
        tigris_run_stride_1(loop, input, output, lines, path);
    } else {
        tigris_run_stride_2(loop, input, output, lines, path);
    }
}

/* Channels that are not on the fast path. */
#if TIGRIS_HAS_ROW_LOOP
static TIGRIS_NOINLINE void tigris_run_right_shift(const tigris_line_loop *loop, const int8_t *input, int8_t *output,
                                                   int32_t lines)
{
    tigris_run_path(loop, input, output, lines, TIGRIS_PATH_RIGHT_SHIFT);
}

static TIGRIS_NOINLINE void tigris_run_any_shift(const tigris_line_loop *loop, const int8_t *input, int8_t *output,
                                                 int32_t lines)
{
    if (tigris_is_right_shift(loop->channel.shift)) {
        tigris_run_right_shift(loop, input, output, lines);
    } else {
        tigris_run_path(loop, input, output, lines, TIGRIS_PATH_ANY_SHIFT);
    }
}
#else
static TIGRIS_NOINLINE void tigris_run_any_shift(const tigris_line_loop *loop, const int8_t *input, int8_t *output,
                                                 int32_t lines)
{
    tigris_run_path(loop, input, output, lines, TIGRIS_PATH_RIGHT_SHIFT);
}

/* At -Os: whether lines can compute a channel. */
static inline int tigris_has_line_loop(const tigris_line_loop *loop, int32_t channel)
{
    return tigris_is_right_shift(loop->shift[channel]);
}
#endif

/* Loads a channel's constants, weights and bias `times` 1 or, for tigris_requantise_doubled, 2. */
TIGRIS_INLINE void tigris_load_channel(tigris_line_loop *loop, int32_t channel, int32_t times)
{
    const tigris_line_taps taps = tigris_channel_taps(loop, channel);
    int32_t first = 0, last = 0;
    loop->channel.bias = (uint32_t)loop->bias[channel] * (uint32_t)times;
    loop->channel.multiplier = loop->multiplier[channel];
    loop->channel.shift = loop->shift[channel];
    loop->channel.scale = times == 2
        ? tigris_doubled_sum_scale(loop->channel.multiplier, loop->channel.shift, loop->output)
        : tigris_scale_of(loop->channel.multiplier, loop->channel.shift, loop->output);
#pragma GCC unroll 3
    for (int32_t i = 0; i < 3; i++) {
        const int8_t *from = taps.lane[i];
        int32_t w0 = times * from[0], w1 = times * from[taps.stride], w2 = times * from[2 * taps.stride];
        if (i > 0 && loop->lane[i] == 0) {
            loop->channel.bias += (uint32_t)((w0 + w1 + w2) * loop->padding);
            w0 = w1 = w2 = 0;
        }
        loop->channel.taps[i].begin = tigris_pack(w0, w1);
        loop->channel.taps[i].end = tigris_pack(w1, w2);
        first += w0;
        last += w2;
    }
    loop->channel.padded[0] = (uint32_t)(first * loop->padding);
    loop->channel.padded[1] = (uint32_t)(last * loop->padding);
}

#if TIGRIS_HAS_ROW_LOOP
/* Whether lines have six outputs of stride 1 and padding on both sides. */
static inline int tigris_is_line_of_six(const tigris_line_loop *loop)
{
    return loop->columns == 6 && loop->stride == 1 && (loop->left & loop->right) != 0;
}

/* Computes lines of six, lane by lane; all sums stay in registers. */
static TIGRIS_NOINLINE void tigris_run_fast_6(const tigris_line_loop *loop, const int8_t *input, int8_t *output,
                                              int32_t lines)
{
    for (; lines > 0; lines--) {
        const uint32_t bias = loop->channel.bias;
        uint32_t s0 = bias + loop->channel.padded[0], s1 = bias, s2 = bias, s3 = bias, s4 = bias;
        uint32_t s5 = bias + loop->channel.padded[1];
#pragma GCC unroll 3
        for (int32_t i = 0; i < 3; i++) {
            const int32_t step = loop->step;
            const tigris_lane_taps taps = loop->channel.taps[i];
            const int8_t *from = input + loop->lane[i];
            tigris_pair pair = tigris_pack(from[0], from[step]);
            s0 = tigris_add_both(pair, taps.end, s0);
            s1 = tigris_add_both(pair, taps.begin, s1);
            s2 = tigris_add_second_first(pair, taps.begin, s2);
            TIGRIS_STEP();
            from += 2 * step;
            pair = tigris_pack(from[0], from[step]);
            s1 = tigris_add_first_second(pair, taps.end, s1);
            s2 = tigris_add_both(pair, taps.end, s2);
            s3 = tigris_add_both(pair, taps.begin, s3);
            s4 = tigris_add_second_first(pair, taps.begin, s4);
            TIGRIS_STEP();
            from += 2 * step;
            pair = tigris_pack(from[0], from[step]);
            s3 = tigris_add_first_second(pair, taps.end, s3);
            s4 = tigris_add_both(pair, taps.end, s4);
            s5 = tigris_add_both(pair, taps.begin, s5);
            TIGRIS_STEP();
        }
        const tigris_scale scale = {loop->channel.scale.doubled, loop->channel.scale.right, loop->channel.scale.offset};
        const int32_t step = loop->output_step;
        int8_t *to = output;
        to[0] = (int8_t)tigris_requantise_doubled(s0, scale);
        to[step] = (int8_t)tigris_requantise_doubled(s1, scale);
        to += 2 * step;
        to[0] = (int8_t)tigris_requantise_doubled(s2, scale);
        to[step] = (int8_t)tigris_requantise_doubled(s3, scale);
        to += 2 * step;
        to[0] = (int8_t)tigris_requantise_doubled(s4, scale);
        to[step] = (int8_t)tigris_requantise_doubled(s5, scale);
        input += loop->line_step;
        output += loop->output_line_step;
    }
}
#endif

TIGRIS_INLINE void tigris_run_fast(const tigris_line_loop *loop, const int8_t *input, int8_t *output, int32_t lines)
{
#if TIGRIS_HAS_ROW_LOOP
    if (tigris_is_line_of_six(loop)) {
        tigris_run_fast_6(loop, input, output, lines);
        return;
    }
#endif
    if (loop->stride == 1) {
        tigris_run_fast_1(loop, input, output, lines);
    } else {
        tigris_run_fast_2(loop, input, output, lines);
    }
}

#if TIGRIS_HAS_ROW_LOOP
/* Lines of all channels that are not on the fast path. `input`: column 0 of the first output, in the middle lane. */
static TIGRIS_NOINLINE void tigris_run_slow_channels(tigris_line_loop *loop, const int8_t *input, int8_t *output,
                                                     int32_t lines)
{
    const int32_t fast_above = tigris_fast_above(loop->output);
    for (int32_t channel = 0; channel < loop->channels; channel++) {
        if (!tigris_is_fast_channel(loop, channel, fast_above)) {
            tigris_load_channel(loop, channel, 1);
            tigris_run_any_shift(loop, input + channel, output + channel, lines);
        }
    }
}

/* Lines of all channels. The slow channels come last: tigris_run_row has them computed by the same function. */
static TIGRIS_NOINLINE void tigris_run_lines(tigris_line_loop *loop, const int8_t *input, int8_t *output, int32_t lines)
{
    const int32_t fast_above = tigris_fast_above(loop->output);
    int slow = 0;
    for (int32_t channel = 0; channel < loop->channels; channel++) {
        if (tigris_is_fast_channel(loop, channel, fast_above)) {
            tigris_load_channel(loop, channel, 2);
            tigris_run_fast(loop, input + channel, output + channel, lines);
        } else {
            slow = 1;
        }
    }
    if (slow) {
        tigris_run_slow_channels(loop, input, output, lines);
    }
}
#else
/* Lines of all channels. `input`: column 0 of the first output, in the middle lane. */
static TIGRIS_NOINLINE void tigris_run_lines(tigris_line_loop *loop, const int8_t *input, int8_t *output, int32_t lines)
{
    const int32_t fast_above = tigris_fast_above(loop->output);
    for (int32_t channel = 0; channel < loop->channels; channel++) {
        const int fast = tigris_is_fast_channel(loop, channel, fast_above);
        tigris_load_channel(loop, channel, 1 + fast);
        if (fast) {
            tigris_run_fast(loop, input + channel, output + channel, lines);
        } else {
            tigris_run_any_shift(loop, input + channel, output + channel, lines);
        }
    }
}
#endif

#if TIGRIS_HAS_ROW_LOOP
/* Whether tigris_run_row can compute a line: five outputs, whose sums fit the registers, and clamped to all of int8. */
static inline int tigris_is_fast_row(const tigris_line_loop *loop)
{
    return loop->columns == 5 && tigris_fast_above(loop->output) != INT32_MAX && tigris_is_plain_row(loop);
}

/* Adds a lane of a row of five outputs. `weights`: the lane's first weight, in a block of four channels. */
TIGRIS_INLINE const int8_t *tigris_add_row_lane(const int8_t *from, int32_t step, const int8_t *weights,
                                                int32_t padding, uint32_t sum[5])
{
    const tigris_pair begin = tigris_pack(weights[0], weights[4]), end = tigris_pack(weights[4], weights[8]);
    sum[0] = tigris_add_first_first(padding, begin, sum[0]);
    sum[4] = tigris_add_first_second(padding, end, sum[4]);
    TIGRIS_ADD_ROW_OF_FIVE(sum, from, step, begin, end);
    return from;
}

/* A row for which tigris_is_fast_row is true: lane by lane, from pairs of columns, so that sums keep their registers.
 * Fields of the loop are copied to variables, since the compiler must assume that a store changes the record. */
static TIGRIS_NOINLINE void tigris_run_row(tigris_line_loop *loop, const int8_t *input, int8_t *output)
{
    const int32_t step = loop->step, padding = loop->padding, across = loop->lane[2] - 2 * step;
    const int32_t *const biases = loop->bias, *const multipliers = loop->multiplier;
    const int8_t *const shifts = loop->shift;
    const tigris_output_stage stage = loop->output;
    const int32_t channels = loop->channels, fast_above = tigris_fast_above(stage);
    const int8_t *weights = loop->weights;
    int slow = 0;
    input += loop->lane[1];
    for (int32_t channel = 0; channel < channels; channel++) {
        const int32_t multiplier = multipliers[channel], shift = shifts[channel];
        if (tigris_is_fast_channel(loop, channel, fast_above)) {
            const tigris_scale scale = tigris_scale_of(multiplier, shift, stage);
            const uint32_t bias = (uint32_t)biases[channel];
            uint32_t sum[5] = {bias, bias, bias, bias, bias};
            const int8_t *from = tigris_add_row_lane(input, step, weights, padding, sum);
            from = tigris_add_row_lane(from + across, step, weights + 12, padding, sum);
            from = tigris_add_row_lane(from + across, step, weights + 24, padding, sum);
            output[0] = (int8_t)tigris_requantise_fast(sum[0], scale, stage);
            output[step] = (int8_t)tigris_requantise_fast(sum[1], scale, stage);
            int8_t *const to = output + 2 * step;
            to[0] = (int8_t)tigris_requantise_fast(sum[2], scale, stage);
            to[step] = (int8_t)tigris_requantise_fast(sum[3], scale, stage);
            to[2 * step] = (int8_t)tigris_requantise_fast(sum[4], scale, stage);
        } else {
            slow = 1;
        }
        input++;
        output++;
        weights += (channel & 3) == 3 ? 33 : 1;
    }
    if (slow) {
        tigris_run_slow_channels(loop, input - loop->lane[1] - loop->channels, output - loop->channels, 1);
    }
}

TIGRIS_INLINE void tigris_run_rows(tigris_line_loop *loop, const int8_t *input, int8_t *output, int32_t count)
{
    for (; count > 0; count--) {
        tigris_run_row(loop, input, output);
        input += loop->line_step;
        output += loop->output_line_step;
    }
}
#endif

/* Adds `count` taps of four channels, at least one. `step`: stride of the taps in the input. */
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
