/* Part of conv_2d_int8.h: pixel tiles of two. The taps of both pixels are copied into a patch, padding included. The
 * output channels of a group are computed from it in blocks of four (block_int8.h). A kernel with more taps takes
 * several patches: the sums of a batch of channels stay in between, and each batch copies the taps again. */
#ifndef TIGRIS_CONV_PIXELS2_INT8_H
#define TIGRIS_CONV_PIXELS2_INT8_H

#if defined(HAS_PIXEL1)

#define BATCH 24 /* channels, a multiple of BLOCK; with 32 an inference takes more than 1 KB of stack */

/* Two pixels of a group. */
typedef struct conv_work {
    tigris_pixel pixels[2];
    int32_t group;
    int8_t *output; /* of the first pixel */
    int32_t output_stride; /* bytes to the output of the second pixel */
#if TIGRIS_WEIGHT_ZEROS
    uint32_t tap_sums[2]; /* of the two pixels */
#endif
} conv_work;

/* ---- channels from the patch ---- */

TIGRIS_HOT
static const int8_t *part_weights(const conv *c, const conv_part *part, int32_t channel, int32_t block)
{
    return tigris_int8_data(c->call, c->params->weights) + (channel * c->kernel_size + part->at * block);
}

/* Adds the products of `part` to the sums of the whole blocks from `channel` up to `end`, two a channel. */
static TIGRIS_NOINLINE void add_blocks(const conv *c, const conv_part *part, const uint32_t *patch, int32_t channel,
                                       int32_t end, uint32_t *sums)
{
    const int8_t *weights = part_weights(c, part, channel, BLOCK);
    const int32_t *bias = tigris_int32_data(c->call, c->params->bias) + channel;
    const int32_t taps = part->taps;
    for (; channel < end; channel += BLOCK) {
        uint32_t sum[2 * BLOCK];
        if (part->at == 0) {
            tigris_init_pixels(&sum[0], 2, bias[0], c->block_bias);
            tigris_init_pixels(&sum[2], 2, bias[1], c->block_bias);
            tigris_init_pixels(&sum[4], 2, bias[2], c->block_bias);
            tigris_init_pixels(&sum[6], 2, bias[3], c->block_bias);
            bias += BLOCK;
        } else {
            memcpy(sum, sums, sizeof sum);
        }
        tigris_add_block(patch, weights, taps, sum);
        memcpy(sums, sum, sizeof sum);
        weights += c->kernel_size * BLOCK;
        sums += 2 * BLOCK;
    }
}

/* Adds the products of channels behind the last whole block. */
static TIGRIS_NOINLINE void add_tail(const conv *c, const conv_part *part, const uint32_t *patch, int32_t channel,
                                     int32_t end, uint32_t *sums)
{
    for (; channel < end; channel++) {
        if (part->at == 0) {
            tigris_init_pair(&sums[0], &sums[1], tigris_int32_data(c->call, c->params->bias)[channel], c->block_bias);
        }
        tigris_add_channel(patch, part_weights(c, part, channel, 1), part->taps, sums);
        sums += 2;
    }
}

/* The sums of channels from `channel` on become outputs. */
static TIGRIS_NOINLINE TIGRIS_FLATTEN void finish(const conv *c, const conv_work *work, int32_t channel,
                                                  const uint32_t *sums, const uint32_t *end)
{
#if TIGRIS_WEIGHT_ZEROS
    const tigris_conv_int8_params *params = c->params;
    const tigris_asymmetric_conv_int8_params *own = tigris_params(c->call);
    const tigris_output_stage stage = {params->output_zero_point, params->activation_min, params->activation_max};
    const int32_t *multipliers = tigris_int32_data(c->call, params->multiplier) + channel;
    const int8_t *shifts = tigris_int8_data(c->call, params->shift) + channel;
    const int8_t *zeros = tigris_int8_data(c->call, own->weight_zero_points) + channel;
    int8_t *to = work->output + channel;
    for (; sums != end; sums += 2) {
        const uint32_t zero = (uint32_t)(int32_t)*zeros++;
        const uint32_t lost[2] = {zero * work->tap_sums[0], zero * work->tap_sums[1]};
        requantise_pixels(sums, 2, lost, *multipliers++, *shifts++, stage, tigris_fast_above(stage), to++, 0,
                          work->output_stride);
    }
#else
    requantise_channels(c->call, sums, end, 2, channel, work->output, 0, work->output_stride);
#endif
}

#if TIGRIS_WEIGHT_ZEROS
#define EIGHT_ONES 1, 1, 1, 1, 1, 1, 1, 1
/* A channel that sums up its taps. */
static const int8_t ones[TIGRIS_PATCH_TAPS] = {EIGHT_ONES, EIGHT_ONES, EIGHT_ONES, EIGHT_ONES,
                                               EIGHT_ONES, EIGHT_ONES, EIGHT_ONES, EIGHT_ONES};
#endif

/* All channels of a group for two pixels. */
TIGRIS_INLINE void run_group(const conv *c, conv_work *work)
{
    uint32_t patch[TIGRIS_PATCH_TAPS];
    uint32_t sums[2 * BATCH];
    int32_t channel = c->channel + work->group * c->group_outputs;
    const int32_t last = channel + c->group_outputs;
#if TIGRIS_WEIGHT_ZEROS
    const int32_t first = channel;
    uint32_t taps[2];
    tigris_init_pair(&taps[0], &taps[1], 0, c->block_bias);
#endif
    conv_part part = {0, 0, 0, 0};
    while (channel < last) {
        const int32_t end = last - channel > BATCH ? channel + BATCH : last;
        const int32_t blocked = end - (end - channel) % BLOCK;
        for (part.at = 0; part.at < c->kernel_size; part.at += part.taps) {
            const int32_t left = c->kernel_size - part.at;
            if (part.taps != c->kernel_size) { /* else the patch holds all taps already */
                part.taps = left < TIGRIS_PATCH_TAPS ? left : TIGRIS_PATCH_TAPS;
                gather(c, work->pixels, work->group, &part, patch);
            }
#if TIGRIS_WEIGHT_ZEROS
            if (channel == first) {
                tigris_add_channel(patch, ones, part.taps, taps);
            }
#endif
            add_blocks(c, &part, patch, channel, blocked, sums);
            if (blocked != end) {
                add_tail(c, &part, patch, blocked, end, sums + 2 * (blocked - channel));
            }
        }
#if TIGRIS_WEIGHT_ZEROS
        if (channel == first) {
            tigris_unpack_pair(taps, &work->tap_sums[0], &work->tap_sums[1]);
        }
#endif
        finish(c, work, channel, sums, sums + 2 * (end - channel));
        channel = end;
        part.row = 0;
    }
}

/* All pixels from `first` on except the last `skip_last`, in tiles of two; a last odd pixel is computed twice. */
TIGRIS_INLINE void run_pixels2(const conv_pass *pass, int32_t first, int32_t skip_last)
{
    const tigris_kernel_call *call = pass->call;
    const int32_t channels = (int32_t)tigris_output_tensor(call)->channels;
    conv c;
    tigris_pixel_loop loop;
    conv_work work;
    unpack(&c, pass);
    tigris_start_pixels(&loop, call, first);
    work.output = tigris_int8_output(call) + first * channels;
    for (int32_t left = pixels_of(call) - first - skip_last; left > 0; left -= 2) {
        work.pixels[0] = loop.pixel;
        tigris_next_pixel(&loop);
        work.pixels[1] = work.pixels[0];
        work.output_stride = 0;
        if (left > 1) {
            work.pixels[1] = loop.pixel;
        tigris_next_pixel(&loop);
            work.output_stride = channels;
        }
        for (work.group = 0; work.group < c.params->groups; work.group++) {
            run_group(&c, &work);
        }
        work.output += 2 * channels;
    }
}

#endif
#endif
