/* The part of depthwise_int8.h for 32-bit machines without vector instructions. */
#ifndef TIGRIS_PORTABLE_DEPTHWISE_INT8_H
#define TIGRIS_PORTABLE_DEPTHWISE_INT8_H

/* Lines are columns where these are more than so many times as long as rows. Rows share the set-up of a channel: with 4
 * the depthwise layers of keyword spotting in bands of six rows take 26 % fewer instructions (bench.cycles --ops). */
#define TIGRIS_LONGER_LINES (TIGRIS_HAS_ROW_LOOP ? 4 : 1)

/* The address of the next column in each lane. */
typedef struct tigris_column_at {
    const int8_t *r0, *r1, *r2;
} tigris_column_at;

/* A byte of each lane. */
typedef struct tigris_column {
    int32_t v0, v1, v2;
} tigris_column;

TIGRIS_INLINE tigris_column tigris_next_column(tigris_column_at *at, int32_t step)
{
    const tigris_column column = {*at->r0, *at->r1, *at->r2};
    at->r0 += step, at->r1 += step, at->r2 += step;
    return column;
}

/* Adds a column to `sum`, as column k of an output. */
TIGRIS_INLINE uint32_t tigris_add_to_line(uint32_t sum, tigris_column column, const int32_t w[9], int32_t k)
{
    sum += (uint32_t)(column.v0 * w[k]);
    sum += (uint32_t)(column.v1 * w[3 + k]);
    return sum + (uint32_t)(column.v2 * w[6 + k]);
}

/* The products of a column of padding as column k of an output. */
TIGRIS_INLINE uint32_t tigris_padding_sum(const tigris_line_loop *loop, const int32_t w[9], int32_t k)
{
    return (uint32_t)((w[k] + w[3 + k] + w[6 + k]) * loop->padding);
}

/* Loads the weights of a lane, times `times`. Weights of a lane outside the input are 0: its products with the
 * padding are added to the bias. */
TIGRIS_INLINE void tigris_load_lane(const tigris_line_loop *loop, const tigris_line_taps *taps, int32_t lane,
                                    int32_t times, int32_t w[3], uint32_t *bias)
{
    const int8_t *from = taps->lane[lane];
    w[0] = times * from[0], w[1] = times * from[taps->stride], w[2] = times * from[2 * taps->stride];
    if (lane != 0 && loop->lane[lane] == 0) {
        *bias += (uint32_t)((w[0] + w[1] + w[2]) * loop->padding);
        w[0] = w[1] = w[2] = 0;
    }
}

/* How a channel's sums are requantised. */
typedef struct tigris_line_scale {
    tigris_scale scale; /* of doubled sums; else `doubled` is the multiplier and `right` the shift */
    tigris_output_stage stage;
} tigris_line_scale;

TIGRIS_INLINE int8_t tigris_line_result(uint32_t sum, tigris_line_scale end, int twice)
{
    return (int8_t)(twice ? tigris_requantise_doubled(sum, end.scale, end.stage)
                          : tigris_requantise_any_shift((int32_t)sum, (int32_t)end.scale.doubled, end.scale.right,
                                                        end.stage.zero_point, end.stage.low, end.stage.high));
}

/* Lines of a channel. `input`: column 0 of the first output, in the middle lane; `twice`: sums are doubled. With
 * stride 1 a column is the last of one output and belongs to the next two. With stride 2 an odd column is the middle
 * of an output; an even one is the last of an output and the first of the next. */
TIGRIS_INLINE void tigris_run_channel(const tigris_line_loop *loop, int32_t channel, const int8_t *input,
                                      int8_t *output, int32_t lines, int twice)
{
    const int32_t step = loop->step, output_step = loop->output_step, times = twice ? 2 : 1;
    const tigris_output_stage stage = loop->output;
    tigris_scale scale = {(uint32_t)loop->multiplier[channel], loop->shift[channel], 0};
    if (twice) {
        scale = tigris_doubled_sum_scale(loop->multiplier[channel], loop->shift[channel], stage);
    }
    const tigris_line_scale path = {scale, stage};
    const tigris_line_taps taps = tigris_channel_taps(loop, channel);
    uint32_t bias = (uint32_t)loop->bias[channel] * (uint32_t)times;
    int32_t w[9];
    tigris_load_lane(loop, &taps, 0, times, w, &bias);
    tigris_load_lane(loop, &taps, 1, times, w + 3, &bias);
    tigris_load_lane(loop, &taps, 2, times, w + 6, &bias);
    for (; lines > 0; lines--) {
        tigris_column_at at = {input, input + loop->lane[1], input + loop->lane[2]};
        int8_t *to = output;
        uint32_t next = bias + tigris_padding_sum(loop, w, 0);
        int32_t left = loop->columns;
        if (loop->left == 0) {
            next = tigris_add_to_line(bias, tigris_next_column(&at, step), w, 0);
            left--;
        }
        if (loop->stride == 1) {
            const tigris_column middle = tigris_next_column(&at, step);
            uint32_t after = tigris_add_to_line(bias, middle, w, 0);
            next = tigris_add_to_line(next, middle, w, 1);
            const int8_t *const end = to + (left - 1) * output_step;
            while (to != end) {
                const tigris_column column = tigris_next_column(&at, step);
                const uint32_t now = tigris_add_to_line(next, column, w, 2);
                next = tigris_add_to_line(after, column, w, 1);
                after = tigris_add_to_line(bias, column, w, 0);
                *to = tigris_line_result(now, path, twice);
                to += output_step;
            }
        } else {
            const int8_t *const end = to + (left >> 1) * output_step;
            while (to != end) {
                next = tigris_add_to_line(next, tigris_next_column(&at, step), w, 1);
                const tigris_column even = tigris_next_column(&at, step);
                const uint32_t now = tigris_add_to_line(next, even, w, 2);
                next = tigris_add_to_line(bias, even, w, 0);
                *to = tigris_line_result(now, path, twice);
                to += output_step;
            }
            if (loop->right != 0) {
                next = tigris_add_to_line(next, tigris_next_column(&at, step), w, 1);
            }
        }
        if (loop->right != 0) {
            *to = tigris_line_result(next + tigris_padding_sum(loop, w, 2), path, twice);
        }
        input += loop->line_step;
        output += loop->output_line_step;
    }
}

#if TIGRIS_HAS_ROW_LOOP
/* Lines of all channels whose sums cannot be doubled. */
static TIGRIS_NOINLINE void tigris_run_slow_channels(const tigris_line_loop *loop, const int8_t *input, int8_t *output,
                                                     int32_t lines)
{
    for (int32_t channel = 0; channel < loop->channels; channel++) {
        if (!tigris_can_double(loop->bias[channel], loop->shift[channel])) {
            tigris_run_channel(loop, channel, input + channel, output + channel, lines, 0);
        }
    }
}

/* `count` rows for which tigris_is_plain_row is true. The set-up of a channel is short, which counts for short rows.
 * Weights lie at constant offsets. Fields of the loop are in variables, since the compiler must assume that a store
 * changes the loop. */
static TIGRIS_NOINLINE void tigris_run_rows(const tigris_line_loop *loop, const int8_t *input, int8_t *output,
                                            int32_t count)
{
    const int32_t step = loop->step, padding = loop->padding, lane_1 = loop->lane[1], lane_2 = loop->lane[2];
    const int32_t *const biases = loop->bias, *const multipliers = loop->multiplier;
    const int8_t *const shifts = loop->shift, *weights = loop->weights;
    const int32_t channels = loop->channels, length = (loop->columns - 1) * step;
    const tigris_output_stage stage = loop->output;
    int slow = 0;
    for (int32_t channel = 0; channel < channels; channel++) {
        const int32_t shift = shifts[channel];
        if (tigris_can_double(biases[channel], shift)) {
            const tigris_scale scale = tigris_doubled_sum_scale(multipliers[channel], shift, stage);
            const uint32_t bias = (uint32_t)biases[channel] << 1;
            const int32_t w[9] = {2 * weights[12], 2 * weights[16], 2 * weights[20], 2 * weights[0], 2 * weights[4],
                                  2 * weights[8],  2 * weights[24], 2 * weights[28], 2 * weights[32]};
            const uint32_t before = bias + (uint32_t)((w[0] + w[3] + w[6]) * padding);
            const uint32_t behind = (uint32_t)((w[2] + w[5] + w[8]) * padding);
            const int8_t *from = input;
            int8_t *row = output;
            for (int32_t left = count; left > 0; left--) {
                tigris_column_at at = {from, from + lane_1, from + lane_2};
                tigris_column column = tigris_next_column(&at, step);
                uint32_t next = tigris_add_to_line(before, column, w, 1);
                uint32_t after = tigris_add_to_line(bias, column, w, 0);
                int8_t *to = row;
                for (const int8_t *const end = to + length; to != end; to += step) {
                    column = tigris_next_column(&at, step);
                    const uint32_t now = tigris_add_to_line(next, column, w, 2);
                    next = tigris_add_to_line(after, column, w, 1);
                    after = tigris_add_to_line(bias, column, w, 0);
                    *to = (int8_t)tigris_requantise_doubled(now, scale, stage);
                }
                *to = (int8_t)tigris_requantise_doubled(next + behind, scale, stage);
                from += loop->line_step;
                row += loop->output_line_step;
            }
        } else {
            slow = 1;
        }
        input++;
        output++;
        weights += (channel & 3) == 3 ? 33 : 1;
    }
    if (slow) {
        tigris_run_slow_channels(loop, input - loop->channels, output - loop->channels, count);
    }
}

/* Lines of all channels whose lanes are inside the input alike. The slow channels come last, so that the loop over the
 * fast ones has all registers. */
static TIGRIS_NOINLINE void tigris_run_lines(const tigris_line_loop *loop, const int8_t *input, int8_t *output,
                                             int32_t lines)
{
    int slow = 0;
    if (tigris_is_plain_row(loop)) {
        tigris_run_rows(loop, input, output, lines);
        return;
    }
    for (int32_t channel = 0; channel < loop->channels; channel++) {
        if (tigris_can_double(loop->bias[channel], loop->shift[channel])) {
            tigris_run_channel(loop, channel, input + channel, output + channel, lines, 1);
        } else {
            slow = 1;
        }
    }
    if (slow) {
        tigris_run_slow_channels(loop, input, output, lines);
    }
}
#else
/* At -Os: whether lines can compute a channel. */
static inline int tigris_has_line_loop(const tigris_line_loop *loop, int32_t channel)
{
    return tigris_can_double(loop->bias[channel], loop->shift[channel]);
}

/* Lines of all channels whose lanes are inside the input alike. */
static TIGRIS_NOINLINE void tigris_run_lines(const tigris_line_loop *loop, const int8_t *input, int8_t *output,
                                             int32_t lines)
{
    for (int32_t channel = 0; channel < loop->channels; channel++) {
        tigris_run_channel(loop, channel, input + channel, output + channel, lines, 1);
    }
}
#endif

/* All lines of all channels; lines with all lanes inside in one call. `input`: column 0 of the first output, in the
 * middle lane. */
TIGRIS_INLINE void tigris_run_all_lines(tigris_line_loop *loop, const int8_t *input, int8_t *output)
{
    const int32_t across = loop->lane[2], whole = loop->lines - loop->after;
    loop->lane[1] = loop->before != 0 ? 0 : -across;
    for (int32_t line = 0, count; line < loop->lines; line += count) {
        const int8_t *from = input + line * loop->line_step;
        int8_t *to = output + line * loop->output_line_step;
        loop->lane[2] = line < whole ? across : 0;
        count = line < whole && loop->lane[1] != 0 ? whole - line : 1;
        tigris_run_lines(loop, from, to, count);
        loop->lane[1] = -across;
    }
}

/* Adds `count` taps of four channels, at least one. `step`: stride of the taps in the input. */
TIGRIS_INLINE void tigris_add_run(const int8_t *a, int32_t step, const int8_t *w, int32_t count,
                                  uint32_t sum[TIGRIS_CHANNEL_BLOCK])
{
    uint32_t s0 = sum[0], s1 = sum[1], s2 = sum[2], s3 = sum[3];
    const int8_t *const end = w + count * TIGRIS_CHANNEL_BLOCK;
    do {
        s0 += tigris_product(a[0], w[0]);
        s1 += tigris_product(a[1], w[1]);
        s2 += tigris_product(a[2], w[2]);
        s3 += tigris_product(a[3], w[3]);
        a += step;
        w += TIGRIS_CHANNEL_BLOCK;
    } while (w != end);
    sum[0] = s0, sum[1] = s1, sum[2] = s2, sum[3] = s3;
}
#endif
