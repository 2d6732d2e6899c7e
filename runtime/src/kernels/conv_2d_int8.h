/* Conv2D, int8, groups allowed.
 *
 * Two output pixels are computed together, whichever they are: their taps are copied into a patch, with the padding
 * filled in, and the output channels of a group are computed from it, a block of four at a time (block_int8.h). Kernels
 * with more taps take several patches: the sums of a batch of channels are kept in between, and the taps are copied anew
 * for the next batch.
 *
 * With TIGRIS_WEIGHT_ZEROS weights have zero points, each of which is
 * taken off an output's sum as often as the sum of its taps says. */
#ifndef TIGRIS_CONV_2D_INT8_H
#define TIGRIS_CONV_2D_INT8_H

#include "access.h"
#include "block_int8.h"
#include "check.h"
#include "instruction_set.h"
#include "neighbours_int8.h"
#include "rows_int8.h"
#include "scale_int8.h"
#include "tigris_kernels.h"
#include "window.h"

#if TIGRIS_MVE
#include "mve/mve.h"
#endif

#if TIGRIS_RVV
#include "rvv/rvv.h"
#endif

#define BLOCK TIGRIS_CHANNEL_BLOCK
/* Where size counts, a last odd pixel is computed twice instead. */
#if defined(__OPTIMIZE_SIZE__)
#define TAKES_SINGLES 0
#else
#define TAKES_SINGLES 1
#endif

#if defined(TIGRIS_FOURS) && TAKES_SINGLES && !TIGRIS_WEIGHT_ZEROS
#define TAKES_FOURS 1
#else
#define TAKES_FOURS 0
#endif

#if defined(TIGRIS_DSP) && TAKES_SINGLES && !TIGRIS_WEIGHT_ZEROS
#define TAKES_THREES 1
#else
#define TAKES_THREES 0
#endif

#define BATCH 24 /* channels, a multiple of BLOCK; with 32 an inference takes more than 1 KB of stack */

/* One call, with what is needed often. */
typedef struct conv {
    const tigris_kernel_call *call;
    const tigris_conv_int8_params *params;
    int32_t group_inputs;  /* input channels of one group */
    int32_t group_outputs; /* output channels of one group */
    int32_t kernel_size;   /* weights of one output channel */
    int32_t row_taps;      /* weights of one kernel row of one output channel */
    uint32_t block_bias;
    int8_t padding; /* what padded taps read */
} conv;

/* Where an output pixel reads: the offset of its first tap in the input, modulo 2^32 as the tap may lie outside, and the
 * taps inside. */
typedef struct conv_pixel {
    uint32_t first;
    uint16_t row_first;
    uint16_t row_end;
    uint16_t column_first;
    uint16_t column_end;
} conv_pixel;

/* Two pixels of a group. */
typedef struct conv_work {
    conv_pixel pixels[2];
    int32_t group;
    int8_t *output; /* the first pixel's; the second's lies `apart` further on */
    int32_t apart;
#if TIGRIS_WEIGHT_ZEROS
    uint32_t tap_sums[2]; /* of the two pixels */
#endif
} conv_work;

/* A part of a kernel's taps. */
typedef struct conv_part {
    int32_t at;
    int32_t taps;
    int32_t row;    /* kernel row of its first tap */
    int32_t in_row; /* its place in the row */
} conv_part;

static const tigris_tensor_record *input_of(const conv *c)
{
    return c->call->inputs[0].tensor;
}

static void unpack(conv *c, const tigris_kernel_call *call)
{
    const tigris_conv_int8_params *params = call->params;
    c->call = call;
    c->params = params;
    c->group_inputs = (int32_t)input_of(c)->channels / params->groups;
    c->group_outputs = (int32_t)call->output->tensor->channels / params->groups;
    c->row_taps = params->kernel_width * c->group_inputs;
    c->kernel_size = params->kernel_height * c->row_taps;
    c->block_bias = tigris_block_bias(c->kernel_size);
    c->padding = (int8_t)params->input_zero_point;
}

/* ---- taps into the patch ---- */

/* Whether a pixel's tap at kernel row `row` and `column` lies inside. */
static int is_valid(const conv_pixel *pixel, int32_t row, int32_t column)
{
    return row >= pixel->row_first && row < pixel->row_end && column >= pixel->column_first &&
           column < pixel->column_end;
}

static int is_inside(const conv *c, const conv_pixel *pixel)
{
    return pixel->column_end - pixel->column_first == c->params->kernel_width;
}

/* Fills the patch with the taps of `part` of two pixels and moves its row and place on. */
static TIGRIS_NOINLINE void gather(const conv *c, const conv_pixel *pixels, int32_t group, conv_part *part,
                                   uint32_t *patch)
{
    const tigris_conv_int8_params *params = c->params;
    const uint32_t channels = input_of(c)->channels;
    const uint32_t row_step = params->dilation_height * input_of(c)->width * channels;
    const int whole_rows = params->groups == 1 && params->dilation_width == 1 && is_inside(c, &pixels[0]) &&
                           is_inside(c, &pixels[1]);
    const int32_t depth = c->group_inputs;
    const int8_t *input = (const int8_t *)(const void *)c->call->inputs[0].data;
    for (int32_t done = 0; done < part->taps;) {
        int32_t column = pixels->column_first;
        uint32_t offset = (uint32_t)part->in_row;
        int32_t count = c->row_taps - part->in_row;
        if (!whole_rows) {
            column = part->in_row / depth;
            const int32_t done_of_pixel = part->in_row - column * depth;
            count = depth - done_of_pixel;
            offset = (uint32_t)(column * params->dilation_width) * channels +
                     (uint32_t)(group * depth + done_of_pixel);
        }
        if (count > part->taps - done) {
            count = part->taps - done;
        }
        offset += (uint32_t)part->row * row_step;
        const int step_a = is_valid(&pixels[0], part->row, column);
        const int step_b = is_valid(&pixels[1], part->row, column);
        tigris_fill_patch(patch, done, step_a ? input + (pixels[0].first + offset) : &c->padding, step_a,
                          step_b ? input + (pixels[1].first + offset) : &c->padding, step_b, count);
        done += count;
        part->in_row += count;
        if (part->in_row == c->row_taps) {
            part->in_row = 0;
            part->row++;
        }
    }
}

/* ---- channels from the patch ---- */

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
            tigris_begin(&sum[0], &sum[1], bias[0], c->block_bias);
            tigris_begin(&sum[2], &sum[3], bias[1], c->block_bias);
            tigris_begin(&sum[4], &sum[5], bias[2], c->block_bias);
            tigris_begin(&sum[6], &sum[7], bias[3], c->block_bias);
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

/* The same for channels behind the last whole block. */
static TIGRIS_NOINLINE void add_rest(const conv *c, const conv_part *part, const uint32_t *patch, int32_t channel,
                                     int32_t end, uint32_t *sums)
{
    for (; channel < end; channel++) {
        if (part->at == 0) {
            tigris_begin(&sums[0], &sums[1], tigris_int32_data(c->call, c->params->bias)[channel], c->block_bias);
        }
        tigris_add_channel(patch, part_weights(c, part, channel, 1), part->taps, sums);
        sums += 2;
    }
}

/* The sums of channels from `channel` on become outputs. */
static TIGRIS_NOINLINE TIGRIS_FLATTEN void finish(const conv *c, const conv_work *work, int32_t channel,
                                                  const uint32_t *sums, const uint32_t *end)
{
    const tigris_conv_int8_params *params = c->params;
    const tigris_output_stage stage = {params->output_zero_point, params->activation_min, params->activation_max};
    const int32_t usual_above = tigris_usual_above(stage);
    const int32_t *multipliers = tigris_int32_data(c->call, params->multiplier) + channel;
    const int8_t *shifts = tigris_int8_data(c->call, params->shift) + channel;
    int8_t *first = work->output + channel;
    int8_t *second = first + work->apart;
#if TIGRIS_WEIGHT_ZEROS
    const tigris_asymmetric_conv_int8_params *own = c->call->params;
    const int8_t *zeros = tigris_int8_data(c->call, own->weight_zero_points) + channel;
#endif
    for (; sums != end; sums += 2) {
        const int32_t multiplier = *multipliers++;
        const int32_t shift = *shifts++;
        uint32_t a;
        uint32_t b;
        tigris_end(sums, &a, &b);
#if TIGRIS_WEIGHT_ZEROS
        const uint32_t zero = (uint32_t)(int32_t)*zeros++;
        a -= zero * work->tap_sums[0];
        b -= zero * work->tap_sums[1];
#endif
        if (tigris_scales_usually(multiplier, shift, usual_above)) {
            const tigris_scale scale = tigris_scale_of(multiplier, shift, stage);
            b = (uint32_t)tigris_scale_usually(b, scale, stage);
            a = (uint32_t)tigris_scale_usually(a, scale, stage);
        } else {
            b = (uint32_t)tigris_scale_otherwise(b, multiplier, shift, stage);
            a = (uint32_t)tigris_scale_otherwise(a, multiplier, shift, stage);
        }
        *second++ = (int8_t)b;
        *first++ = (int8_t)a;
    }
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
    int32_t channel = work->group * c->group_outputs;
    const int32_t last = channel + c->group_outputs;
#if TIGRIS_WEIGHT_ZEROS
    const int32_t first = channel;
    uint32_t taps[2];
    tigris_begin(&taps[0], &taps[1], 0, c->block_bias);
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
                add_rest(c, &part, patch, blocked, end, sums + 2 * (blocked - channel));
            }
        }
#if TIGRIS_WEIGHT_ZEROS
        if (channel == first) {
            tigris_end(taps, &work->tap_sums[0], &work->tap_sums[1]);
        }
#endif
        finish(c, work, channel, sums, sums + 2 * (end - channel));
        channel = end;
        part.row = 0;
    }
}

#if TAKES_SINGLES
/* ---- one pixel ---- */

/* Whether the taps of a pixel's group are neighbours. */
static int lies_together(const conv *c, const conv_pixel *pixel)
{
    return c->kernel_size == c->group_inputs && is_valid(pixel, 0, 0);
}

/* `count` bytes, `step` apart: 1, or 0 for padding. */
TIGRIS_INLINE int8_t *fill_single(int8_t *to, const int8_t *from, int32_t step, int32_t count)
{
    for (; count > 0; count--) {
        *to++ = *from;
        from += step;
        TIGRIS_STEP();
    }
    return to;
}

/* Its taps, as bytes; a row's lie side by side in the input, but for groups and dilation. */
static TIGRIS_NOINLINE void gather_single(const conv *c, const conv_work *work, int8_t *to)
{
    const tigris_conv_int8_params *params = c->params;
    const conv_pixel *pixel = &work->pixels[0];
    const uint32_t channels = input_of(c)->channels;
    const uint32_t row_step = params->dilation_height * input_of(c)->width * channels;
    const int8_t *input = (const int8_t *)(const void *)c->call->inputs[0].data;
    const int32_t before = pixel->column_first * (int32_t)channels;
    const int32_t end_inside = pixel->column_end * (int32_t)channels;
    const int together = params->groups == 1 && params->dilation_width == 1 && end_inside > before;
    for (int32_t row = 0; row < params->kernel_height; row++) {
        uint32_t from = pixel->first + (uint32_t)row * row_step + (uint32_t)(work->group * c->group_inputs);
        if (together && is_valid(pixel, row, pixel->column_first)) {
            to = fill_single(to, &c->padding, 0, before);
            to = fill_single(to, input + (from + (uint32_t)before), 1, end_inside - before);
            to = fill_single(to, &c->padding, 0, c->row_taps - end_inside);
            continue;
        }
        for (int32_t column = 0; column < params->kernel_width; column++) {
            const int step = is_valid(pixel, row, column);
            const int8_t *tap = step ? input + from : &c->padding;
            for (const int8_t *const end = to + c->group_inputs; to != end; tap += step) {
                *to++ = *tap;
                TIGRIS_STEP();
            }
            from += params->dilation_width * channels;
        }
    }
}

/* All channels of a group for one pixel, whose taps lie together or fit a patch: a product of a matrix and a vector. */
static TIGRIS_NOINLINE void run_single(const conv *c, const conv_work *work)
{
    const tigris_conv_int8_params *params = c->params;
    const int32_t first = work->group * c->group_outputs;
    const tigris_layer layer = {
        {tigris_int8_data(c->call, params->weights) + first * c->kernel_size, c->kernel_size,
         c->group_outputs & ~(BLOCK - 1)},
        c->group_outputs, 1, tigris_int32_data(c->call, params->bias) + first,
        tigris_int32_data(c->call, params->multiplier) + first, tigris_int8_data(c->call, params->shift) + first,
        {params->output_zero_point, params->activation_min, params->activation_max}};
    uint32_t patch[TIGRIS_PATCH_TAPS / sizeof(uint32_t)];
    const int8_t *taps = (const int8_t *)(const void *)patch;
    const int8_t *zeros = NULL;
#if TIGRIS_WEIGHT_ZEROS
    const tigris_asymmetric_conv_int8_params *own = c->call->params;
    zeros = tigris_int8_data(c->call, own->weight_zero_points) + first;
#endif
    if (lies_together(c, &work->pixels[0])) {
        taps = (const int8_t *)(const void *)c->call->inputs[0].data + work->pixels[0].first +
               work->group * c->group_inputs;
    } else {
        gather_single(c, work, (int8_t *)(void *)patch);
    }
    tigris_run_layer(&layer, zeros, taps, work->output + first);
}
#endif

/* ---- pixels ---- */

/* The next output pixel and where it reads. */
typedef struct conv_place {
    int32_t x;
    int32_t row;    /* of its first tap in the band */
    int32_t column; /* likewise */
    uint16_t row_first;
    uint16_t row_end;
} conv_place;

static void begin_row(const conv *c, conv_place *place)
{
    const tigris_conv_int8_params *params = c->params;
    const tigris_taps rows =
        tigris_valid_taps(place->row, params->kernel_height, params->dilation_height, c->call->inputs[0].rows);
    place->x = 0;
    place->column = -params->pad_left;
    place->row_first = (uint16_t)rows.first;
    place->row_end = (uint16_t)rows.end;
}

/* Output pixel `pixel` of the band. */
static void begin_at(const conv *c, conv_place *place, int32_t pixel)
{
    const tigris_conv_int8_params *params = c->params;
    const int32_t width = (int32_t)c->call->output->tensor->width, y = pixel / width;
    place->row = y * params->stride_height - c->call->inputs[0].pad_top;
    begin_row(c, place);
    place->x = pixel - y * width;
    place->column += place->x * params->stride_width;
}

static void take_pixel(const conv *c, conv_place *place, conv_pixel *pixel)
{
    const tigris_conv_int8_params *params = c->params;
    const uint32_t width = input_of(c)->width;
    const tigris_taps columns =
        tigris_valid_taps(place->column, params->kernel_width, params->dilation_width, (int32_t)width);
    pixel->first = ((uint32_t)place->row * width + (uint32_t)place->column) * input_of(c)->channels;
    pixel->row_first = place->row_first;
    pixel->row_end = place->row_end;
    pixel->column_first = (uint16_t)columns.first;
    pixel->column_end = (uint16_t)columns.end;
    place->column += params->stride_width;
    if (++place->x == (int32_t)c->call->output->tensor->width) {
        place->row += params->stride_height;
        begin_row(c, place);
    }
}

static int32_t pixels_of(const tigris_kernel_call *call)
{
    return call->output->rows * (int32_t)call->output->tensor->width;
}

#include "fours_int8.h"
#include "threes_int8.h"

/* All pixels from `first` on but the last `spared`, two at a time; a last odd one is computed twice. */
static TIGRIS_NOINLINE void run_pairs(const tigris_kernel_call *call, int32_t first, int32_t spared)
{
    const int32_t channels = (int32_t)call->output->tensor->channels;
    conv c;
    conv_place place;
    conv_work work;
    unpack(&c, call);
    begin_at(&c, &place, first);
    work.output = tigris_int8_output(call) + first * channels;
    for (int32_t left = pixels_of(call) - first - spared; left > 0; left -= 2) {
        take_pixel(&c, &place, &work.pixels[0]);
        work.pixels[1] = work.pixels[0];
        work.apart = 0;
        if (left > 1) {
            take_pixel(&c, &place, &work.pixels[1]);
            work.apart = channels;
        }
        for (work.group = 0; work.group < c.params->groups; work.group++) {
            run_group(&c, &work);
        }
        work.output += 2 * channels;
    }
}

#if TAKES_SINGLES
#if !TIGRIS_WEIGHT_ZEROS
/* Those of tigris_neighbours from `first` on, two at least. */
static TIGRIS_NOINLINE void run_neighbours(const tigris_kernel_call *call, int32_t first)
{
    const int32_t pixels = pixels_of(call), paired = pixels - 3 * tigris_threes_of(pixels - first);
#if defined(TIGRIS_DSP)
    for (; first != paired; first += 2) {
        tigris_run_pair(call, first);
    }
    for (; first != pixels; first += 3) {
        tigris_run_three(call, first);
    }
#else
    if (paired != pixels) {
        tigris_run_three(call, paired);
    }
    if (paired != first) {
        run_pairs(call, first, pixels - paired);
    }
#endif
}
#endif

/* Whether a last odd pixel is computed by itself: its taps fit a patch, or lie together. */
static TIGRIS_NOINLINE int takes_single(const tigris_kernel_call *call)
{
    const tigris_conv_int8_params *params = call->params;
    const int32_t rows = call->output->rows, width = (int32_t)call->output->tensor->width;
    const int32_t taps = params->kernel_height * params->kernel_width;
    if ((rows * width & 1) == 0) {
        return 0;
    }
    if (taps * ((int32_t)call->inputs[0].tensor->channels / params->groups) <= TIGRIS_PATCH_TAPS) {
        return 1;
    }
    const int32_t row = (rows - 1) * params->stride_height - call->inputs[0].pad_top;
    const int32_t column = (width - 1) * params->stride_width - params->pad_left;
    return taps == 1 && row >= 0 && row < call->inputs[0].rows && column >= 0 &&
           column < (int32_t)call->inputs[0].tensor->width;
}

/* Where output pixel `pixel` reads. By itself, so that its place is off the stack when the pixel is computed. */
static TIGRIS_NOINLINE void find_pixel(const conv *c, int32_t pixel, conv_pixel *found)
{
    conv_place place;
    begin_at(c, &place, pixel);
    take_pixel(c, &place, found);
}

static TIGRIS_NOINLINE void run_last(const tigris_kernel_call *call)
{
    const int32_t last = pixels_of(call) - 1;
    conv c;
    conv_work work;
    unpack(&c, call);
    find_pixel(&c, last, &work.pixels[0]);
    work.output = tigris_int8_output(call) + last * (int32_t)call->output->tensor->channels;
    for (work.group = 0; work.group < c.params->groups; work.group++) {
        run_single(&c, &work);
    }
}

/* The pixels from `first` on. Calls of run_pairs come last: they need the most stack. */
static TIGRIS_NOINLINE void run_others(const tigris_kernel_call *call, int32_t first)
{
#if !TIGRIS_WEIGHT_ZEROS
    if (tigris_neighbours(call) != 0) {
        run_neighbours(call, first);
        return;
    }
#endif
#if TAKES_THREES
    if (takes_threes(call)) {
        run_rows(call);
        return;
    }
#endif
    int32_t spared = 0;
    if (takes_single(call)) {
        run_last(call);
        spared = 1;
    }
    if (first + spared != pixels_of(call)) {
        run_pairs(call, first, spared);
    }
}
#endif

static void run(const tigris_kernel_call *call)
{
#if TIGRIS_MVE
#if !TIGRIS_WEIGHT_ZEROS
    if (tigris_mve_conv_2d(call)) {
        return;
    }
#endif
#endif
#if TIGRIS_RVV
#if !TIGRIS_WEIGHT_ZEROS
    if (tigris_rvv_conv_2d(call)) {
        return;
    }
#endif
#endif
#if TAKES_SINGLES
#if TAKES_FOURS
    const int32_t first = run_first_fours(call);
    if (first != pixels_of(call)) {
        run_others(call, first);
    }
#else
    run_others(call, 0);
#endif
#else
    run_pairs(call, 0, 0);
#endif
}

static tigris_status check(const tigris_check_call *call)
{
    const uint32_t groups = ((const tigris_conv_int8_params *)call->params)->groups;
    if (groups == 0U || call->op->operand_count != 1U) {
        return TIGRIS_ERR_PARAMS;
    }
    const uint32_t inputs = call->inputs[0]->channels;
    return tigris_check_result(inputs % groups == 0U && call->output->channels % groups == 0U &&
                               tigris_check_conv_int8(call, inputs / groups));
}

#endif
