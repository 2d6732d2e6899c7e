/* ADD and SUB, int8, if both inputs have the output's layout: no broadcasting. */
#include "lanes.h"
#include "scale.h"
#include "tigris_kernels.h"

#if TIGRIS_HOST_AVX2 || TIGRIS_HOST_NEON

#include "../binary_int8.h"

typedef struct addition {
    tigris_host_scale input[2];
    tigris_host_scale output;
    tigris_host_stage end;
    const tigris_binary_int8_params *params;
    int is_difference;
} addition;

/* Eight values of an input in the common scale of both. */
TIGRIS_HOST_INLINE tigris_host_words common(const addition *a, int32_t input, const int8_t *from)
{
    const tigris_host_words centred =
        tigris_host_minus(tigris_host_bytes_at(from), tigris_host_same(a->params->zero_point[input]));
    return tigris_host_requantise(tigris_host_left(centred, tigris_host_same(a->params->left_shift)), &a->input[input]);
}

/* The first `count` of eight elements. */
TIGRIS_HOST_INLINE void run_lanes(const addition *a, const int8_t *x, const int8_t *y, int32_t count, int8_t *to)
{
    const tigris_host_words left = common(a, 0, x), right = common(a, 1, y);
    tigris_host_output(a->is_difference ? tigris_host_minus(left, right) : tigris_host_plus(left, right), &a->output,
                       &a->end, count, to);
}

TIGRIS_HOST_INLINE void run_elements(const addition *a, const int8_t *x, const int8_t *y, int32_t count, int8_t *to)
{
    int32_t at = 0;
    for (; at + TIGRIS_HOST_LANES <= count; at += TIGRIS_HOST_LANES) {
        run_lanes(a, x + at, y + at, TIGRIS_HOST_LANES, to + at);
    }
    if (at < count) {
        int8_t last[2][TIGRIS_HOST_LANES] = {{0}, {0}};
        memcpy(last[0], x + at, (size_t)(count - at));
        memcpy(last[1], y + at, (size_t)(count - at));
        run_lanes(a, last[0], last[1], count - at, to + at);
    }
}

/* Whether an input has the output's rows, columns and channels. */
static int has_output_layout(const tigris_kernel_call *call, int32_t input)
{
    const tigris_binary_int8_params *params = call->params;
    const tigris_tensor_record *tensor = call->output->tensor;
    return params->channel_step[input] == 1 && params->column_step[input] == (int32_t)tensor->channels &&
           params->row_step[input] == (int32_t)tigris_row_elements(tensor);
}

/* Returns 0, with nothing written, if an input has another layout. */
static TIGRIS_HOST_CODE int run_elementwise(const tigris_kernel_call *call, int is_difference)
{
    const tigris_binary_int8_params *params = call->params;
    const tigris_band *in = call->inputs, *out = call->output;
    const tigris_output_stage stage = {params->output_zero_point, params->activation_min, params->activation_max};
    const addition a = {{tigris_host_same_scale(params->multiplier[0], params->shift[0]),
                         tigris_host_same_scale(params->multiplier[1], params->shift[1])},
                        tigris_host_same_scale(params->output_multiplier, params->output_shift),
                        tigris_host_stage_of(&stage),
                        params,
                        is_difference};
    if (!has_output_layout(call, 0) || !has_output_layout(call, 1)) {
        return 0;
    }
    run_elements(&a, tigris_int8_row(&in[0], out->first), tigris_int8_row(&in[1], out->first),
                 (int32_t)tigris_band_elements(out), tigris_int8_output(call));
    return 1;
}

static void run_add(const tigris_kernel_call *call)
{
    if (!run_elementwise(call, 0)) {
        tigris_add_int8.run(call);
    }
}

static void run_subtract(const tigris_kernel_call *call)
{
    if (!run_elementwise(call, 1)) {
        tigris_sub_int8.run(call);
    }
}

static tigris_status check(const tigris_check_call *call)
{
    return tigris_add_int8.check(call); /* SUB has the same check */
}

const tigris_kernel_entry tigris_host_add_int8 = {
    TIGRIS_OP_KIND_ADD, TIGRIS_DTYPE_INT8, TIGRIS_PACKING_PORTABLE, sizeof(tigris_binary_int8_params), run_add, check};
const tigris_kernel_entry tigris_host_sub_int8 = {
    TIGRIS_OP_KIND_SUB, TIGRIS_DTYPE_INT8, TIGRIS_PACKING_PORTABLE, sizeof(tigris_binary_int8_params), run_subtract,
    check};

#endif
