/* ADD and SUB, int8, of inputs of the output's shape, sixteen elements at a time. ESP32-S3. */
#include "layer.h"

#if defined(TIGRIS_PIE)

#include <string.h>

#include "../access.h"
#include "tigris_backends.h"

#define PIECE 64U /* elements of a piece that is copied to aligned memory */

/* Computes elements that are no whole aligned vectors. */
static void add_copies(const int8_t *a, const int8_t *b, int8_t *output, const int32_t *words, uint32_t elements)
{
    int8_t memory[2U * PIECE + TIGRIS_PIE_LANES] = {0};
    int8_t *const left = memory + (-(uintptr_t)memory & (TIGRIS_PIE_LANES - 1U)), *const right = left + PIECE;
    while (elements != 0U) {
        const uint32_t count = elements < PIECE ? elements : PIECE;
        memcpy(left, a, count);
        memcpy(right, b, count);
        tigris_pie_add(left, right, left, words, tigris_pie_vectors(count));
        memcpy(output, left, count);
        a += count;
        b += count;
        output += count;
        elements -= count;
    }
}

static void run(const tigris_kernel_call *call)
{
    const tigris_pie_sum_int8_params *params = call->params;
    const int8_t *a = tigris_int8_row(&call->inputs[0], tigris_output_first(call));
    const int8_t *b = tigris_int8_row(&call->inputs[1], tigris_output_first(call));
    int8_t *output = tigris_int8_output(call);
    const uint32_t elements = tigris_band_elements(call->output);
    uint32_t whole = 0U;
    if ((((uintptr_t)a | (uintptr_t)b | (uintptr_t)output) & (TIGRIS_PIE_LANES - 1U)) == 0U) {
        whole = elements - elements % TIGRIS_PIE_LANES;
        tigris_pie_add(a, b, output, params->words, whole / TIGRIS_PIE_LANES);
    }
    add_copies(a + whole, b + whole, output + whole, params->words, elements - whole);
}

static tigris_status check(const tigris_check_call *call)
{
    return tigris_check_result(tigris_check_types(call, 2U, TIGRIS_DTYPE_INT8, TIGRIS_DTYPE_INT8) &&
                               tigris_check_pointwise(call, 0U) && tigris_check_pointwise(call, 1U));
}

#define ENTRY(name, kind)                                                                                              \
    const tigris_kernel_entry tigris_pie_##name##_int8 = {                                                             \
        kind, TIGRIS_DTYPE_INT8, TIGRIS_PACKING_PIE, sizeof(tigris_pie_sum_int8_params), run, check}
ENTRY(add, TIGRIS_OP_KIND_ADD);
ENTRY(sub, TIGRIS_OP_KIND_SUB);

#endif
