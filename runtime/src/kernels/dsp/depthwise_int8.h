/* The part of depthwise_int8.h with the DSP instructions of Armv7E-M (Cortex-M4, M7) and Armv8-M.
 *
 * On lines, two bytes of a lane are packed into a register (PKHBT) and take part in up to two products an instruction.
 * A channel's weights are loaded once for all its lines. They stay in memory, since sums of up to six outputs fill the
 * registers. */
#ifndef TIGRIS_DSP_DEPTHWISE_INT8_H
#define TIGRIS_DSP_DEPTHWISE_INT8_H

#define TIGRIS_LONGER_LINES 1 /* as in portable/depthwise_int8.h */

#define TIGRIS_LINE_SUMS 6 /* that stay in registers */

/* By how many lanes the loop over one column is unrolled: an enum, since GCC expands no macro in its pragma. */
enum { TIGRIS_COLUMN_LANES = TIGRIS_HAS_ROW_LOOP ? 3 : 1 };

/* How a channel's sums are requantised (scale_int8.h); on the fast path they are doubled or not. */
enum { TIGRIS_PATH_DOUBLED, TIGRIS_PATH_FAST, TIGRIS_PATH_RIGHT_SHIFT, TIGRIS_PATH_ANY_SHIFT };

static inline int tigris_is_fast_channel(const tigris_line_loop *loop, int32_t channel, int32_t fast_above)
{
    return tigris_is_fast_scale(loop->multiplier[channel], loop->shift[channel], fast_above) &&
           tigris_can_double(loop->bias[channel], loop->shift[channel]);
}

/* Adds columns `at` and at + 1 of a lane, or one column, to the sums of `count` outputs. At stride 1 output i has the
 * columns i to i + 2, at stride 2 those from 2 i on. `single`, `at`, `stride` and `count` are constants. */
TIGRIS_INLINE void tigris_add_pair(tigris_pair pair, int single, tigris_lane_taps taps, int32_t at, int32_t stride,
                                   int32_t count, uint32_t *sums)
{
#pragma GCC unroll 6
    for (int32_t i = 0; i < count; i++) {
        switch (at - i * stride) {
        case -1:
            sums[i] = single ? sums[i] : tigris_add_second_first(pair, taps.begin, sums[i]);
            break;
        case 0:
            sums[i] = single ? tigris_add_first_first(pair, taps.begin, sums[i])
                             : tigris_add_both(pair, taps.begin, sums[i]);
            break;
        case 1:
            sums[i] = single ? tigris_add_first_first(pair, taps.end, sums[i])
                             : tigris_add_both(pair, taps.end, sums[i]);
            break;
        case 2:
            sums[i] = tigris_add_first_second(pair, taps.end, sums[i]);
            break;
        default:
            break;
        }
    }
    TIGRIS_STEP(); /* else GCC loads more columns first, and spills the sums */
}

/* Adds `columns` columns of a lane, from column `at` on. */
TIGRIS_INLINE void tigris_add_lane(const int8_t *from, int32_t step, tigris_lane_taps taps, int32_t columns,
                                   int32_t at, int32_t stride, int32_t count, uint32_t *sums)
{
#pragma GCC unroll 3
    for (int32_t i = 0; i < columns; i += 2) {
        const int single = i + 1 == columns;
        const tigris_pair pair = single ? from[0] : tigris_pack(from[0], from[step]);
        from += 2 * step;
        TIGRIS_HOLD(from); /* else GCC keeps an address of each column */
        tigris_add_pair(pair, single, taps, at + i, stride, count, sums);
    }
}

TIGRIS_INLINE int8_t tigris_line_result(const tigris_line_loop *loop, uint32_t sum, tigris_scale scale, int path)
{
    switch (path) {
    case TIGRIS_PATH_DOUBLED:
        return (int8_t)tigris_requantise_doubled(sum, scale);
    case TIGRIS_PATH_FAST:
        return (int8_t)tigris_requantise_fast(sum, scale, loop->output);
    case TIGRIS_PATH_RIGHT_SHIFT:
        return (int8_t)tigris_requantise_right_shift(sum, scale, loop->output);
    default:
        return (int8_t)tigris_requantise_any_shift((int32_t)sum, loop->channel.multiplier, loop->channel.shift,
                                                   loop->output.zero_point, loop->output.low, loop->output.high);
    }
}

/* Stores the results of `count` outputs, a constant. Returns the address of the next output. */
TIGRIS_INLINE int8_t *tigris_store_results(const tigris_line_loop *loop, const uint32_t *sums, tigris_scale scale,
                                           int32_t count, int path, int8_t *to)
{
    const int32_t step = loop->output_step;
#pragma GCC unroll 6
    for (int32_t i = 0; i < count; i += 2) {
        to[0] = tigris_line_result(loop, sums[i], scale, path);
        if (i + 1 < count) {
            to[step] = tigris_line_result(loop, sums[i + 1], scale, path);
        }
        to += (i + 1 < count ? 2 : 1) * step;
    }
    return to;
}

/* Likewise with the scale of the channel that is loaded. */
TIGRIS_INLINE int8_t *tigris_store_line(const tigris_line_loop *loop, const uint32_t *sums, int32_t count, int path,
                                        int8_t *to)
{
    /* Member by member, else GCC copies the record. */
    const tigris_scale scale = {loop->channel.scale.doubled, loop->channel.scale.right, loop->channel.scale.offset};
    return tigris_store_results(loop, sums, scale, count, path, to);
}

/* Adds column `at` of all lanes, which `from` points to in the middle lane. */
TIGRIS_INLINE void tigris_add_column(const tigris_line_loop *loop, const int8_t *from, int32_t at, int32_t stride,
                                     int32_t count, uint32_t *sums)
{
#pragma GCC unroll TIGRIS_COLUMN_LANES
    for (int32_t i = 0; i < 3; i++) {
        tigris_add_pair(from[loop->lane[i]], 1, loop->channel.taps[i], at, stride, count, sums);
    }
}

/* Adds `columns` columns of all lanes from column `at` on. `first` and `second`: in the middle lane; `lane_1` and
 * `lane_2`: bytes from it to the others. */
TIGRIS_INLINE void tigris_add_columns(const tigris_line_loop *loop, const int8_t *first, const int8_t *second,
                                      int32_t lane_1, int32_t lane_2, int32_t columns, int32_t at, int32_t stride,
                                      int32_t count, uint32_t *sums)
{
#pragma GCC unroll 3
    for (int32_t i = 0; i < 3; i++) {
        const int32_t lane = i == 0 ? 0 : i == 1 ? lane_1 : lane_2;
        const tigris_lane_taps taps = loop->channel.taps[i];
        if (columns == 2) {
            tigris_add_pair(tigris_pack(first[lane], second[lane]), 0, taps, at, stride, count, sums);
        } else {
            tigris_add_lane(first + lane, loop->step, taps, columns, at, stride, count, sums);
        }
    }
}

/* Adds `columns` columns from `*from` on, advances that, and stores the outputs that end. `next`: the sums of outputs
 * that columns before have begun: one, or two at stride 1. `columns`, `stride` and `path` are constants. */
TIGRIS_INLINE int8_t *tigris_run_columns(const tigris_line_loop *loop, const int8_t **from, int32_t lane_1,
                                         int32_t lane_2, int32_t columns, int32_t stride, int path, uint32_t next[2],
                                         int8_t *to)
{
    const int32_t outputs = columns / stride, begun = 3 - stride;
    const uint32_t bias = loop->channel.bias;
    const int8_t *const first = *from, *const second = first + loop->step;
    uint32_t sums[4] = {next[0], stride == 1 ? next[1] : bias, bias, bias};
    tigris_add_columns(loop, first, second, lane_1, lane_2, columns, begun, stride, outputs + begun, sums);
    *from = columns == 2 ? second + loop->step : first + columns * loop->step;
    next[0] = sums[outputs];
    next[1] = sums[outputs + begun - 1];
    return tigris_store_line(loop, sums, outputs, path, to);
}

/* Lines of any length. `stride` and `path` are constants. */
TIGRIS_INLINE void tigris_run_path(const tigris_line_loop *loop, const int8_t *input, int8_t *output, int32_t lines,
                                   int32_t stride, int path)
{
    const int32_t lane_1 = loop->lane[1], lane_2 = loop->lane[2], step = loop->step;
    const int fours = TIGRIS_HAS_ROW_LOOP && stride == 2;
    for (; lines > 0; lines--) {
        const int8_t *from = input;
        int8_t *to = output;
        int32_t left = loop->columns;
        uint32_t next[2] = {loop->channel.bias + loop->channel.padded[0], loop->channel.bias};
        if (loop->left == 0) {
            next[0] = loop->channel.bias;
            tigris_add_column(loop, from, 0, stride, 1, next);
            from += step;
            left--;
        }
        if (stride == 1) {
            tigris_add_columns(loop, from, from, lane_1, lane_2, 1, 1, 1, 2, next);
            from += step;
            left--;
        }
        for (int32_t passes = left >> (fours ? 2 : 1); passes > 0; passes--) {
            to = tigris_run_columns(loop, &from, lane_1, lane_2, fours ? 4 : 2, stride, path, next, to);
        }
        if (fours && (left & 2) != 0) {
            to = tigris_run_columns(loop, &from, lane_1, lane_2, 2, stride, path, next, to);
        }
        if (stride == 1 && (left & 1) != 0) {
            to = tigris_run_columns(loop, &from, lane_1, lane_2, 1, stride, path, next, to);
        }
        if (loop->right != 0) {
            next[0] += loop->channel.padded[1];
            if (stride == 2) {
                tigris_add_column(loop, from, 1, 2, 1, next);
            }
            tigris_store_line(loop, next, 1, path, to);
        }
        input += loop->line_step;
        output += loop->output_line_step;
    }
}

static TIGRIS_NOINLINE void tigris_run_fast_1(const tigris_line_loop *loop, const int8_t *input, int8_t *output,
                                              int32_t lines)
{
    tigris_run_path(loop, input, output, lines, 1, TIGRIS_PATH_DOUBLED);
}

static TIGRIS_NOINLINE void tigris_run_fast_2(const tigris_line_loop *loop, const int8_t *input, int8_t *output,
                                              int32_t lines)
{
    tigris_run_path(loop, input, output, lines, 2, TIGRIS_PATH_DOUBLED);
}

TIGRIS_INLINE void tigris_run_stride(const tigris_line_loop *loop, const int8_t *input, int8_t *output, int32_t lines,
                                     int path)
{
    if (loop->stride == 1) {
        tigris_run_path(loop, input, output, lines, 1, path);
    } else {
        tigris_run_path(loop, input, output, lines, 2, path);
    }
}

/* Channels that are not on the fast path. */
#if TIGRIS_HAS_ROW_LOOP
static TIGRIS_NOINLINE void tigris_run_right_shift(const tigris_line_loop *loop, const int8_t *input, int8_t *output,
                                                   int32_t lines)
{
    tigris_run_stride(loop, input, output, lines, TIGRIS_PATH_RIGHT_SHIFT);
}

static TIGRIS_NOINLINE void tigris_run_any_shift(const tigris_line_loop *loop, const int8_t *input, int8_t *output,
                                                 int32_t lines)
{
    if (tigris_is_right_shift(loop->channel.shift)) {
        tigris_run_right_shift(loop, input, output, lines);
    } else {
        tigris_run_stride(loop, input, output, lines, TIGRIS_PATH_ANY_SHIFT);
    }
}
#else
static TIGRIS_NOINLINE void tigris_run_any_shift(const tigris_line_loop *loop, const int8_t *input, int8_t *output,
                                                 int32_t lines)
{
    tigris_run_stride(loop, input, output, lines, TIGRIS_PATH_RIGHT_SHIFT);
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
    const int32_t multiplier = loop->multiplier[channel], shift = loop->shift[channel];
    int32_t first = 0, last = 0;
    loop->channel.bias = (uint32_t)loop->bias[channel] * (uint32_t)times;
    loop->channel.scale = times == 2 ? tigris_doubled_sum_scale(multiplier, shift, loop->output)
                                     : tigris_scale_of(multiplier, shift, loop->output);
    loop->channel.multiplier = multiplier;
    loop->channel.shift = shift;
#pragma GCC unroll 3
    for (int32_t i = 0; i < 3; i++) {
        const int8_t *from = taps.lane[i];
        const int32_t w0 = times * from[0], w1 = times * from[taps.stride], w2 = times * from[2 * taps.stride];
        loop->channel.taps[i].begin = tigris_pack(w0, w1);
        loop->channel.taps[i].end = tigris_pack(w1, w2);
        first += w0;
        last += w2;
    }
    loop->channel.padded[0] = (uint32_t)(first * loop->padding);
    loop->channel.padded[1] = (uint32_t)(last * loop->padding);
}

/* Makes the products of a lane outside the input with the padding a part of the bias. */
static TIGRIS_NOINLINE void tigris_drop_lane(tigris_line_loop *loop, int32_t lane)
{
    tigris_line_channel *channel = &loop->channel;
    const tigris_lane_taps taps = channel->taps[lane], none = {0, 0};
    const uint32_t first = tigris_add_first_first(taps.begin, loop->padding, 0U);
    const uint32_t last = tigris_add_second_first(taps.end, loop->padding, 0U);
    channel->bias = tigris_add_second_first(taps.begin, loop->padding, channel->bias + first + last);
    channel->padded[0] -= first;
    channel->padded[1] -= last;
    channel->taps[lane] = none;
    loop->lane[lane] = 0;
}

#if TIGRIS_HAS_ROW_LOOP
/* Lines of `outputs` outputs, a constant, of stride 1 with padding on both sides. All sums stay in registers. */
TIGRIS_INLINE void tigris_run_short(const tigris_line_loop *loop, const int8_t *input, int8_t *output, int32_t lines,
                                    int32_t outputs)
{
    for (; lines > 0; lines--) {
        const uint32_t bias = loop->channel.bias;
        uint32_t sums[TIGRIS_LINE_SUMS] = {bias + loop->channel.padded[0], bias, bias, bias, bias, bias};
        sums[outputs - 1] += loop->channel.padded[1];
#pragma GCC unroll 3
        for (int32_t i = 0; i < 3; i++) {
            const int32_t lane = i == 0 ? 0 : loop->lane[i];
            if (i == 0 || lane != 0) {
                tigris_add_lane(input + lane, loop->step, loop->channel.taps[i], outputs, 1, 1, outputs, sums);
            }
        }
        tigris_store_line(loop, sums, outputs, TIGRIS_PATH_DOUBLED, output);
        input += loop->line_step;
        output += loop->output_line_step;
    }
}

static TIGRIS_NOINLINE void tigris_run_three(const tigris_line_loop *loop, const int8_t *input, int8_t *output,
                                             int32_t lines)
{
    tigris_run_short(loop, input, output, lines, 3);
}

static TIGRIS_NOINLINE void tigris_run_five(const tigris_line_loop *loop, const int8_t *input, int8_t *output,
                                            int32_t lines)
{
    tigris_run_short(loop, input, output, lines, 5);
}

static TIGRIS_NOINLINE void tigris_run_six(const tigris_line_loop *loop, const int8_t *input, int8_t *output,
                                           int32_t lines)
{
    tigris_run_short(loop, input, output, lines, 6);
}
#endif

/* Computes lines of a channel whose lanes are inside the input alike. */
typedef void tigris_line_body(const tigris_line_loop *loop, const int8_t *input, int8_t *output, int32_t lines);

/* The body for channels on the fast path. */
static inline tigris_line_body *tigris_fast_body(const tigris_line_loop *loop)
{
    if (loop->stride == 2) {
        return tigris_run_fast_2;
    }
#if TIGRIS_HAS_ROW_LOOP
    if ((loop->left & loop->right) != 0) {
        switch (loop->columns) {
        case 3:
            return tigris_run_three;
        case 5:
            return tigris_run_five;
        case 6:
            return tigris_run_six;
        default:
            break;
        }
    }
#endif
    return tigris_run_fast_1;
}

/* The first and the last line of the channel that is loaded, if a lane is outside the input. `input` and `output` are
 * those of the first line inside. */
static TIGRIS_NOINLINE void tigris_run_edges(tigris_line_loop *loop, const int8_t *input, int8_t *output,
                                             tigris_line_body *body)
{
    const int32_t across = loop->lane[2], inside = loop->inside;
    if (loop->after != 0) {
        const tigris_line_channel whole = loop->channel;
        tigris_drop_lane(loop, 2);
        if (inside >= 0) {
            body(loop, input + inside * loop->line_step, output + inside * loop->output_line_step, 1);
            loop->channel = whole;
            loop->lane[2] = across;
        }
    }
    if (loop->before != 0) {
        tigris_drop_lane(loop, 1);
        body(loop, input - loop->line_step, output - loop->output_line_step, 1);
        loop->lane[1] = -across;
        loop->lane[2] = across;
    }
}

/* All lines of a channel, whose weights are loaded once. */
TIGRIS_INLINE void tigris_run_channel(tigris_line_loop *loop, int32_t channel, const int8_t *input, int8_t *output,
                                      int32_t times, tigris_line_body *body)
{
    tigris_load_channel(loop, channel, times);
    if (loop->inside > 0) {
        body(loop, input + channel, output + channel, loop->inside);
    }
    if ((loop->before | loop->after) != 0) {
        tigris_run_edges(loop, input + channel, output + channel, body);
    }
}

#if TIGRIS_HAS_ROW_LOOP
static TIGRIS_NOINLINE void tigris_run_slow_channel(tigris_line_loop *loop, int32_t channel, const int8_t *input,
                                                    int8_t *output)
{
    tigris_run_channel(loop, channel, input, output, 1, tigris_run_any_shift);
}

/* Whether tigris_run_row can compute a band: one row of five outputs, clamped to all of int8. */
static inline int tigris_is_fast_row(const tigris_line_loop *loop)
{
    return loop->columns == 5 && loop->lines == 1 && (loop->before | loop->after) == 0 &&
           tigris_fast_above(loop->output) != INT32_MAX && tigris_is_plain_row(loop);
}

/* A row for which tigris_is_fast_row is true: weights are used as they are loaded. Fields of the loop are copied to
 * variables, since the compiler must assume that a store changes the record. */
static TIGRIS_NOINLINE void tigris_run_row(tigris_line_loop *loop, const int8_t *input, int8_t *output)
{
    const int32_t step = loop->step, padding = loop->padding, across = loop->lane[2];
    const int32_t *const biases = loop->bias, *const multipliers = loop->multiplier;
    const int8_t *const shifts = loop->shift;
    const tigris_output_stage stage = loop->output;
    const int32_t channels = loop->channels, fast_above = tigris_fast_above(stage);
    const int8_t *weights = loop->weights;
    for (int32_t channel = 0; channel < channels; channel++) {
        if (tigris_is_fast_channel(loop, channel, fast_above)) {
            const uint32_t bias = (uint32_t)biases[channel];
            uint32_t sums[TIGRIS_LINE_SUMS] = {bias, bias, bias, bias, bias, bias};
            const int8_t *from = input - across;
#pragma GCC unroll 3
            for (int32_t i = 0; i < 36; i += 12) {
                const tigris_lane_taps taps = {tigris_pack(weights[i], weights[i + 4]),
                                               tigris_pack(weights[i + 4], weights[i + 8])};
                sums[0] = tigris_add_first_first(padding, taps.begin, sums[0]);
                sums[4] = tigris_add_first_second(padding, taps.end, sums[4]);
                tigris_add_lane(from, step, taps, 5, 1, 1, 5, sums);
                from += across;
                TIGRIS_HOLD(from);
            }
            const tigris_scale scale = tigris_scale_of(multipliers[channel], shifts[channel], stage);
            tigris_store_results(loop, sums, scale, 5, TIGRIS_PATH_FAST, output);
        } else {
            tigris_run_slow_channel(loop, channel, input - channel, output - channel);
        }
        input++;
        output++;
        weights += (channel & 3) == 3 ? 33 : 1;
    }
}
#endif

/* All lines of all channels. `input`: column 0 of the first output, in the middle lane. */
static TIGRIS_NOINLINE void tigris_run_all_lines(tigris_line_loop *loop, const int8_t *input, int8_t *output)
{
    const int32_t fast_above = tigris_fast_above(loop->output);
    tigris_line_body *const body = tigris_fast_body(loop);
    loop->lane[0] = 0;
    loop->inside = loop->lines - loop->before - loop->after;
#if TIGRIS_HAS_ROW_LOOP
    if (tigris_is_fast_row(loop)) {
        tigris_run_row(loop, input, output);
        return;
    }
#endif
    input += loop->before * loop->line_step;
    output += loop->before * loop->output_line_step;
    for (int32_t channel = 0; channel < loop->channels; channel++) {
        const int fast = tigris_is_fast_channel(loop, channel, fast_above);
#if TIGRIS_HAS_ROW_LOOP
        if (!fast) {
            tigris_run_slow_channel(loop, channel, input, output);
            continue;
        }
#endif
        tigris_run_channel(loop, channel, input, output, 1 + fast, fast ? body : tigris_run_any_shift);
    }
}

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
