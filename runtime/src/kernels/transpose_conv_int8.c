/* Transposed Conv2D, int8, with groups. A phase is the output pixels whose rows and columns leave the same remainders by
 * the strides. Its pixels read the same taps, so it is a convolution with weights of its own. They are computed in pairs
 * (rows_int8.h). A tap outside the input counts as the input's zero point. */
#include "rows_int8.h"
#include "tigris_kernels.h"
#include "transpose_conv.h"

/* Two output pixels of a phase and a row, which read adjacent input columns. A last odd one is taken twice. */
typedef struct tile {
    const tigris_kernel_call *call;
    int32_t depth;              /* input channels of a group */
    tigris_transpose_taps rows; /* of the phase */
    tigris_transpose_taps columns;
    int32_t next;          /* columns from the first pixel's input to the second's: 1 or 0 */
    int32_t first_channel; /* of the group's inputs */
} tile;

/* Fills a patch with `count` taps from number `at` on. */
static void gather(void *vectors, int32_t at, int32_t count, uint32_t *patch)
{
    const tile *t = vectors;
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
        const uint32_t from = (uint32_t)row * tigris_row_elements(input) + (uint32_t)(t->first_channel + channel);
        tigris_fill_patch(patch, done, is_a ? data + (from + (uint32_t)column * input->channels) : &padding, is_a,
                          is_b ? data + (from + (uint32_t)second * input->channels) : &padding, is_b, some);
        done += some;
        channel = 0;
    }
}

/* Finds the taps of a position along an axis without borders: those of its phase. Returns the taps of the phases
 * before. Its own function: the axis is off the stack when pixels are computed. */
static TIGRIS_NOINLINE int32_t find_taps(int32_t kernel, int32_t stride, int32_t dilation, int32_t position,
                                         tigris_transpose_taps *taps)
{
    const tigris_transpose_axis axis = tigris_axis_of(kernel, stride, dilation, INT32_MIN, INT32_MAX);
    int32_t before = 0;
    *taps = tigris_taps_of(&axis, position);
    for (int32_t tap = 0; tap < kernel; tap++) {
        before += tap * dilation % stride < position % stride;
    }
    return before;
}

static void run(const tigris_kernel_call *call)
{
    const tigris_transpose_conv_int8_params *params = tigris_params(call);
    const int32_t groups = (int32_t)params->groups, stride = params->stride_width;
    const int32_t channels = (int32_t)tigris_output_tensor(call)->channels;
    const int32_t width = (int32_t)tigris_output_tensor(call)->width;
    const int32_t group_outputs = channels / groups;
    tigris_layer layer = {
        {NULL, 0, group_outputs & ~(TIGRIS_CHANNEL_BLOCK - 1)}, group_outputs, 1, NULL, NULL, NULL,
        {params->output_zero_point, params->activation_min, params->activation_max}, NULL};
    tile t;
    t.call = call;
    t.depth = (int32_t)tigris_input_tensor(call, 0)->channels / groups;
    for (int32_t y = 0; y < tigris_output_rows(call); y++) {
        const int32_t from_top = tigris_output_first(call) + y + params->pad_top;
        const int32_t row_phase = from_top % params->stride_height;
        const int32_t before = params->kernel_width * find_taps(params->kernel_height, params->stride_height,
                                                                params->dilation_height, from_top, &t.rows);
        for (int32_t first = 0; first < stride && first < width; first++) {
            const int32_t from_left = first + params->pad_left, phase = from_left % stride;
            const int32_t taps = before + t.rows.count * find_taps(params->kernel_width, stride, params->dilation_width,
                                                                   from_left, &t.columns);
            const int8_t *weights = tigris_int8_data(call, params->weights) + taps * t.depth * channels;
            const int32_t *bias = tigris_int32_data(call, params->bias) + (row_phase * stride + phase) * channels;
            layer.rows.length = t.rows.count * t.columns.count * t.depth;
            for (int32_t x = first; x < width; x += 2 * stride) {
                int8_t *to = tigris_int8_output(call) + (y * width + x) * channels;
                t.next = x + stride < width;
                for (int32_t group = 0; group < groups; group++) {
                    const int32_t channel = group * group_outputs;
                    t.first_channel = group * t.depth;
                    layer.rows.weights = weights + channel * layer.rows.length;
                    layer.bias = bias + channel;
                    layer.multiplier = tigris_int32_data(call, params->multiplier) + channel;
                    layer.shift = tigris_int8_data(call, params->shift) + channel;
                    tigris_run_pair(&layer, gather, &t, to + channel, t.next * stride * channels);
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
