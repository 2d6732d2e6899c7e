/* Runs a plan with ESP-NN's kernels for the ESP32-P4 on this machine: the runtime and its adapter are compiled for here,
 * each call of the library is asked of the other end of the pipe, which interprets it (whole.py).
 *
 * Reads four words (bytes of plan, fast and slow memory, input; little-endian), the plan and the input. A request is a
 * name of 64 bytes, how many arguments there are, and the arguments: each three words, what it is, a number or how many
 * bytes, and where those lie modulo 16; behind them the bytes of those that are read. The answer is the function's
 * result and the bytes of what is written. At the end it writes a request of no name, whose arguments are the status
 * and the output. */
#define _POSIX_C_SOURCE 200112L

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "esp_nn_defs.h"

#include "esp_nn.h"
#include "tigris_backends.h"

enum { NUMBER, READ, WRITTEN, WORDS_OF_TWO };

typedef struct argument {
    uint32_t kind;
    uint32_t value;
    uint32_t place;
    const void *bytes;
} argument;

static void *allocate(uint32_t bytes)
{
    void *memory = NULL;
    if (posix_memalign(&memory, 64U, bytes > 0U ? bytes : 1U) != 0) {
        abort();
    }
    return memory;
}

static void get(void *to, uint32_t bytes)
{
    if (fread(to, 1U, bytes, stdin) != bytes) {
        exit(2);
    }
}

static void put(const void *from, uint32_t bytes)
{
    if (fwrite(from, 1U, bytes, stdout) != bytes) {
        exit(2);
    }
}

static argument number(int32_t value)
{
    const argument a = {NUMBER, (uint32_t)value, 0U, NULL};
    return a;
}

static argument bytes(uint32_t kind, const void *at, int32_t size)
{
    const argument a = {kind, (uint32_t)size, (uint32_t)((uintptr_t)at & 15U), at};
    return a;
}

static void request(const char *name, const argument *arguments, uint32_t count)
{
    char padded[64] = "";
    strncpy(padded, name, sizeof padded - 1U);
    put(padded, sizeof padded);
    put(&count, sizeof count);
    for (uint32_t i = 0; i < count; i++) {
        put(&arguments[i], 3U * sizeof(uint32_t));
    }
    for (uint32_t i = 0; i < count; i++) {
        if (arguments[i].kind == READ) {
            put(arguments[i].bytes, arguments[i].value);
        } else if (arguments[i].kind == WORDS_OF_TWO) {
            const quant_data_t *scales = arguments[i].bytes;
            put(scales->shift, arguments[i].value);
            put(scales->mult, arguments[i].value);
        }
    }
    fflush(stdout);
}

static int32_t ask(const char *name, const argument *arguments, uint32_t count)
{
    int32_t result;
    request(name, arguments, count);
    get(&result, sizeof result);
    for (uint32_t i = 0; i < count; i++) {
        if (arguments[i].kind == WRITTEN) {
            get((void *)(uintptr_t)arguments[i].bytes, arguments[i].value);
        }
    }
    return result;
}

#define ASK(name, arguments) ask(name, arguments, sizeof(arguments) / sizeof(arguments)[0])
#define RECORD(of) bytes(READ, of, sizeof *(of))

static int32_t content(const data_dims_t *dims)
{
    return dims->width * dims->height * dims->channels;
}

int esp_nn_get_conv_scratch_size_esp32p4(const data_dims_t *input, const data_dims_t *filter, const data_dims_t *output,
                                         const conv_params_t *params)
{
    const argument arguments[] = {RECORD(input), RECORD(filter), RECORD(output), RECORD(params)};
    return ASK("esp_nn_get_conv_scratch_size_esp32p4", arguments);
}

/* The other end has scratch of its own: as much as the library asks for. */
void esp_nn_set_conv_scratch_buf_esp32p4(const void *buffer)
{
    (void)buffer;
}

int esp_nn_get_depthwise_conv_scratch_size_esp32p4(const data_dims_t *input, const data_dims_t *filter,
                                                   const data_dims_t *output, const dw_conv_params_t *params)
{
    const argument arguments[] = {RECORD(input), RECORD(filter), RECORD(output), RECORD(params)};
    return ASK("esp_nn_get_depthwise_conv_scratch_size_esp32p4", arguments);
}

void esp_nn_set_depthwise_conv_scratch_buf_esp32p4(const void *buffer)
{
    (void)buffer;
}

void esp_nn_conv_s8_esp32p4(const data_dims_t *input_dims, const int8_t *input, const data_dims_t *filter_dims,
                            const int8_t *filter, const int32_t *bias, const data_dims_t *output_dims, int8_t *output,
                            const conv_params_t *params, const quant_data_t *scales)
{
    const int32_t words = 4 * output_dims->channels;
    const argument arguments[] = {
        RECORD(input_dims), bytes(READ, input, content(input_dims)), RECORD(filter_dims),
        bytes(READ, filter, content(filter_dims) * output_dims->channels), bytes(READ, bias, words),
        RECORD(output_dims), bytes(WRITTEN, output, content(output_dims)), RECORD(params),
        bytes(WORDS_OF_TWO, scales, words)};
    ASK("esp_nn_conv_s8_esp32p4", arguments);
}

void esp_nn_depthwise_conv_s8_esp32p4(const data_dims_t *input_dims, const int8_t *input,
                                      const data_dims_t *filter_dims, const int8_t *filter, const int32_t *bias,
                                      const data_dims_t *output_dims, int8_t *output, const dw_conv_params_t *params,
                                      const quant_data_t *scales)
{
    const int32_t words = 4 * output_dims->channels;
    const argument arguments[] = {
        RECORD(input_dims), bytes(READ, input, content(input_dims)), RECORD(filter_dims),
        bytes(READ, filter, filter_dims->width * filter_dims->height * output_dims->channels), bytes(READ, bias, words),
        RECORD(output_dims), bytes(WRITTEN, output, content(output_dims)), RECORD(params),
        bytes(WORDS_OF_TWO, scales, words)};
    ASK("esp_nn_depthwise_conv_s8_esp32p4", arguments);
}

void esp_nn_fully_connected_s8_esp32p4(const int8_t *input, const int32_t input_offset, const uint16_t length,
                                       const int8_t *filter, const int32_t filter_offset, const int32_t *bias,
                                       int8_t *output, const uint16_t channels, const int32_t offset,
                                       const int32_t shift, const int32_t multiplier, const int32_t low,
                                       const int32_t high)
{
    const argument arguments[] = {
        bytes(READ, input, length), number(input_offset), number(length), bytes(READ, filter, length * channels),
        number(filter_offset), bytes(READ, bias, 4 * channels), bytes(WRITTEN, output, channels), number(channels),
        number(offset), number(shift), number(multiplier), number(low), number(high)};
    ASK("esp_nn_fully_connected_s8_esp32p4", arguments);
}

void esp_nn_fully_connected_per_ch_s8_esp32p4(const int8_t *input, const int32_t input_offset, const uint16_t length,
                                              const int8_t *filter, const int32_t filter_offset, const int32_t *bias,
                                              int8_t *output, const uint16_t channels, const int32_t offset,
                                              const int32_t *shift, const int32_t *multiplier, const int32_t low,
                                              const int32_t high)
{
    const argument arguments[] = {
        bytes(READ, input, length), number(input_offset), number(length), bytes(READ, filter, length * channels),
        number(filter_offset), bytes(READ, bias, 4 * channels), bytes(WRITTEN, output, channels), number(channels),
        number(offset), bytes(READ, shift, 4 * channels), bytes(READ, multiplier, 4 * channels), number(low),
        number(high)};
    ASK("esp_nn_fully_connected_per_ch_s8_esp32p4", arguments);
}

/* Says of which operator the calls before were. */
static void tell(void *context, uint32_t op, uint32_t elapsed)
{
    const argument a = number((int32_t)op);
    (void)context;
    (void)elapsed;
    request("op", &a, 1U);
}

static uint32_t no_time(void *context)
{
    (void)context;
    return 0U;
}

int main(void)
{
    uint32_t sizes[4];
    tigris_plan plan;
    tigris_session session;
    get(sizes, sizeof sizes);
    void *data = allocate(sizes[0]);
    get(data, sizes[0]);
    void *input = allocate(sizes[3]);
    get(input, sizes[3]); /* before the library is asked for anything */
    argument last[] = {number(0), bytes(READ, "", 0)};
    tigris_status status = tigris_plan_open(&plan, data, sizes[0]);
    if (status == TIGRIS_OK) {
        const tigris_arenas arenas = {allocate(sizes[1]), sizes[1], allocate(sizes[2]), sizes[2]};
        status = tigris_session_init(&session, &plan, &arenas, &tigris_esp_nn_backend);
    }
    if (status == TIGRIS_OK) {
        session.hooks.counter = no_time;
        session.hooks.profile = tell;
        memcpy(tigris_input(&session, 0), input, sizes[3]);
        status = tigris_run(&session);
        last[1] = bytes(READ, tigris_output(&session, 0), (int32_t)tigris_output_bytes(&session, 0));
    }
    last[0] = number((int32_t)status);
    request("", last, 2U);
    return 0;
}
