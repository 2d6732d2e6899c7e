/* TOP_K, float32: each result is found by a pass over the whole vector, so nothing but the result is stored. */
#include "tigris_kernels.h"
#include "vectors.h"

#if defined(__XTENSA__) && defined(__GNUC__) && __GNUC__ == 12
#pragma GCC optimize("O1") /* at -O2 GCC 12.2 stops with a fault of its own here */
#endif

/* Whether element a at position i comes before element b at position j. */
static int precedes(const tigris_top_k_params *params, float a, uint32_t i, float b, uint32_t j)
{
    if (a != b) {
        const int better = params->smallest != 0U ? a < b : a > b;
        return better || (b != b && (a == a || i < j));
    }
    return i < j;
}

/* The best element that comes after the one at `before`, or the best of all if `before` is `length`. */
static uint32_t next(const tigris_top_k_params *params, const float *x, uint32_t before)
{
    uint32_t best = params->length;
    for (uint32_t k = 0; k < params->length; k++) {
        const float value = x[k * params->inner];
        const int behind =
            before == params->length || precedes(params, x[before * params->inner], before, value, k);
        if (behind && (best == params->length || precedes(params, value, k, x[best * params->inner], best))) {
            best = k;
        }
    }
    return best < params->length ? best : 0U; /* the checker asks for no more than there are */
}

static void run(const tigris_kernel_call *call)
{
    const tigris_top_k_params *params = tigris_params(call);
    const uint32_t inner = params->inner;
    const uint32_t outer = tigris_band_elements(tigris_output_band(call)) / (params->count * inner);
    const float *x = (const float *)(const void *)tigris_input_data(call, 0);
    float *output = tigris_float_output(call);
    for (uint32_t o = 0; o < outer; o++) {
        for (uint32_t i = 0; i < inner; i++) {
            uint32_t found = params->length;
            for (uint32_t r = 0; r < params->count; r++) {
                if (tigris_yield_from_kernel(call)) {
                    return;
                }
                found = next(params, x + i, found);
                output[r * inner + i] = (float)found;
            }
        }
        x += (size_t)params->length * inner;
        output += (size_t)params->count * inner;
    }
}

static tigris_status check(const tigris_check_call *call)
{
    const tigris_top_k_params *params = call->params;
    const uint32_t elements = tigris_call_elements(call, call->inputs[0]);
    return tigris_check_result(
        tigris_check_types(call, 1U, TIGRIS_DTYPE_FLOAT32, TIGRIS_DTYPE_FLOAT32) && call->op->images == 1U &&
        call->output->height == 1U && call->output->batch == 1U && tigris_check_all_rows(call, 0U) &&
        tigris_are_vectors(elements, params->length, params->inner) && params->length <= 1U << 24 &&
        params->count - 1U < params->length &&
        tigris_call_elements(call, call->output) == tigris_multiply(elements / params->length, params->count));
}

TIGRIS_KERNEL_ENTRY(tigris_top_k_float, TOP_K, FLOAT32, tigris_top_k_params, run, check);
