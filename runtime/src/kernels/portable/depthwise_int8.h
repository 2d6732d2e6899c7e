/* The part of depthwise_int8.h for 32-bit machines without vector instructions. */
#ifndef TIGRIS_PORTABLE_DEPTHWISE_INT8_H
#define TIGRIS_PORTABLE_DEPTHWISE_INT8_H

/* The column at r0, r1, r2, which move to the next. */
#define TIGRIS_WALK_COLUMN()                                                                                           \
    v0 = *r0, v1 = *r1, v2 = *r2;                                                                                      \
    r0 += step, r1 += step, r2 += step;                                                                                \
    TIGRIS_KEEP(r0, r1, r2)

/* `sum` and the column as column k of an output. */
#define TIGRIS_WALK_ADD(sum, k)                                                                                        \
    ((sum) + (uint32_t)(v0 * w[k]) + (uint32_t)(v1 * w[3 + (k)]) + (uint32_t)(v2 * w[6 + (k)]))

/* What a column of padding adds as column k of an output. */
#define TIGRIS_WALK_PADDED(k) ((uint32_t)((w[k] + w[3 + (k)] + w[6 + (k)]) * walk->padding))

/* The weights of a lane. Those of one outside are 0, and its products with the padding part of the bias. */
TIGRIS_INLINE void tigris_walk_lane(const tigris_line_walk *walk, int32_t lane, int outside, int32_t w[3], uint32_t *bias)
{
    const int8_t *taps = walk->taps[lane];
    w[0] = taps[0], w[1] = taps[walk->apart], w[2] = taps[2 * walk->apart];
    if (outside) {
        *bias += (uint32_t)((w[0] + w[1] + w[2]) * walk->padding);
        w[0] = w[1] = w[2] = 0;
    }
}

/* Lines whose first output begins at `input` in the middle lane. With stride 1 a column ends one output and belongs to
 * the next two. With stride 2 an odd column is the middle of an output, an even one ends an output and begins the
 * next. */
static void tigris_walk_lines(const tigris_line_walk *walk, const int8_t *input, int8_t *output, int32_t lines)
{
    const int32_t step = walk->step, output_step = walk->output_step;
    const tigris_scale scale = walk->scale;
    const tigris_output_stage stage = walk->output;
    uint32_t bias = walk->bias;
    int32_t w[9], v0, v1, v2;
    tigris_walk_lane(walk, 0, 0, w, &bias);
    tigris_walk_lane(walk, 1, walk->lane[1] == 0, w + 3, &bias);
    tigris_walk_lane(walk, 2, walk->lane[2] == 0, w + 6, &bias);
    for (; lines > 0; lines--) {
        const int8_t *r0 = input, *r1 = input + walk->lane[1], *r2 = input + walk->lane[2];
        int8_t *to = output;
        uint32_t next = bias + TIGRIS_WALK_PADDED(0);
        int32_t left = walk->columns;
        if (walk->left == 0) {
            TIGRIS_WALK_COLUMN();
            next = TIGRIS_WALK_ADD(bias, 0);
            left--;
        }
        if (walk->stride == 1) {
            TIGRIS_WALK_COLUMN();
            uint32_t after = TIGRIS_WALK_ADD(bias, 0);
            next = TIGRIS_WALK_ADD(next, 1);
            const int8_t *const end = to + (left - 1) * output_step;
            while (to != end) {
                TIGRIS_WALK_COLUMN();
                const uint32_t now = TIGRIS_WALK_ADD(next, 2);
                next = TIGRIS_WALK_ADD(after, 1);
                after = TIGRIS_WALK_ADD(bias, 0);
                *to = (int8_t)tigris_scale_by(now, scale, stage);
                to += output_step;
            }
        } else {
            const int8_t *const end = to + (left >> 1) * output_step;
            while (to != end) {
                TIGRIS_WALK_COLUMN();
                next = TIGRIS_WALK_ADD(next, 1);
                TIGRIS_STEP();
                TIGRIS_WALK_COLUMN();
                const uint32_t now = TIGRIS_WALK_ADD(next, 2);
                next = TIGRIS_WALK_ADD(bias, 0);
                *to = (int8_t)tigris_scale_by(now, scale, stage);
                to += output_step;
            }
            if (walk->right != 0) {
                TIGRIS_WALK_COLUMN();
                next = TIGRIS_WALK_ADD(next, 1);
            }
        }
        if (walk->right != 0) {
            *to = (int8_t)tigris_scale_by(next + TIGRIS_WALK_PADDED(2), scale, stage);
        }
        input += walk->line_step;
        output += walk->output_line_step;
    }
}

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
