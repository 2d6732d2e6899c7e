/* Judges a kernel library by the bytes of the portable kernels, on random layers: its functions alone, and behind the
 * runtime's adapter. Prints a line of numbers for each layer, which bench/vendor/faults.py reads. */
#include "sweep.h"

#include <string.h>

#include "tigris_kernels.h"

#define GUARD 0x10000
#define MARGIN 0x1000
#define FILL 0xA5

enum { RIGHT, WRONG, CRASHED, REFUSED, NOT_RUN };

int sweep_not_run;

static uint32_t state;
static uint8_t *memory, *next;

static uint32_t number(void)
{
    state ^= state << 13;
    state ^= state >> 17;
    state ^= state << 5;
    return state;
}

static int32_t between(int32_t low, int32_t high)
{
    return low + (int32_t)(number() % (uint32_t)(high - low + 1));
}

#define CHOICE(values) values[number() % (sizeof(values) / sizeof *(values))]

/* ---- layers ---- */

static const int32_t CHANNELS[] = {1, 2, 3, 4, 5, 8, 10, 12, 16, 16, 20, 24, 32, 32, 40, 48, 64, 96, 128, 272};
static const int32_t KERNELS[][2] = {{1, 1}, {1, 1}, {3, 3}, {3, 3}, {3, 3}, {2, 2}, {5, 5}, {1, 3}, {3, 1}, {10, 4},
                                     {1, 9}, {5, 1}, {4, 4}, {7, 7}};

static int32_t max_of(int32_t a, int32_t b)
{
    return a > b ? a : b;
}

/* Chooses padding of an axis, and sizes unless there is one. Padding before: none, SAME, or any. */
static void choose_axis(sweep_layer *layer, int axis, uint32_t padding)
{
    const int32_t reach = (layer->kernel[axis] - 1) * layer->dilation[axis], stride = layer->stride[axis];
    const int32_t size = layer->size[axis] == 0 ? between(1, 20) : layer->size[axis];
    const int32_t same = (size - 1) / stride * stride + reach + 1 - size;
    int32_t before = 0, all = 0;
    if (padding == 1U && same > 0) {
        before = same / 2;
        all = same;
    } else if (padding == 2U) {
        before = reach / 2;
        all = 2 * before;
    } else if (padding >= 3U) {
        before = padding == 3U ? 0 : between(0, reach);
        all = before + between(0, reach);
    }
    const int32_t windows = max_of(0, size + all - reach - 1) / stride + 1;
    const int32_t end = (windows - 1) * stride + reach + 1;
    layer->size[axis] = max_of(size, end - all);
    layer->before[axis] = before;
    layer->behind[axis] = max_of(0, end - before - layer->size[axis]);
    layer->output_size[axis] = windows;
}

static int32_t products(const sweep_layer *layer)
{
    const int32_t depth = layer->kind == DEPTHWISE ? 1 : layer->inputs / layer->groups;
    return layer->images * layer->output_size[ROWS] * layer->output_size[COLUMNS] * layer->outputs *
           layer->kernel[ROWS] * layer->kernel[COLUMNS] * depth;
}

static void choose_window(sweep_layer *layer)
{
    const uint32_t kind = number() % 8U, padding = number() % 5U;
    const int one_row = number() % 8U == 0U;
    memcpy(layer->kernel, CHOICE(KERNELS), sizeof layer->kernel);
    layer->kernel[ROWS] = one_row ? 1 : layer->kernel[ROWS];
    layer->size[ROWS] = one_row ? 1 : 0;
    layer->size[COLUMNS] = 0;
    for (int axis = 0; axis < 2; axis++) {
        layer->stride[axis] = kind < 4U ? 1 : kind < 6U ? 2 : axis == 0 || kind == 6U ? between(1, 3) : 1;
        layer->dilation[axis] = number() % 8U == 0U ? 2 : 1;
        choose_axis(layer, axis, padding);
    }
}

static void choose_channels(sweep_layer *layer)
{
    const int32_t choice = between(0, 15);
    layer->inputs = CHOICE(CHANNELS);
    layer->outputs = CHOICE(CHANNELS);
    if (layer->kind == DEPTHWISE) {
        layer->outputs = layer->inputs * (choice < 10 ? 1 : choice == 10 ? 3 : 1 << (choice % 4));
    } else if (layer->kind == CONV && choice == 0) {
        layer->groups = between(2, 4);
        layer->inputs = layer->groups * CHOICE(CHANNELS);
        layer->outputs = layer->groups * between(1, 16);
    } else if (layer->kind == DENSE) {
        layer->inputs = choice < 8 ? layer->inputs * between(1, 6) : between(1, 400);
        layer->by_channel = choice % 2;
    }
}

static void choose_layer(sweep_layer *layer)
{
    const uint32_t kind = number() % 16U;
    const int32_t ends[2] = {between(-128, 127), between(-128, 127)};
    *layer = (sweep_layer){.kind = kind < 8U ? CONV : kind < 15U ? DEPTHWISE : DENSE, .images = 1, .groups = 1,
                           .size = {1, 1}, .output_size = {1, 1}, .kernel = {1, 1}, .stride = {1, 1},
                           .dilation = {1, 1}, .by_channel = 1};
    choose_channels(layer);
    if (layer->kind != DENSE) {
        choose_window(layer);
    }
    if (number() % 16U == 0U && (LIBRARY_HAS_IMAGES || layer->kind == DENSE)) {
        layer->images = between(2, 3);
    }
    layer->extreme = number() % 16U == 0U;
    layer->input_zero_point = layer->kind == DENSE ? 0 : between(-128, 127);
    layer->output_zero_point = between(-128, 127);
    layer->low = number() % 4U != 0U ? -128 : ends[0] < ends[1] ? ends[0] : ends[1];
    layer->high = layer->low == -128 ? 127 : max_of(ends[0], ends[1]);
}

/* ---- operands ---- */

/* Bytes at a multiple of 16, with FILL in `guard` bytes before and behind. */
static uint8_t *reserve(int32_t bytes, int32_t guard)
{
    uint8_t *at = (uint8_t *)(((uintptr_t)next + (uint32_t)guard + 15U) & ~(uintptr_t)15U);
    memset(next, FILL, (size_t)(at - next) + (size_t)(bytes + guard));
    next = at + bytes + guard;
    return at;
}

static int32_t input_bytes(const sweep_layer *layer)
{
    return layer->images * layer->size[ROWS] * layer->size[COLUMNS] * layer->inputs;
}

static int32_t output_bytes(const sweep_layer *layer)
{
    return layer->images * layer->output_size[ROWS] * layer->output_size[COLUMNS] * layer->outputs;
}

static int32_t taps(const sweep_layer *layer)
{
    return layer->kernel[ROWS] * layer->kernel[COLUMNS] *
           (layer->kind == DEPTHWISE ? 1 : layer->inputs / layer->groups);
}

/* Multipliers and shifts that bring sums to about eight bits. */
static void choose_scales(sweep_layer *layer)
{
    int32_t right = 5;
    for (int32_t n = taps(layer); n > 0; n /= layer->extreme != 0 ? 2 : 4) {
        right++;
    }
    for (int32_t i = 0; i < layer->outputs; i++) {
        layer->multiplier[i] = (int32_t)(0x40000000U | (number() >> 2));
        layer->shift[i] = -right + between(-2, 2);
    }
}

static void choose_operands(sweep_layer *layer)
{
    const int32_t count = taps(layer) * layer->outputs, inputs = input_bytes(layer);
    int32_t *bias;
    next = memory + MARGIN;
    int8_t *input = (int8_t *)reserve(inputs, MARGIN), *weights = (int8_t *)reserve(count, MARGIN);
    bias = (int32_t *)(void *)reserve(4 * layer->outputs, 64);
    layer->multiplier = (int32_t *)(void *)reserve(4 * layer->outputs, 64);
    layer->shift = (int32_t *)(void *)reserve(4 * layer->outputs, 64);
    for (int32_t i = 0; i < inputs; i++) {
        input[i] = (int8_t)(layer->extreme != 0 ? -128 : between(-128, 127));
    }
    for (int32_t i = 0; i < count; i++) {
        weights[i] = (int8_t)(layer->extreme != 0 ? (i / 64 % 2 != 0 && layer->kind != CONV ? 127 : -127) : between(-127, 127));
    }
    for (int32_t i = 0; i < layer->outputs; i++) {
        bias[i] = between(-9999, 9999);
    }
    layer->input = input;
    layer->weights = weights;
    layer->bias = bias;
    choose_scales(layer);
}

/* ---- kernels of the runtime ---- */

static const tigris_kernel_entry *const PORTABLE[] = {
    &tigris_plain_conv_2d_int8, &tigris_plain_depthwise_conv_2d_int8, &tigris_plain_fully_connected_int8};
#if defined(ADAPTER)
#define ENTRY(library, kind) tigris_##library##_##kind##_int8
#define ENTRIES(library)                                                                                               \
    extern const tigris_kernel_entry ENTRY(library, conv_2d), ENTRY(library, depthwise_conv_2d),                       \
        ENTRY(library, fully_connected);                                                                               \
    static const tigris_kernel_entry *const ADAPTED[] = {                                                              \
        &ENTRY(library, conv_2d), &ENTRY(library, depthwise_conv_2d), &ENTRY(library, fully_connected)};
ENTRIES(ADAPTER)
#endif

static uint32_t place(const void *at)
{
    return (uint32_t)((const uint8_t *)at - memory);
}

static tigris_tensor_record tensor_of(const int32_t size[2], int32_t channels)
{
    const tigris_tensor_record tensor = {.batch = 1U, .height = (uint32_t)size[ROWS], .width = (uint32_t)size[COLUMNS],
                                         .channels = (uint32_t)channels, .dtype = TIGRIS_DTYPE_INT8};
    return tensor;
}

static void run_kernel(const sweep_layer *layer, const tigris_kernel_entry *kernel, int8_t *output)
{
    const tigris_conv_int8_params conv = {
        (uint16_t)layer->kernel[ROWS], (uint16_t)layer->kernel[COLUMNS], (uint16_t)layer->stride[ROWS],
        (uint16_t)layer->stride[COLUMNS], (uint16_t)layer->dilation[ROWS], (uint16_t)layer->dilation[COLUMNS],
        (uint16_t)layer->before[COLUMNS], (uint16_t)layer->groups, layer->input_zero_point, layer->output_zero_point,
        layer->low, layer->high, place(layer->weights), place(layer->bias), place(layer->multiplier),
        place(layer->shift)};
    const tigris_fully_connected_int8_params dense = {
        1U, (uint32_t)layer->inputs, (uint32_t)layer->outputs, (uint32_t)layer->by_channel, layer->output_zero_point,
        layer->low, layer->high, place(layer->weights), place(layer->bias), place(layer->multiplier),
        place(layer->shift)};
    const tigris_tensor_record from = tensor_of(layer->size, layer->inputs);
    const tigris_tensor_record to = tensor_of(layer->output_size, layer->outputs);
    for (int32_t i = 0; i < layer->images; i++) {
        uint8_t *data = (uint8_t *)output + i * (output_bytes(layer) / layer->images);
        const tigris_band in = {(const uint8_t *)layer->input + i * (input_bytes(layer) / layer->images), &from, 0,
                                layer->size[ROWS], layer->before[ROWS], layer->behind[ROWS]};
        const tigris_band out = {data, &to, 0, layer->output_size[ROWS], 0, 0};
        const tigris_kernel_call call = {
            .params = layer->kind == DENSE ? (const void *)&dense : &conv, .weights = memory, .inputs = &in,
            .input_count = 1U, .output = &out, .output_data = data, .backend_scratch = layer->scratch,
            .backend_scratch_bytes = GUARD};
        kernel->run(&call);
    }
}

/* Runs the layer as a session would, or returns 0 for layers that the adapter's check refuses. */
static int run_adapter(const sweep_layer *layer, int32_t scratch_bytes)
{
    (void)scratch_bytes;
#if defined(ADAPTER)
    if (layer->groups == 1 && (LIBRARY_DILATES || (layer->dilation[ROWS] == 1 && layer->dilation[COLUMNS] == 1))) {
        run_kernel(layer, ADAPTED[layer->kind], layer->output);
        return 1;
    }
#endif
    return 0;
}

/* ---- judgement ---- */

static char line[512];
static uint32_t line_length;

static void put(int32_t value)
{
    char digits[12];
    uint32_t count = 0U, rest = (uint32_t)value;
    do {
        digits[count++] = (char)('0' + rest % 10U);
        rest /= 10U;
    } while (rest != 0U);
    while (count > 0U) {
        line[line_length++] = digits[--count];
    }
    line[line_length++] = ' ';
}

static void put_pair(const int32_t pair[2])
{
    put(pair[0]);
    put(pair[1]);
}

static void print_layer(const sweep_layer *layer, const int32_t results[6])
{
    line_length = 0U;
    const int32_t single[] = {layer->kind, layer->images, layer->groups, layer->inputs, layer->outputs,
                              layer->by_channel, layer->extreme};
    for (uint32_t i = 0; i < sizeof single / sizeof *single; i++) {
        put(single[i]);
    }
    put_pair(layer->size);
    put_pair(layer->output_size);
    put_pair(layer->kernel);
    put_pair(layer->stride);
    put_pair(layer->dilation);
    put_pair(layer->before);
    put_pair(layer->behind);
    for (uint32_t i = 0; i < 6U; i++) {
        put(results[i]);
    }
    line[line_length - 1U] = '\n';
    line[line_length] = '\0';
    sweep_print(line);
}

/* Bytes from `at` to the last of `bytes` that is not FILL. */
static int32_t written(const uint8_t *at, int32_t bytes)
{
    while (bytes > 0 && at[bytes - 1] == FILL) {
        bytes--;
    }
    return bytes;
}

/* Clears output and scratch, and runs the layer. Returns the status. */
static int32_t status_of(sweep_run *run, const sweep_layer *layer, int32_t scratch_bytes, const int8_t *expected)
{
    const size_t bytes = (size_t)output_bytes(layer);
    memset(layer->output, FILL, bytes);
    memset(layer->scratch, FILL, (size_t)scratch_bytes + GUARD);
    sweep_not_run = 0;
    const int ran = sweep_call(run, layer, scratch_bytes);
    return sweep_not_run != 0                                   ? NOT_RUN
           : ran == SWEEP_CRASHED                               ? CRASHED
           : ran == 0                                           ? REFUSED
           : memcmp(layer->output, expected, (size_t)bytes) != 0 ? WRONG
                                                                : RIGHT;
}

static void judge(sweep_layer *layer)
{
    const int32_t bytes = output_bytes(layer);
    choose_operands(layer);
    int8_t *expected = (int8_t *)reserve(bytes, 64), *output = (int8_t *)reserve(bytes, MARGIN);
    run_kernel(layer, PORTABLE[layer->kind], expected);
    const int32_t asked = max_of(0, library_scratch(layer));
    uint8_t *scratch = reserve(asked, GUARD);
    layer->output = output;
    layer->scratch = scratch;
    const int32_t status = status_of(library_run, layer, asked, expected);
    const int32_t before = written((uint8_t *)output - 64, 64) + written(scratch - MARGIN, MARGIN);
    const int32_t behind = written((uint8_t *)output + bytes, MARGIN);
    const int32_t used = written(scratch, asked + GUARD);
    const int32_t results[] = {status, asked, used, before, behind, status_of(run_adapter, layer, asked, expected)};
    print_layer(layer, results);
}

void sweep(void)
{
    memory = sweep_memory();
    state = SEED * 2654435761U + 1U;
    for (int32_t done = 0; done < SHAPES;) {
        sweep_layer layer;
        choose_layer(&layer);
        if (products(&layer) <= PRODUCTS && input_bytes(&layer) < 0x20000) {
            judge(&layer);
            done++;
        }
    }
}
