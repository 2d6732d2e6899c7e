/* Runs a plan with the kernels in the ESP32-S3's vectors on this machine: what is assembly is asked of the other end of the
 * pipe, which interprets it (whole.py).
 *
 * Reads four words (bytes of plan, fast and slow memory, input; little-endian), the plan and the input. Of each call of
 * assembly it writes a request and its bytes, and reads the bytes of the result. At the end it writes a request of no
 * name, whose `pixels` is the status, and the output. */
#define _POSIX_C_SOURCE 200112L

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../runtime/src/kernels/pie/layer.h"
#include "tigris_backends.h"

typedef struct request {
    char name[64];
    uint32_t blocks, left, right, vectors;
    int32_t low, high;
    uint32_t pixels;
    int32_t pixel, next;
    uint32_t stream, inputs, input, output; /* bytes; `inputs`: how many of `input` bytes each */
} request;

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

static void ask(const char *name, request r, const int8_t *stream, const int8_t *const *inputs, int8_t *output)
{
    strncpy(r.name, name, sizeof r.name - 1U);
    put(&r, sizeof r);
    put(stream, r.stream);
    for (uint32_t i = 0; i < r.inputs; i++) {
        put(inputs[i], r.input);
    }
    fflush(stdout);
    get(output, r.output);
}

static request of_layer(const tigris_pie_layer *layer, uint32_t pixels)
{
    const request r = {.blocks = layer->blocks, .left = layer->left, .right = layer->right, .vectors = layer->vectors,
                       .low = layer->low, .high = layer->high, .pixels = pixels};
    return r;
}

static void dense(const char *name, const int8_t *input, int8_t *output, const tigris_pie_layer *layer,
                  uint32_t pixels, uint32_t words)
{
    request r = of_layer(layer, pixels);
    const uint32_t bytes = layer->vectors * TIGRIS_PIE_LANES;
    r.stream = layer->blocks * (TIGRIS_PIE_OUTPUTS * bytes + 32U + words) + TIGRIS_PIE_LANES;
    r.inputs = 1U;
    r.input = pixels * bytes;
    r.output = pixels * layer->blocks * TIGRIS_PIE_OUTPUTS;
    ask(name, r, layer->stream, &input, output);
}

static void depthwise(const char *name, const int8_t *const rows[3], int8_t *output, const tigris_pie_layer *layer,
                      uint32_t pixels, int32_t pixel, int32_t next, uint32_t words)
{
    request r = of_layer(layer, pixels);
    r.pixel = pixel;
    r.next = next;
    r.stream = layer->blocks * (9U * TIGRIS_PIE_LANES + 2U * (32U + words)) + TIGRIS_PIE_LANES;
    r.inputs = 3U;
    r.input = (pixels - 1U) * (uint32_t)(pixel + next) + 3U * (uint32_t)pixel;
    r.output = pixels * layer->blocks * TIGRIS_PIE_LANES;
    ask(name, r, layer->stream, rows, output);
}

#define DENSE(end, words)                                                                                              \
    void tigris_pie_dense##end(const int8_t *input, int8_t *output, const tigris_pie_layer *layer, uint32_t pixels)    \
    {                                                                                                                  \
        dense("tigris_pie_dense" #end, input, output, layer, pixels, words);                                           \
    }
#define SHORT(inputs)                                                                                                  \
    DENSE(_##inputs##_above, 48U)                                                                                      \
    DENSE(_##inputs, 80U)                                                                                              \
    DENSE(_##inputs##_clamped, 80U)                                                                                    \
    DENSE(_##inputs##_whole, 112U)                                                                                     \
    DENSE(_##inputs##_whole_clamped, 112U)
SHORT(16)
SHORT(32)
SHORT(64)
DENSE(, 112U)
DENSE(_clamped, 112U)

#define THREE(end, words)                                                                                              \
    void tigris_pie_depthwise_3x3##end(const int8_t *const rows[3], int8_t *output, const tigris_pie_layer *layer,     \
                                       uint32_t pixels, int32_t pixel, int32_t next)                                   \
    {                                                                                                                  \
        depthwise("tigris_pie_depthwise_3x3" #end, rows, output, layer, pixels, pixel, next, words);                   \
    }
THREE(_above, 48U)
THREE(, 80U)
THREE(_clamped, 80U)
THREE(_whole, 112U)
THREE(_whole_clamped, 112U)

void tigris_pie_gather(int8_t *patch, const int8_t *const *rows, uint32_t vectors, uint32_t count)
{
    const uint32_t bytes = vectors * TIGRIS_PIE_LANES;
    const request r = {.vectors = vectors, .inputs = count, .input = bytes, .output = count * bytes};
    ask("tigris_pie_gather", r, NULL, rows, patch);
}

/* Says of which operator the calls of assembly before were. */
static void tell(void *context, uint32_t op, uint32_t elapsed)
{
    const request r = {.name = "op", .pixels = op};
    (void)context;
    (void)elapsed;
    put(&r, sizeof r);
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
    request last = {.name = ""};
    tigris_status status = tigris_plan_open(&plan, data, sizes[0]);
    if (status == TIGRIS_OK) {
        const tigris_arenas arenas = {allocate(sizes[1]), sizes[1], allocate(sizes[2]), sizes[2]};
        status = tigris_session_init(&session, &plan, &arenas, &tigris_pie_backend);
    }
    if (status == TIGRIS_OK) {
        session.hooks.counter = no_time;
        session.hooks.profile = tell;
        get(tigris_input(&session, 0), sizes[3]);
        status = tigris_run(&session);
        last.output = tigris_output_bytes(&session, 0);
    }
    last.pixels = (uint32_t)status;
    put(&last, sizeof last);
    put(status == TIGRIS_OK ? tigris_output(&session, 0) : "", last.output);
    fflush(stdout);
    return 0;
}
