/* The part of depthwise_int8.h for 32-bit machines without vector instructions. */
#ifndef TIGRIS_PORTABLE_DEPTHWISE_INT8_H
#define TIGRIS_PORTABLE_DEPTHWISE_INT8_H

/* Whether weights and bias of a channel may be doubled for tigris_requantise_doubled: neither nine products and the
 * bias nor the zero point in tigris_doubled_sum_scale overflows. Exceptions are channels that training has switched
 * off, and outputs whose scale is no larger than that of the products. */
static inline int tigris_walks_by(int32_t bias, int32_t shift)
{
    return TIGRIS_LIKELY((uint32_t)(shift + 20) < 20U && (uint32_t)bias + (1U << 29) < 1U << 30);
}

/* Where the next column begins in each lane. */
typedef struct tigris_column_at {
    const int8_t *r0, *r1, *r2;
} tigris_column_at;

/* A byte of each lane. */
typedef struct tigris_column {
    int32_t v0, v1, v2;
} tigris_column;

TIGRIS_INLINE tigris_column tigris_walk_column(tigris_column_at *at, int32_t step)
{
    const tigris_column column = {*at->r0, *at->r1, *at->r2};
    at->r0 += step, at->r1 += step, at->r2 += step;
    TIGRIS_KEEP(at->r0, at->r1, at->r2);
    return column;
}

/* `sum` and a column as column k of an output. */
TIGRIS_INLINE uint32_t tigris_walk_add(uint32_t sum, tigris_column column, const int32_t w[9], int32_t k)
{
    sum += (uint32_t)(column.v0 * w[k]);
    TIGRIS_HOLD(sum);
    sum += (uint32_t)(column.v1 * w[3 + k]);
    TIGRIS_HOLD(sum);
    return sum + (uint32_t)(column.v2 * w[6 + k]);
}

/* What a column of padding adds as column k of an output. */
TIGRIS_INLINE uint32_t tigris_walk_padded(const tigris_line_walk *walk, const int32_t w[9], int32_t k)
{
    return (uint32_t)((w[k] + w[3 + k] + w[6 + k]) * walk->padding);
}

/* The weights of a lane, `times` what they are. Those of one outside are 0, and its products with the padding part
 * of the bias. */
TIGRIS_INLINE void tigris_walk_lane(const tigris_line_walk *walk, const tigris_line_taps *taps, int32_t lane,
                                    int32_t times, int32_t w[3], uint32_t *bias)
{
    const int8_t *from = taps->lane[lane];
    w[0] = times * from[0], w[1] = times * from[taps->apart], w[2] = times * from[2 * taps->apart];
    if (lane != 0 && walk->lane[lane] == 0) {
        *bias += (uint32_t)((w[0] + w[1] + w[2]) * walk->padding);
        w[0] = w[1] = w[2] = 0;
    }
}

/* How a channel's sums become outputs. */
typedef struct tigris_walk_end {
    tigris_scale scale; /* of doubled sums; of others its `doubled` is the multiplier, its `right` the shift */
    tigris_output_stage stage;
} tigris_walk_end;

TIGRIS_INLINE int8_t tigris_walk_output(uint32_t sum, tigris_walk_end end, int twice)
{
    return (int8_t)(twice ? tigris_requantise_doubled(sum, end.scale, end.stage)
                          : tigris_requantise_any_shift((int32_t)sum, (int32_t)end.scale.doubled, end.scale.right,
                                                        end.stage.zero_point, end.stage.low, end.stage.high));
}

/* Lines of a channel whose first output begins at `input` in the middle lane; `twice`: its sums are doubled. With
 * stride 1 a column ends one output and belongs to the next two. With stride 2 an odd column is the middle of an
 * output, an even one ends an output and begins the next. */
TIGRIS_INLINE void tigris_walk_channel(const tigris_line_walk *walk, int32_t channel, const int8_t *input, int8_t *output,
                                       int32_t lines, int twice)
{
    const int32_t step = walk->step, output_step = walk->output_step, times = twice ? 2 : 1;
    const tigris_output_stage stage = walk->output;
    tigris_scale scale = {(uint32_t)walk->multiplier[channel], walk->shift[channel], 0};
    if (twice) {
        scale = tigris_doubled_sum_scale(walk->multiplier[channel], walk->shift[channel], stage);
    }
    const tigris_walk_end how = {scale, stage};
    const tigris_line_taps taps = tigris_channel_taps(walk, channel);
    uint32_t bias = (uint32_t)walk->bias[channel] * (uint32_t)times;
    int32_t w[9];
    tigris_walk_lane(walk, &taps, 0, times, w, &bias);
    tigris_walk_lane(walk, &taps, 1, times, w + 3, &bias);
    tigris_walk_lane(walk, &taps, 2, times, w + 6, &bias);
    for (; lines > 0; lines--) {
        tigris_column_at at = {input, input + walk->lane[1], input + walk->lane[2]};
        int8_t *to = output;
        uint32_t next = bias + tigris_walk_padded(walk, w, 0);
        int32_t left = walk->columns;
        if (walk->left == 0) {
            next = tigris_walk_add(bias, tigris_walk_column(&at, step), w, 0);
            left--;
        }
        if (walk->stride == 1) {
            const tigris_column middle = tigris_walk_column(&at, step);
            uint32_t after = tigris_walk_add(bias, middle, w, 0);
            next = tigris_walk_add(next, middle, w, 1);
            const int8_t *const end = to + (left - 1) * output_step;
            while (to != end) {
                const tigris_column column = tigris_walk_column(&at, step);
                const uint32_t now = tigris_walk_add(next, column, w, 2);
                next = tigris_walk_add(after, column, w, 1);
                after = tigris_walk_add(bias, column, w, 0);
                *to = tigris_walk_output(now, how, twice);
                to += output_step;
            }
        } else {
            const int8_t *const end = to + (left >> 1) * output_step;
            while (to != end) {
                next = tigris_walk_add(next, tigris_walk_column(&at, step), w, 1);
                TIGRIS_STEP();
                const tigris_column even = tigris_walk_column(&at, step);
                const uint32_t now = tigris_walk_add(next, even, w, 2);
                next = tigris_walk_add(bias, even, w, 0);
                *to = tigris_walk_output(now, how, twice);
                to += output_step;
            }
            if (walk->right != 0) {
                next = tigris_walk_add(next, tigris_walk_column(&at, step), w, 1);
            }
        }
        if (walk->right != 0) {
            *to = tigris_walk_output(next + tigris_walk_padded(walk, w, 2), how, twice);
        }
        input += walk->line_step;
        output += walk->output_line_step;
    }
}

#if TIGRIS_WALKS_ROWS
/* The same of all channels whose sums are not doubled. */
static TIGRIS_NOINLINE void tigris_walk_others(const tigris_line_walk *walk, const int8_t *input, int8_t *output,
                                               int32_t lines)
{
    for (int32_t channel = 0; channel < walk->channels; channel++) {
        if (!tigris_walks_by(walk->bias[channel], walk->shift[channel])) {
            tigris_walk_channel(walk, channel, input + channel, output + channel, lines, 0);
        }
    }
}

/* The same of all channels. Others come last, so that the loop over the usual ones has all registers. */
static TIGRIS_NOINLINE void tigris_walk_lines(const tigris_line_walk *walk, const int8_t *input, int8_t *output,
                                              int32_t lines)
{
    int others = 0;
    for (int32_t channel = 0; channel < walk->channels; channel++) {
        if (tigris_walks_by(walk->bias[channel], walk->shift[channel])) {
            tigris_walk_channel(walk, channel, input + channel, output + channel, lines, 1);
        } else {
            others = 1;
        }
    }
    if (others) {
        tigris_walk_others(walk, input, output, lines);
    }
}
#else
/* Where size counts, whether lines have a way for a channel. */
static inline int tigris_walks_channel(const tigris_line_walk *walk, int32_t channel)
{
    return tigris_walks_by(walk->bias[channel], walk->shift[channel]);
}

/* The same of all channels. */
static TIGRIS_NOINLINE void tigris_walk_lines(const tigris_line_walk *walk, const int8_t *input, int8_t *output,
                                              int32_t lines)
{
    for (int32_t channel = 0; channel < walk->channels; channel++) {
        tigris_walk_channel(walk, channel, input + channel, output + channel, lines, 1);
    }
}
#endif

#if TIGRIS_WALKS_ROWS
/* Whether tigris_walk_row takes a line. */
static inline int tigris_walks_row(const tigris_line_walk *walk)
{
    return tigris_is_plain_row(walk);
}

/* A row that tigris_walks_row takes. The set-up of a channel counts where rows are short: its weights lie at
 * constant places, and what channels share is in variables, since a store could change the record. */
static TIGRIS_NOINLINE void tigris_walk_row(const tigris_line_walk *walk, const int8_t *input, int8_t *output)
{
    const int32_t step = walk->step, padding = walk->padding, lane_1 = walk->lane[1], lane_2 = walk->lane[2];
    const int32_t *const biases = walk->bias, *const multipliers = walk->multiplier;
    const int8_t *const shifts = walk->shift, *weights = walk->weights;
    const int32_t channels = walk->channels, length = (walk->columns - 1) * step;
    const tigris_output_stage stage = walk->output;
    int others = 0;
    for (int32_t channel = 0; channel < channels; channel++) {
        const int32_t shift = shifts[channel];
        if (tigris_walks_by(biases[channel], shift)) {
            const tigris_scale scale = tigris_doubled_sum_scale(multipliers[channel], shift, stage);
            const uint32_t bias = (uint32_t)biases[channel] << 1;
            const int32_t w[9] = {2 * weights[12], 2 * weights[16], 2 * weights[20], 2 * weights[0], 2 * weights[4],
                                  2 * weights[8],  2 * weights[24], 2 * weights[28], 2 * weights[32]};
            tigris_column_at at = {input, input + lane_1, input + lane_2};
            tigris_column column = tigris_walk_column(&at, step);
            uint32_t next = tigris_walk_add(bias + (uint32_t)((w[0] + w[3] + w[6]) * padding), column, w, 1);
            uint32_t after = tigris_walk_add(bias, column, w, 0);
            int8_t *to = output;
            for (const int8_t *const end = to + length; to != end; to += step) {
                column = tigris_walk_column(&at, step);
                const uint32_t now = tigris_walk_add(next, column, w, 2);
                next = tigris_walk_add(after, column, w, 1);
                after = tigris_walk_add(bias, column, w, 0);
                *to = (int8_t)tigris_requantise_doubled(now, scale, stage);
            }
            next += (uint32_t)((w[2] + w[5] + w[8]) * padding);
            *to = (int8_t)tigris_requantise_doubled(next, scale, stage);
        } else {
            others = 1;
        }
        input++;
        output++;
        weights += (channel & 3) == 3 ? 33 : 1;
    }
    if (others) {
        tigris_walk_others(walk, input - walk->channels, output - walk->channels, 1);
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
        s0 += tigris_product(a[0], w[0]);
        s1 += tigris_product(a[1], w[1]);
        s2 += tigris_product(a[2], w[2]);
        s3 += tigris_product(a[3], w[3]);
        TIGRIS_STEP();
        a += step;
        w += TIGRIS_CHANNEL_BLOCK;
    } while (w != end);
    sum[0] = s0, sum[1] = s1, sum[2] = s2, sum[3] = s3;
}
#endif
