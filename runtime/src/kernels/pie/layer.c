#include "layer.h"

#if defined(TIGRIS_PIE)

#include <string.h>

#define EDGE 16U /* bytes of a stream's head, and behind its blocks */
#define OFFSETS 32U
/* Most bytes of a stream that are read for one pixel after another: half of the chip's default cache of data. */
#define PASS 16384U
#define SHORT_ENDINGS TIGRIS_PIE_LONG

/* Bytes of the multipliers and offsets of eight outputs, by ending. */
static const uint8_t multipliers[TIGRIS_PIE_ENDINGS] = {48, 80, 80, 112, 112, 112, 112};

static int fits(const uint8_t *head, uint32_t room, tigris_pie_blocks blocks)
{
    if (room < 2U * EDGE || head[0] >= TIGRIS_PIE_ENDINGS || head[1] > 31U || head[2] > 31U ||
        blocks.weights > INT32_MAX) {
        return 0;
    }
    const uint32_t block = blocks.weights + blocks.eights * (OFFSETS + multipliers[head[0]]);
    return tigris_multiply(blocks.count, block) <= room - 2U * EDGE;
}

tigris_status tigris_pie_check(const tigris_check_call *call, uint32_t weights, uint32_t bias,
                               tigris_pie_blocks blocks, uint32_t scratch)
{
    if (call->session->plan->header->alignment % TIGRIS_PIE_LANES != 0U) {
        return TIGRIS_ERR_ALIGNMENT;
    }
    return tigris_check_result(tigris_scratch_of_a_core(call->op) >= scratch && weights < bias &&
                               (call->weights == NULL || fits(call->weights + weights, bias - weights, blocks)));
}

tigris_pie_ending tigris_pie_layer_of(const tigris_kernel_call *call, uint32_t weights, uint32_t bias,
                                      tigris_pie_blocks blocks, tigris_pie_layer *layer)
{
    const uint8_t *head = call->weights + weights;
    if (!fits(head, bias - weights, blocks)) {
        return TIGRIS_PIE_ENDINGS;
    }
    layer->stream = (const int8_t *)(const void *)(head + EDGE);
    layer->blocks = blocks.count;
    layer->left = head[1];
    layer->right = head[2];
    layer->vectors = 0U;
    layer->skip = 0U;
    return (tigris_pie_ending)head[0];
}

tigris_pie_blocks tigris_pie_dense_blocks(uint32_t window, uint32_t outputs)
{
    const tigris_pie_blocks blocks = {
        outputs / TIGRIS_PIE_OUTPUTS + (outputs % TIGRIS_PIE_OUTPUTS != 0U),
        tigris_multiply(tigris_pie_vectors(window), TIGRIS_PIE_LANES * TIGRIS_PIE_OUTPUTS), 1U};
    return blocks;
}

uint32_t tigris_pie_dense_scratch(uint32_t window, uint32_t outputs)
{
    return (tigris_pie_vectors(window) + tigris_pie_vectors(outputs)) * TIGRIS_PIE_LANES;
}

/* The function of an ending, or NULL. */
static tigris_pie_dense_kernel *dense_kernel(tigris_pie_ending ending, uint32_t vectors)
{
    static tigris_pie_dense_kernel *const kernels[][SHORT_ENDINGS] = {
        {tigris_pie_dense_16_above, tigris_pie_dense_16, tigris_pie_dense_16_clamped, tigris_pie_dense_16_whole,
         tigris_pie_dense_16_whole_clamped},
        {tigris_pie_dense_32_above, tigris_pie_dense_32, tigris_pie_dense_32_clamped, tigris_pie_dense_32_whole,
         tigris_pie_dense_32_whole_clamped},
        {tigris_pie_dense_64_above, tigris_pie_dense_64, tigris_pie_dense_64_clamped, tigris_pie_dense_64_whole,
         tigris_pie_dense_64_whole_clamped},
    };
    switch (ending) {
    case TIGRIS_PIE_ENDINGS:
        return NULL;
    case TIGRIS_PIE_LONG:
        return tigris_pie_dense;
    case TIGRIS_PIE_LONG_CLAMPED:
        return tigris_pie_dense_clamped;
    default:
        return vectors == 1U || vectors == 2U || vectors == 4U ? kernels[vectors >> 1][ending] : NULL;
    }
}

tigris_pie_dense_layer tigris_pie_dense_of(const tigris_kernel_call *call, uint32_t weights, uint32_t bias,
                                           uint32_t window, uint32_t outputs)
{
    const tigris_pie_blocks blocks = tigris_pie_dense_blocks(window, outputs);
    tigris_pie_dense_layer d = {.window = window, .outputs = outputs};
    const tigris_pie_ending ending = tigris_pie_layer_of(call, weights, bias, blocks, &d.layer);
    d.run = dense_kernel(ending, tigris_pie_vectors(window));
    d.block = ending < TIGRIS_PIE_ENDINGS ? blocks.weights + OFFSETS + multipliers[ending] : 1U;
    d.layer.vectors = tigris_pie_vectors(window);
    d.patch = (int8_t *)(void *)call->scratch;
    d.result = d.patch + d.layer.vectors * TIGRIS_PIE_LANES;
    return d;
}

/* Computes pixels in passes over blocks. Each pass reads its part of the stream once a pixel, so that a cache keeps it. */
static void run_passes(const tigris_pie_dense_layer *d, const int8_t *input, int8_t *output, uint32_t pixels)
{
    const uint32_t most = d->block < PASS ? PASS / d->block : 1U;
    tigris_pie_layer layer = d->layer;
    for (uint32_t left = layer.blocks; left != 0U; left -= layer.blocks) {
        layer.blocks = left < most ? left : most;
        layer.skip = d->outputs - layer.blocks * TIGRIS_PIE_OUTPUTS;
        d->run(input, output, &layer, pixels);
        layer.stream += layer.blocks * d->block;
        output += layer.blocks * TIGRIS_PIE_OUTPUTS;
    }
}

void tigris_pie_run_dense(const tigris_pie_dense_layer *d, const int8_t *input, int8_t *output, uint32_t pixels)
{
    const int reads = d->window % TIGRIS_PIE_LANES == 0U && tigris_pie_is_aligned(input, TIGRIS_PIE_LANES);
    const int writes = d->outputs % TIGRIS_PIE_OUTPUTS == 0U && tigris_pie_is_aligned(output, TIGRIS_PIE_OUTPUTS);
    if (reads && writes && pixels == 1U) {
        d->run(input, output, &d->layer, 1U);
        return;
    }
    if (reads && writes) {
        run_passes(d, input, output, pixels);
        return;
    }
    for (; pixels != 0U; pixels--) {
        if (!reads) {
            memmove(d->patch, input, d->window);
        }
        d->run(reads ? input : d->patch, writes ? output : d->result, &d->layer, 1U);
        if (!writes) {
            memmove(output, d->result, d->outputs);
        }
        input += d->window;
        output += d->outputs;
    }
}

#endif
