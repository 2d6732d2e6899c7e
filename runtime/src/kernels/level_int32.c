/* LEVEL: functions of the levels of frequency bands, to the bit as TensorFlow Lite Micro's operators
 * SignalFilterBankSpectralSubtraction, SignalPCAN and SignalFilterBankLog compute them. Sums and products wrap as there.
 * PCAN: Wang et al., "Trainable Frontend For Robust and Far-Field Keyword Spotting", 2017. */
#include "levels.h"
#include "tigris_kernels.h"

#define GAIN_ENTRIES 125U
#define LOG_ENTRIES 130U
#define STEPS 255U
#define LOG_BITS 16U

/* The running mean of the level, in steps of 1 / 2^up_bits; `before` is that of the previous run. */
static uint32_t noise(const tigris_level_params *params, uint32_t level, uint32_t before, uint32_t odd)
{
    const uint32_t fine = level << params->up_bits;
    const uint32_t mean = (uint32_t)(((uint64_t)fine * params->share[odd] + (uint64_t)before * params->rest[odd]) >>
                                     params->down_bits);
    return params->clamp != 0U && mean > fine ? fine : mean;
}

/* The part of a level above the noise, but at least a share of the level. */
static uint32_t louder(const tigris_level_params *params, uint32_t level, uint32_t mean)
{
    const uint32_t fine = level << params->up_bits;
    const uint32_t above = mean < fine ? (fine - mean) >> params->up_bits : 0U;
    const uint32_t least = (uint32_t)(((uint64_t)level * params->factor) >> params->down_bits);
    return above > least ? above : least;
}

/* The gain for a noise level: between two powers of two a parabola, evaluated at a position of ten bits. */
static uint32_t gain_at(const int16_t *table, uint32_t mean)
{
    if (mean <= 2U) {
        return (uint32_t)table[mean];
    }
    const uint32_t bits = tigris_bits(mean);
    const int16_t *parabola = table + 4U * bits - 6U;
    const int32_t place = (int32_t)((bits < 11U ? mean << (11U - bits) : mean >> (bits - 11U)) & 0x3FFU);
    const uint32_t slope = (uint32_t)((parabola[2] * place) >> 5) + ((uint32_t)parabola[1] << 5);
    return (uint32_t)(int16_t)(((int32_t)(slope * (uint32_t)place + (1U << 14)) >> 15) + parabola[0]);
}

/* With x = level * gain: x^2 / 4 if x < 2, else x - 1, in steps of 1/64. `ratio` is x in steps of 1/4096. */
static uint32_t amplified(const tigris_level_params *params, const int16_t *table, uint32_t level, uint32_t mean)
{
    const uint32_t ratio = (uint32_t)(((uint64_t)level * gain_at(table, mean)) >> params->down_bits);
    return ratio < 2U << 12 ? (ratio * ratio) >> 20 : (ratio >> 6) - 64U;
}

/* factor * ln(level * 2^up_bits). The table holds 2^16 (log2(1 + i / 128) - i / 128). */
static uint32_t logarithm(const tigris_level_params *params, const uint16_t *table, uint32_t level)
{
    const uint32_t value = level << params->up_bits;
    if (value <= 1U) {
        return 0;
    }
    const uint32_t whole = tigris_bits(value) - 1U;
    const uint32_t part = value - ((uint32_t)1 << whole);
    const uint32_t fraction = whole < LOG_BITS ? part << (LOG_BITS - whole) : part >> (whole - LOG_BITS);
    const uint16_t *from = table + (fraction >> 9);
    const int32_t above = ((from[1] - from[0]) * (int32_t)(fraction & 511U)) >> LOG_BITS;
    const uint32_t log2 = (whole << LOG_BITS) + fraction + from[0] + (uint32_t)above;
    const uint32_t half = (uint32_t)1 << (LOG_BITS - 1U);
    const uint32_t natural = (uint32_t)(((uint64_t)45426 * log2 + half) >> LOG_BITS); /* 45426 / 2^16: ln 2 */
    const uint32_t scaled = (params->factor * natural + half) >> LOG_BITS;
    return scaled < INT16_MAX ? scaled : INT16_MAX;
}

/* The number of entries that are at most `value`, less 128; the 255 entries ascend. */
static int8_t step_of(const uint16_t *steps, uint32_t value)
{
    uint32_t count = 0;
    for (uint32_t more = 128; more > 0U; more /= 2U) {
        count += steps[count + more - 1U] <= value ? more : 0U;
    }
    return (int8_t)((int32_t)count - 128);
}

static void write_logarithm(const tigris_kernel_call *call, uint32_t i, uint32_t level)
{
    const tigris_level_params *params = tigris_params(call);
    const uint32_t value = logarithm(params, tigris_uint16_data(call, params->table), level);
    if (tigris_output_tensor(call)->dtype == TIGRIS_DTYPE_INT8) {
        tigris_int8_output(call)[i] = step_of(tigris_uint16_data(call, params->steps), value);
    } else {
        tigris_int16_output(call)[i] = (int16_t)value;
    }
}

static void run(const tigris_kernel_call *call)
{
    const tigris_level_params *params = tigris_params(call);
    const uint32_t elements = tigris_band_elements(tigris_output_band(call)),
                   row = tigris_row_elements(tigris_output_tensor(call));
    const uint32_t *levels =
        (const uint32_t *)(const void *)tigris_band_row(tigris_input_band(call, 0), tigris_output_first(call));
    const uint32_t *means = levels;
    if (params->function != TIGRIS_LEVEL_FUNCTION_LOG) {
        means = (const uint32_t *)(const void *)tigris_band_row(tigris_input_band(call, 1), tigris_output_first(call));
    }
    uint32_t *to = tigris_levels_output(call);
    for (uint32_t i = 0; i < elements; i++) {
        switch (params->function) {
        case TIGRIS_LEVEL_FUNCTION_NOISE:
            to[i] = noise(params, levels[i], means[i], i % row % 2U);
            break;
        case TIGRIS_LEVEL_FUNCTION_LOUDER:
            to[i] = louder(params, levels[i], means[i]);
            break;
        case TIGRIS_LEVEL_FUNCTION_GAIN:
            to[i] = amplified(params, tigris_int16_data(call, params->table), levels[i], means[i]);
            break;
        default: /* TIGRIS_LEVEL_FUNCTION_LOG: the checker admits no other */
            write_logarithm(call, i, levels[i]);
            break;
        }
    }
}

static tigris_status check(const tigris_check_call *call)
{
    const tigris_level_params *params = call->params;
    if (params->up_bits > 31U || params->down_bits > 63U || !tigris_check_pointwise(call, 0U)) {
        return TIGRIS_ERR_PARAMS;
    }
    if (params->function == TIGRIS_LEVEL_FUNCTION_LOG) {
        const int stepped = call->output->dtype == TIGRIS_DTYPE_INT8;
        return tigris_check_result(
            tigris_check_types(call, 1U, TIGRIS_DTYPE_INT32, stepped ? TIGRIS_DTYPE_INT8 : TIGRIS_DTYPE_INT16) &&
            tigris_check_data(call, params->table, LOG_ENTRIES, sizeof(uint16_t)) &&
            (!stepped || tigris_check_data(call, params->steps, STEPS, sizeof(uint16_t))));
    }
    return tigris_check_result(
        params->function >= TIGRIS_LEVEL_FUNCTION_NOISE && params->function <= TIGRIS_LEVEL_FUNCTION_GAIN &&
        tigris_check_types(call, 2U, TIGRIS_DTYPE_INT32, TIGRIS_DTYPE_INT32) && tigris_check_pointwise(call, 1U) &&
        (params->function != TIGRIS_LEVEL_FUNCTION_GAIN ||
         tigris_check_data(call, params->table, GAIN_ENTRIES, sizeof(int16_t))));
}

TIGRIS_KERNEL_ENTRY(tigris_level_int32, LEVEL, INT32, tigris_level_params, run, check);
