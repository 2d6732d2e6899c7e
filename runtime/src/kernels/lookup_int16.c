/* Any unary function of int16: linear interpolation in a table. Sums are unsigned: with a damaged table they wrap. */
#include "int16.h"
#include "tigris_kernels.h"

#define ENTRIES 513U
/* Fraction bits of an entry, and of a position between two. */
#define ENTRY_BITS 4
#define PLACE_BITS 7

static void run(const tigris_kernel_call *call)
{
    const tigris_lookup_int16_params *params = tigris_params(call);
    const int32_t *zero = tigris_int32_data(call, params->table) + 256;
    const uint32_t elements = tigris_band_elements(tigris_output_band(call));
    const int16_t *input = tigris_int16_row(tigris_input_band(call, 0), tigris_output_first(call));
    int16_t *output = tigris_int16_output(call);
    for (uint32_t i = 0; i < elements; i++) {
        const int32_t *entry = zero + (input[i] >> PLACE_BITS);
        const uint32_t low = (uint32_t)entry[0];
        const uint32_t place = (uint32_t)input[i] & ((1U << PLACE_BITS) - 1U);
        const uint32_t sum = (low << PLACE_BITS) + ((uint32_t)entry[1] - low) * place;
        const int32_t rounded = (int32_t)(sum + (1U << (ENTRY_BITS + PLACE_BITS - 1)));
        output[i] = (int16_t)tigris_clamp(rounded >> (ENTRY_BITS + PLACE_BITS), INT16_MIN, INT16_MAX);
    }
}

static tigris_status check(const tigris_check_call *call)
{
    const tigris_lookup_int16_params *params = call->params;
    return tigris_check_result(tigris_check_types(call, 1U, TIGRIS_DTYPE_INT16, TIGRIS_DTYPE_INT16) &&
                               tigris_check_pointwise(call, 0U) &&
                               tigris_check_data(call, params->table, ENTRIES, sizeof(int32_t)));
}

TIGRIS_KERNEL_ENTRY(tigris_lookup_int16, LOOKUP, INT16, tigris_lookup_int16_params, run, check);
