/* Transposed Conv2D, int8, with groups. Output pixels that are one stride apart, along both axes, read the same taps: a
 * phase, a pair of remainders, is a convolution with weights of its own (tigris_transpose_conv_int8_params). Its pixels
 * are computed in pairs, by the sums of block_int8.h. A tap outside the input counts as the input's zero point. */
#include "block_int8.h"
#include "scale_int8.h"
#include "tigris_kernels.h"
#include "transpose_conv.h"

#define BLOCK TIGRIS_CHANNEL_BLOCK
/* Channels whose sums stay between patches, a multiple of BLOCK. At -Os an inference takes less than 1 KB of stack. */
#if defined(__OPTIMIZE_SIZE__)
#define BATCH 8
#else
#define BATCH 16
#endif

/* Two output pixels of a phase and a row, which read adjacent input columns. A last odd one is taken twice. */
typedef struct tile {
    const tigris_kernel_call *call;
    int32_t depth;              /* input channels of a group */
    int32_t group_outputs;      /* output channels of a group */
    tigris_transpose_taps rows; /* of the phase */
    tigris_transpose_taps columns;
    const int8_t *weights; /* of the phase, all groups */
    const int32_t *bias;   /* of the phase */
    int32_t next;          /* columns from the first pixel's input to the second's: 1 or 0 */
    int8_t *to;            /* the first pixel's outputs */
    int32_t last;          /* bytes from there to the second pixel's */
} tile;

/* Fills a patch with `count` taps of a group from number `at` on. */
static TIGRIS_NOINLINE void gather(const tile *t, int32_t group, int32_t at, int32_t count, uint32_t *patch)
{
    const tigris_transpose_conv_int8_params *params = tigris_params(t->call);
    const tigris_band *in = tigris_input_band(t->call, 0);
    const tigris_tensor_record *input = tigris_tensor_of(in);
    const int8_t *data = tigris_int8_input(t->call);
    const int8_t padding = (int8_t)params->input_zero_point;
    int32_t tap = at / t->depth, channel = at - tap * t->depth;
    for (int32_t done = 0; done < count; tap++) {
        const int32_t kernel_row = tap / t->columns.count, kernel_column = tap - kernel_row * t->columns.count;
        const int32_t row = t->rows.source - kernel_row * t->rows.source_step - tigris_first_row(in);
        const int32_t column = t->columns.source - kernel_column * t->columns.source_step;
        const int32_t second = column + t->next;
        const int32_t rest = t->depth - channel, some = count - done < rest ? count - done : rest;
        const int is_row = row >= 0 && row < tigris_row_count(in);
        const int is_a = is_row && column >= 0 && column < (int32_t)input->width;
        const int is_b = is_row && second >= 0 && second < (int32_t)input->width;
        const uint32_t from = (uint32_t)row * tigris_row_elements(input) + (uint32_t)(group * t->depth + channel);
        tigris_fill_patch(patch, done, is_a ? data + (from + (uint32_t)column * input->channels) : &padding, is_a,
                          is_b ? data + (from + (uint32_t)second * input->channels) : &padding, is_b, some);
        done += some;
        channel = 0;
    }
}

/* Adds the products of a patch's `count` taps to the sums of blocks up to `end`; `step`: from a block's weights to the
 * next's. */
static TIGRIS_NOINLINE void add_blocks(const uint32_t *patch, const int8_t *weights, int32_t step, int32_t count,
                                       uint32_t *sums, const uint32_t *end)
{
    for (; sums != end; sums += 2 * BLOCK) {
        tigris_add_block(patch, weights, count, sums);
        weights += step;
    }
}

/* Writes the outputs of `count` channels from `channel` on. */
static TIGRIS_NOINLINE void write_outputs(const tile *t, const uint32_t *sums, int32_t channel, int32_t count)
{
    const tigris_transpose_conv_int8_params *params = tigris_params(t->call);
    const tigris_output_stage stage = {params->output_zero_point, params->activation_min, params->activation_max};
    const int32_t *multipliers = tigris_int32_data(t->call, params->multiplier) + channel;
    const int8_t *shifts = tigris_int8_data(t->call, params->shift) + channel;
    const int32_t fast_above = tigris_fast_above(stage), last = t->last;
    int8_t *to = t->to + channel;
    for (const int8_t *const end = to + count; to != end; sums += 2) {
        const int32_t multiplier = *multipliers++, shift = *shifts++;
        uint32_t a, b;
        tigris_unpack_pair(sums, &a, &b);
        if (tigris_is_fast_scale(multiplier, shift, fast_above)) {
            const tigris_scale scale = tigris_scale_of(multiplier, shift, stage);
            a = (uint32_t)tigris_requantise_fast(a, scale, stage);
            b = (uint32_t)tigris_requantise_fast(b, scale, stage);
        } else {
            a = (uint32_t)tigris_requantise_slow(a, multiplier, shift, stage);
            b = (uint32_t)tigris_requantise_slow(b, multiplier, shift, stage);
        }
        to[last] = (int8_t)b;
        *to++ = (int8_t)a;
    }
}

/* All channels of a group. A phase with more taps than a patch gathers them again for each batch of channels. */
static TIGRIS_NOINLINE void run_group(const tile *t, int32_t group)
{
    uint32_t patch[TIGRIS_PATCH_TAPS];
    uint32_t sums[2 * BATCH];
    const int32_t taps = t->rows.count * t->columns.count * t->depth;
    const uint32_t block_bias = tigris_block_bias(taps);
    int32_t channel = group * t->group_outputs;
    for (const int32_t first = channel, end = channel + t->group_outputs; channel < end; channel += BATCH) {
        const int32_t channels = end - channel < BATCH ? end - channel : BATCH;
        const int8_t *weights = t->weights + channel * taps;
        for (int32_t i = 0; i < channels; i++) {
            tigris_init_pair(&sums[2 * i], &sums[2 * i + 1], t->bias[channel + i], block_bias);
        }
        for (int32_t at = 0; at < taps; at += TIGRIS_PATCH_TAPS) {
            const int32_t count = taps - at < TIGRIS_PATCH_TAPS ? taps - at : TIGRIS_PATCH_TAPS;
            const int32_t blocked = channels & ~(BLOCK - 1);
            if (channel == first || taps > TIGRIS_PATCH_TAPS) {
                gather(t, group, at, count, patch);
            }
            add_blocks(patch, weights + at * BLOCK, taps * BLOCK, count, sums, sums + 2 * blocked);
            for (int32_t i = blocked; i < channels; i++) {
                tigris_add_channel(patch, weights + i * taps + at, count, sums + 2 * i);
            }
        }
        write_outputs(t, sums, channel, channels);
    }
}

/* Taps of the phases of an axis with remainders below `remainder`. */
static int32_t taps_before(const tigris_transpose_axis *axis, int32_t remainder)
{
    int32_t taps = 0;
    for (int32_t tap = 0; tap < axis->kernel; tap++) {
        taps += tap * axis->dilation % axis->stride < remainder;
    }
    return taps;
}

/* The axis without borders: the taps of a position are those of its phase. */
static tigris_transpose_axis axis_of(int32_t kernel, int32_t stride, int32_t dilation)
{
    return tigris_axis_of(kernel, stride, dilation, INT32_MIN, INT32_MAX);
}

static void run(const tigris_kernel_call *call)
{
    const tigris_transpose_conv_int8_params *params = tigris_params(call);
    const int32_t groups = (int32_t)params->groups, stride = params->stride_width;
    const int32_t channels = (int32_t)tigris_output_tensor(call)->channels;
    const int32_t width = (int32_t)tigris_output_tensor(call)->width;
    const tigris_transpose_axis rows = axis_of(params->kernel_height, params->stride_height, params->dilation_height);
    const tigris_transpose_axis columns = axis_of(params->kernel_width, stride, params->dilation_width);
    tile t;
    t.call = call;
    t.depth = (int32_t)tigris_input_tensor(call, 0)->channels / groups;
    t.group_outputs = channels / groups;
    for (int32_t y = 0; y < tigris_output_rows(call); y++) {
        const int32_t from_top = tigris_output_first(call) + y + params->pad_top;
        const int32_t row_phase = from_top % params->stride_height;
        const int32_t before = taps_before(&rows, row_phase) * params->kernel_width;
        t.rows = tigris_taps_of(&rows, from_top);
        for (int32_t first = 0; first < stride && first < width; first++) {
            const int32_t phase = (first + params->pad_left) % stride;
            const int32_t taps = before + t.rows.count * taps_before(&columns, phase);
            t.columns = tigris_taps_of(&columns, first + params->pad_left);
            t.weights = tigris_int8_data(call, params->weights) + taps * t.depth * channels;
            t.bias = tigris_int32_data(call, params->bias) + (row_phase * stride + phase) * channels;
            for (int32_t x = first; x < width; x += 2 * stride) {
                t.next = x + stride < width;
                t.last = t.next * stride * channels;
                t.to = tigris_int8_output(call) + (y * width + x) * channels;
                for (int32_t group = 0; group < groups; group++) {
                    run_group(&t, group);
                }
                t.columns.source += 2;
            }
        }
    }
}

static tigris_status check(const tigris_check_call *call)
{
    const tigris_transpose_conv_int8_params *params = call->params;
    const tigris_transpose_shape shape = TIGRIS_TRANSPOSE_SHAPE(params);
    const uint32_t outputs = call->output->channels;
    const uint32_t phases = (uint32_t)params->stride_height * params->stride_width;
    return tigris_check_result(
        tigris_check_types(call, 1U, TIGRIS_DTYPE_INT8, TIGRIS_DTYPE_INT8) &&
        tigris_check_transposed(call, &shape, params->weights, sizeof(int8_t)) &&
        tigris_check_data(call, params->bias, tigris_multiply(phases, outputs), sizeof(int32_t)) &&
        tigris_check_requantise(call, params->multiplier, params->shift, outputs) &&
        tigris_check_int8(params->input_zero_point) && tigris_check_int8(params->output_zero_point) &&
        tigris_check_range(params->activation_min, params->activation_max));
}

TIGRIS_KERNEL_ENTRY(tigris_transpose_conv_int8, TRANSPOSE_CONV, INT8, tigris_transpose_conv_int8_params, run, check);
