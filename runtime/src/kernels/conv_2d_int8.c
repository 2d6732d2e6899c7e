/* CONV_2D, int8, and TABLE_CONV_2D. */
#define TIGRIS_WEIGHT_ZEROS 0
#include "conv_2d_int8.h"

TIGRIS_SET_ENTRY(tigris_conv_2d_int8, CONV_2D, INT8, tigris_conv_int8_params, run, check);

/* ---- TABLE_CONV_2D: weights are indices of 4 bits into tables of 16 values ---- */

/* The values of four indices. */
TIGRIS_INLINE void unpack_four(const uint8_t *from, const int8_t *table, int8_t *to)
{
    to[0] = table[from[0] & 15U];
    to[1] = table[from[0] >> 4];
    to[2] = table[from[1] & 15U];
    to[3] = table[from[1] >> 4];
}

/* Unpacks the weights of a block of four channels; `step`: bytes from a channel's table to the next channel's. */
TIGRIS_HOT
static void unpack_block(const uint8_t *from, const int8_t *table, int32_t step, int8_t *to, int32_t taps)
{
    for (const int8_t *const end = to + BLOCK * taps; to != end; to += BLOCK * TIGRIS_TILE_TAPS) {
        unpack_four(from, table, to);
        unpack_four(from + 2, table + step, to + TIGRIS_TILE_TAPS);
        unpack_four(from + 4, table + 2 * step, to + 2 * TIGRIS_TILE_TAPS);
        unpack_four(from + 6, table + 3 * step, to + 3 * TIGRIS_TILE_TAPS);
        from += 8;
    }
}

/* Unpacks the weights of a pass into scratch. */
static TIGRIS_NOINLINE void unpack_pass(const conv_pass *pass)
{
    const tigris_table_conv_int8_params *params = tigris_params(pass->call);
    const int32_t taps = taps_of(pass->call), step = (int32_t)params->table_step;
    const uint8_t *from = (const uint8_t *)tigris_int8_data(pass->call, params->weights) + pass->channel / 2 * taps;
    const int8_t *table = tigris_int8_data(pass->call, params->tables) + pass->channel * step;
    int8_t *to = (int8_t *)tigris_scratch(pass->call);
    for (int32_t channel = pass->channel; channel != pass->end; channel += BLOCK) {
        unpack_block(from, table, step, to, taps);
        from += BLOCK / 2 * taps;
        table += BLOCK * step;
        to += BLOCK * taps;
    }
}

/* Makes passes over the pixels, each for as many channels as scratch holds the weights of. */
TIGRIS_HOT
static void run_table(const tigris_kernel_call *call)
{
    const tigris_table_conv_int8_params *params = tigris_params(call);
    const int32_t channels = (int32_t)tigris_output_tensor(call)->channels, step = (int32_t)params->pass_channels;
    conv_pass pass = {call, (const int8_t *)tigris_scratch(call), 0, 0};
    for (; pass.channel < channels; pass.channel = pass.end) {
        pass.end = channels - pass.channel < step ? channels : pass.channel + step;
        unpack_pass(&pass);
        run_pass(&pass);
    }
}

static tigris_status check_table(const tigris_check_call *call)
{
    const tigris_table_conv_int8_params *params = call->params;
    const uint32_t inputs = call->inputs[0]->channels, outputs = call->output->channels;
    if (params->groups != 1U || call->op->operand_count != 1U || inputs % TIGRIS_TILE_TAPS != 0U ||
        outputs % BLOCK != 0U || params->pass_channels == 0U || params->pass_channels % BLOCK != 0U) {
        return TIGRIS_ERR_PARAMS;
    }
    const uint32_t taps = tigris_multiply((uint32_t)params->kernel_height * params->kernel_width, inputs);
    return tigris_check_result(
        tigris_check_convolution_int8(call, tigris_multiply(taps, outputs / 2U), 1U) &&
        tigris_multiply(taps, params->pass_channels) <= tigris_scratch_of_a_core(call->op) &&
        (params->table_step == 0U || params->table_step == 16U) &&
        tigris_check_data(call, params->tables, params->table_step == 0U ? 1U : outputs, 16U));
}

TIGRIS_KERNEL_ENTRY(tigris_table_conv_2d_int8, TABLE_CONV_2D, INT8, tigris_table_conv_int8_params, run_table,
                    check_table);
