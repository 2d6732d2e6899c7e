/* Adapter of ESP-NN (github.com/espressif/esp-nn, 1.2.3; component espressif/esp-nn) for plain operators.
 *
 * ESP-NN is bit-exact with TensorFlow Lite unless it is built with CONFIG_NN_SKIP_NUDGE, which this file refuses. Its
 * scratch pointers are global variables, so two tasks must not run sessions at the same time. */
#include "plain_ops.h"

#if defined(TIGRIS_ESP_NN)

#if defined(ESP_PLATFORM)
#include "sdkconfig.h" /* selects ESP-NN's kernels */
#endif

#include <assert.h>
#include <stdbool.h>

#include "esp_nn_defs.h"

#include "esp_nn.h"

#if defined(SKIP_NUDGE) || defined(CONFIG_NN_SKIP_NUDGE)
#error "ESP-NN is configured to round differently (CONFIG_NN_SKIP_NUDGE): outputs would not be the host's; turn it off"
#endif

#define MAX_STACK_CHANNELS 128 /* see takes_stack */

#if defined(CONFIG_IDF_TARGET_ESP32P4)
#define ON_ESP32P4 1
#else
#define ON_ESP32P4 0
#endif

/* A convolution in ESP-NN's types. */
typedef struct esp_nn_conv {
    data_dims_t input;
    data_dims_t filter;
    data_dims_t output;
    data_2d_t stride;
    data_2d_t padding;
    data_2d_t dilation;
    act_params_t activation;
} esp_nn_conv;

static esp_nn_conv to_esp_nn(const tigris_plain_conv *conv)
{
    const tigris_conv_int8_params *params = conv->params;
    const int32_t inputs = (int32_t)conv->input->channels;
    const esp_nn_conv words = {{(int32_t)conv->input->width, conv->input_rows, inputs, 1},
                               {params->kernel_width, params->kernel_height, inputs, 0},
                               {(int32_t)conv->output->width, conv->output_rows, (int32_t)conv->output->channels, 1},
                               {params->stride_width, params->stride_height},
                               {params->pad_left, conv->pad_top},
                               {params->dilation_width, params->dilation_height},
                               {params->activation_min, params->activation_max}};
    return words;
}

static conv_params_t conv_params_of(const tigris_conv_int8_params *params, const esp_nn_conv *words)
{
    const conv_params_t result = {-params->input_zero_point, params->output_zero_point, words->stride, words->padding,
                                  words->dilation, words->activation};
    return result;
}

static dw_conv_params_t depthwise_params_of(const tigris_conv_int8_params *params, const esp_nn_conv *words)
{
    const int32_t inputs = words->input.channels > 0 ? words->input.channels : 1;
    const dw_conv_params_t result = {-params->input_zero_point, params->output_zero_point,
                                     words->output.channels / inputs, words->stride, words->padding, words->dilation,
                                     words->activation};
    return result;
}

/* Whether ESP-NN 1.2 runs its depthwise 3x3 kernel for the ESP32-S3 that takes 16 channels at a time; the depthwise
 * kernels of no other chip take scratch. */
static int is_s3_3x3(const esp_nn_conv *words, int32_t multiplier)
{
    return multiplier == 1 && words->filter.width == 3 && words->filter.height == 3 && words->input.channels % 16 == 0;
}

static int has_pads(const esp_nn_conv *words)
{
    return words->padding.width != 0 || words->padding.height != 0;
}

/* That kernel copies input and output if there is padding other than 1 on all sides, and takes 12 bytes of stack for
 * each channel then. */
static int copies_whole(const esp_nn_conv *words, int32_t multiplier)
{
    return is_s3_3x3(words, multiplier) && has_pads(words) && (words->padding.width != 1 || words->padding.height != 1);
}

/* Without padding it copies the input if windows reach beyond it. */
static int copies_input(const esp_nn_conv *words, int32_t multiplier)
{
    return is_s3_3x3(words, multiplier) && !has_pads(words) &&
           (words->output.width * words->stride.width + 2 != words->input.width ||
            words->output.height * words->stride.height + 2 != words->input.height);
}

static int takes_stack(const esp_nn_conv *words, int32_t multiplier)
{
    const int32_t channels = words->input.channels;
    return multiplier == 1 && words->filter.width == 3 && words->filter.height == 3 && channels % 8 == 0 &&
           channels >= 12 && (channels % 16 != 0 || copies_whole(words, multiplier));
}

static int32_t max_of(int32_t a, int32_t b)
{
    return a > b ? a : b;
}

/* Scratch for the copies of input and output; ESP-NN 1.2's own answer is too small. */
static int32_t copy_bytes(const esp_nn_conv *words)
{
    const int32_t columns = max_of(words->input.width + 2 * words->padding.width,
                                   words->output.width * words->stride.width + 2);
    const int32_t rows = max_of(words->input.height + 2 * words->padding.height,
                                words->output.height * words->stride.height + 2);
    return (9 + rows * columns + words->output.width * words->output.height) * words->input.channels + 64;
}

/* Scratch for the copy of an input; ESP-NN 1.2's own answer is too small for inputs above 40 KB. */
static int32_t input_copy_bytes(const esp_nn_conv *words)
{
    const int32_t columns = words->output.width * words->stride.width + 2;
    return (9 + (words->output.height * words->stride.height + 2) * columns) * words->input.channels + 16;
}

static int32_t depthwise_bytes(const esp_nn_conv *words, const tigris_conv_int8_params *params)
{
    const dw_conv_params_t own = depthwise_params_of(params, words);
    const int32_t bytes =
        esp_nn_get_depthwise_conv_scratch_size(&words->input, &words->filter, &words->output, &own);
    if (bytes <= 0) {
        return bytes;
    }
    if (copies_input(words, own.ch_mult)) {
        return max_of(bytes, input_copy_bytes(words));
    }
    return copies_whole(words, own.ch_mult) ? max_of(bytes, copy_bytes(words)) : bytes;
}

/* Vector loads and stores of the ESP32-S3 round addresses down to 8 or 16 bytes, and the library's kernels use them
 * on whole blocks of channels. So bands must be aligned to that, and the plan's alignment may be smaller. */
static int is_aligned(const tigris_band *band)
{
    const uint32_t channels = band->tensor->channels;
    const uintptr_t mask = channels % 16U == 0U ? 15U : channels % 8U == 0U ? 7U : 0U;
    return ((uintptr_t)band->data & mask) == 0U;
}

static int is_scratch_aligned(const tigris_kernel_call *call)
{
    return ((uintptr_t)call->backend_scratch & 15U) == 0U;
}

/* Whether the input is smaller than the kernel. ESP-NN 1.2's convolution of few channels for the ESP32-S3 then
 * assumes that the first window lies inside the input, and reads beyond it. */
static int is_less_than_kernel(const esp_nn_conv *words)
{
    const int32_t row = words->filter.width * words->filter.channels;
    return row < 16 && row * words->filter.height >= 16 &&
           (words->input.height + words->padding.height < words->filter.height ||
            words->input.width + words->padding.width < words->filter.width);
}

static int32_t columns_behind(const esp_nn_conv *words)
{
    return (words->output.width - 1) * words->stride.width + words->filter.width - words->input.width -
           words->padding.width;
}

static int32_t rows_behind(const esp_nn_conv *words)
{
    return (words->output.height - 1) * words->stride.height + words->filter.height - words->input.height -
           words->padding.height;
}

/* Whether ESP-NN 1.2's convolutions for the ESP32-P4 fail. With small padded windows they use more scratch than they
 * ask for. With padding only after the input they support one column, and one row if the kernel has three rows. */
static int is_beyond_p4(const esp_nn_conv *words)
{
    const int32_t row = words->filter.width * words->filter.channels;
    if (words->padding.width != 0 || words->padding.height != 0) {
        return row * words->filter.height < 16;
    }
    return row >= 16 && (columns_behind(words) > 1 ||
                         rows_behind(words) > (words->filter.height == 3 ? 1 : 0));
}

/* Whether the ESP32-P4's depthwise kernel would leave out bias and zero point. */
static int is_too_deep_for_p4(const esp_nn_conv *words, int32_t multiplier)
{
    return multiplier == 1 && words->input.channels > 256;
}

/* Whether windows reach two rows or columns beyond the input; the ESP32-S3's 16-bit depthwise 3x3 kernels support
 * one. */
static int reads_two_outside(const esp_nn_conv *words, int32_t multiplier)
{
    return words->filter.width == 3 && words->filter.height == 3 &&
           (multiplier % 8 == 0 || (multiplier == 1 && words->input.channels == 8)) &&
           (words->padding.width > 1 || words->padding.height > 1 || columns_behind(words) > 1 ||
            rows_behind(words) > 1);
}

/* Scratch for a band with `pad_top` rows of padding. */
static int32_t band_bytes(tigris_plain_conv conv, int32_t pad_top)
{
    conv.pad_top = pad_top;
    const esp_nn_conv words = to_esp_nn(&conv);
    if (conv.depthwise) {
        return depthwise_bytes(&words, conv.params);
    }
    const conv_params_t params = conv_params_of(conv.params, &words);
    return esp_nn_get_conv_scratch_size(&words.input, &words.filter, &words.output, &params);
}

/* Bands without padding above may run another kernel than bands with padding, so both are asked. */
static int32_t conv_bytes(const tigris_plain_conv *conv)
{
    const int32_t bytes = band_bytes(*conv, conv->pad_top);
    return conv->banded != 0 ? max_of(band_bytes(*conv, 0), bytes) : bytes;
}

uint32_t tigris_esp_nn_scratch(const tigris_plan *plan, const tigris_backend *backend)
{
    static const tigris_plain_scratch bytes_of = {conv_bytes, NULL};
    return tigris_largest_plain_scratch(plan, backend, &bytes_of);
}

/* The multipliers and shifts; ESP-NN only reads them. */
static quant_data_t quantisation(const tigris_kernel_call *call, const tigris_conv_int8_params *params)
{
    const quant_data_t result = {(int32_t *)(uintptr_t)tigris_int32_data(call, params->shift),
                                 (int32_t *)(uintptr_t)tigris_int32_data(call, params->multiplier)};
    return result;
}

static void run_conv(const tigris_kernel_call *call)
{
    const tigris_conv_int8_params *params = call->params;
    const tigris_plain_conv conv = tigris_plain_conv_of(call, 0);
    const esp_nn_conv words = to_esp_nn(&conv);
    const conv_params_t own = conv_params_of(params, &words);
    const quant_data_t scales = quantisation(call, params);
    if (!is_aligned(&call->inputs[0]) || !is_scratch_aligned(call) || is_less_than_kernel(&words) ||
        (ON_ESP32P4 && is_beyond_p4(&words)) ||
        !tigris_plain_may_run(call, band_bytes(conv, conv.pad_top), params->multiplier, params->shift,
                              conv.output->channels)) {
        tigris_plain_conv_2d_int8.run(call);
        return;
    }
    esp_nn_set_conv_scratch_buf(call->backend_scratch);
    esp_nn_conv_s8(&words.input, (const int8_t *)(const void *)call->inputs[0].data, &words.filter,
                   tigris_int8_data(call, params->weights), tigris_int32_data(call, params->bias), &words.output,
                   tigris_int8_output(call), &own, &scales);
}

static void run_depthwise(const tigris_kernel_call *call)
{
    const tigris_conv_int8_params *params = call->params;
    const tigris_plain_conv conv = tigris_plain_conv_of(call, 1);
    const esp_nn_conv words = to_esp_nn(&conv);
    const dw_conv_params_t own = depthwise_params_of(params, &words);
    const quant_data_t scales = quantisation(call, params);
    const int32_t bytes = depthwise_bytes(&words, params);
    if (!is_aligned(&call->inputs[0]) || !is_aligned(call->output) || !is_scratch_aligned(call) ||
        reads_two_outside(&words, own.ch_mult) || (ON_ESP32P4 && is_too_deep_for_p4(&words, own.ch_mult)) ||
        (bytes > 0 && words.input.channels > MAX_STACK_CHANNELS && takes_stack(&words, own.ch_mult)) ||
        !tigris_plain_may_run(call, bytes, params->multiplier, params->shift, conv.output->channels)) {
        tigris_plain_depthwise_conv_2d_int8.run(call);
        return;
    }
    esp_nn_set_depthwise_conv_scratch_buf(call->backend_scratch);
    esp_nn_depthwise_conv_s8(&words.input, (const int8_t *)(const void *)call->inputs[0].data, &words.filter,
                             tigris_int8_data(call, params->weights), tigris_int32_data(call, params->bias),
                             &words.output, tigris_int8_output(call), &own, &scales);
}

/* Runs output rows [first, end) of a call with `kernel`. */
static void run_rows(const tigris_kernel_call *call, int32_t first, int32_t end, tigris_kernel kernel)
{
    const int32_t stride = ((const tigris_conv_int8_params *)call->params)->stride_height;
    const int32_t skipped = first * stride - call->inputs[0].pad_top; /* virtual rows above, padding not counted */
    tigris_kernel_call part = *call;
    tigris_band input = call->inputs[0];
    tigris_band output = *call->output;
    input.pad_top = skipped < 0 ? -skipped : 0;
    if (skipped > 0) {
        input.first += skipped;
        input.rows -= skipped;
        input.data += (uint32_t)skipped * tigris_row_bytes(input.tensor);
    }
    output.first += first;
    output.rows = end - first;
    part.inputs = &input;
    part.output = &output;
    part.output_data += (uint32_t)first * tigris_row_bytes(output.tensor);
    output.data = part.output_data;
    kernel(&part);
}

/* ESP-NN gets the padding above and on the left and assumes the same below and on the right; without either it
 * assumes what its last window reads. The portable kernel runs the rows that read more below, at most kernel / stride
 * rows of a tensor, and all rows if columns on the right read more. */
static void run_bands(const tigris_kernel_call *call, tigris_kernel kernel, tigris_kernel portable)
{
    const tigris_conv_int8_params *params = call->params;
    const tigris_band *in = &call->inputs[0];
    const tigris_plain_conv conv = tigris_plain_conv_of(call, 0);
    const int pads = in->pad_top != 0 || params->pad_left != 0;
    const int32_t below = pads ? in->pad_top : params->stride_height;
    const int32_t right = pads ? params->pad_left : params->stride_width;
    int32_t end = call->output->rows;
    if (in->pad_bottom > below) {
        const int32_t reach = in->pad_top + in->rows + below - params->kernel_height;
        end = reach < 0 ? 0 : reach / params->stride_height + 1;
    }
    if (tigris_plain_pad_right(&conv) > right) {
        end = 0;
    }
    assert(end <= call->output->rows);
    if (end > 0) {
        run_rows(call, 0, end, kernel);
    }
    if (end < call->output->rows) {
        run_rows(call, end, call->output->rows, portable);
    }
}

static void run_conv_bands(const tigris_kernel_call *call)
{
    run_bands(call, run_conv, tigris_plain_conv_2d_int8.run);
}

static void run_depthwise_bands(const tigris_kernel_call *call)
{
    run_bands(call, run_depthwise, tigris_plain_depthwise_conv_2d_int8.run);
}

/* Eight elements of an input vector are loaded at a time, from addresses rounded down to 8 bytes. */
static int are_aligned(tigris_layer_vectors vectors, uint32_t in)
{
    return in < 8U || (((uintptr_t)vectors.input & 7U) == 0U && (vectors.count == 1U || in % 8U == 0U));
}

static void run_fully_connected(const tigris_kernel_call *call)
{
    const tigris_fully_connected_int8_params *params = call->params;
    const tigris_layer_vectors vectors = tigris_layer_vectors_of(call, params->in_features, params->out_features);
    const int8_t *weights = tigris_int8_data(call, params->weights);
    const int32_t *bias = tigris_int32_data(call, params->bias);
    const int32_t *multiplier = tigris_int32_data(call, params->multiplier);
    const int32_t *shift = tigris_int32_data(call, params->shift);
    const uint16_t in = (uint16_t)params->in_features;
    const uint16_t out = (uint16_t)params->out_features;
    const int8_t *input = vectors.input;
    int8_t *output = tigris_int8_output(call);
    if (!are_aligned(vectors, in) ||
        !tigris_plain_may_run(call, 0, params->multiplier, params->shift, params->requantise_step != 0U ? out : 1U)) {
        tigris_plain_fully_connected_int8.run(call);
        return;
    }
    for (uint32_t i = 0; i < vectors.count; i++, input += in, output += out) {
        if (params->requantise_step != 0U) {
            esp_nn_fully_connected_per_ch_s8(input, 0, in, weights, 0, bias, output, out, params->output_zero_point,
                                             shift, multiplier, params->activation_min, params->activation_max);
        } else {
            esp_nn_fully_connected_s8(input, 0, in, weights, 0, bias, output, out, params->output_zero_point, *shift,
                                      *multiplier, params->activation_min, params->activation_max);
        }
    }
}

/* ESP-NN ignores dilation, and most of its kernels ignore groups. */
static int is_supported(const tigris_check_call *call)
{
    const tigris_conv_int8_params *params = call->params;
    return params->groups == 1U && params->dilation_height == 1U && params->dilation_width == 1U &&
           tigris_is_small_conv(call);
}

static tigris_status check_conv(const tigris_check_call *call)
{
    const tigris_status status = tigris_check_plain_conv(call);
    return status != TIGRIS_OK || is_supported(call) ? status : TIGRIS_ERR_PARAMS;
}

static tigris_status check_depthwise(const tigris_check_call *call)
{
    const tigris_status status = tigris_check_plain_depthwise_conv(call);
    return status != TIGRIS_OK || is_supported(call) ? status : TIGRIS_ERR_PARAMS;
}

static tigris_status check_fully_connected(const tigris_check_call *call)
{
    const tigris_status status = tigris_check_plain_fully_connected(call);
    return status != TIGRIS_OK || tigris_is_small_layer(call) ? status : TIGRIS_ERR_PARAMS;
}

const tigris_kernel_entry tigris_esp_nn_conv_2d_int8 = {
    TIGRIS_OP_KIND_PLAIN_CONV_2D, TIGRIS_DTYPE_INT8, TIGRIS_PACKING_PORTABLE, sizeof(tigris_conv_int8_params),
    run_conv_bands, check_conv};
const tigris_kernel_entry tigris_esp_nn_depthwise_conv_2d_int8 = {
    TIGRIS_OP_KIND_PLAIN_DEPTHWISE_CONV_2D, TIGRIS_DTYPE_INT8, TIGRIS_PACKING_PORTABLE,
    sizeof(tigris_conv_int8_params), run_depthwise_bands, check_depthwise};
const tigris_kernel_entry tigris_esp_nn_fully_connected_int8 = {
    TIGRIS_OP_KIND_PLAIN_FULLY_CONNECTED, TIGRIS_DTYPE_INT8, TIGRIS_PACKING_PORTABLE,
    sizeof(tigris_fully_connected_int8_params), run_fully_connected, check_fully_connected};

#endif
