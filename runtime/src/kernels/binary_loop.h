/* Steps of element-wise kernels of two inputs, and the loop of the int8 and int16 kernels. */
#ifndef TIGRIS_BINARY_LOOP_H
#define TIGRIS_BINARY_LOOP_H

#include "binary.h"
#include "inlining.h"

/* Strides in elements of input 0 and 1: to the next row, column and channel; 0 broadcasts. */
typedef struct tigris_binary_steps {
    int32_t row[2];
    int32_t column[2];
    int32_t channel[2];
} tigris_binary_steps;

/* The steps of a parameter record. */
#define TIGRIS_BINARY_STEPS(params)                                                                                    \
    {{(params)->row_step[0], (params)->row_step[1]},                                                                   \
     {(params)->column_step[0], (params)->column_step[1]},                                                             \
     {(params)->channel_step[0], (params)->channel_step[1]}}

typedef int32_t (*tigris_integer_function)(const void *constants, int32_t a, int32_t b);

TIGRIS_INLINE int32_t tigris_binary_element(const uint8_t *at, int32_t bytes)
{
    return bytes == 1 ? *(const int8_t *)(const void *)at : *(const int16_t *)(const void *)at;
}

/* Each output is `function` of its two inputs. Rows whose elements lie side by side are one loop. `bytes`: of an element, 1 or 2. `constants` lie on the caller's stack, so
 * that they stay in registers although outputs are written in between. */
TIGRIS_INLINE void tigris_run_elements(const tigris_kernel_call *call, tigris_binary_steps steps,
                                       tigris_integer_function function, const void *constants, int32_t bytes)
{
    const tigris_band *in = tigris_input_band(call, 0);
    const tigris_tensor_record *output = tigris_output_tensor(call);
    const uint32_t row = output->width * output->channels;
    const int is_dense = steps.channel[0] == 1 && steps.channel[1] == 1 && steps.column[0] == (int32_t)output->channels &&
        steps.column[1] == (int32_t)output->channels;
    const uint32_t run = is_dense ? row : output->channels;
    uint8_t *to = tigris_output_data(call);
    for (int32_t y = tigris_output_first(call); y < tigris_output_first(call) + tigris_output_rows(call); y++) {
        const uint8_t *a = in[0].data + tigris_binary_row(&in[0], y, steps.row[0]) * bytes;
        const uint8_t *b = in[1].data + tigris_binary_row(&in[1], y, steps.row[1]) * bytes;
        for (const uint8_t *const row_end = to + row * (uint32_t)bytes; to != row_end;) {
            const uint8_t *a_at = a;
            const uint8_t *b_at = b;
            for (const uint8_t *const end = to + run * (uint32_t)bytes; to != end; to += bytes) {
                const int32_t value =
                    function(constants, tigris_binary_element(a_at, bytes), tigris_binary_element(b_at, bytes));
                if (bytes == 1) {
                    *(int8_t *)(void *)to = (int8_t)value;
                } else {
                    *(int16_t *)(void *)to = (int16_t)value;
                }
                a_at += steps.channel[0] * bytes;
                b_at += steps.channel[1] * bytes;
            }
            a += steps.column[0] * bytes;
            b += steps.column[1] * bytes;
        }
    }
}

/* Whether the steps of both inputs stay inside them. */
static inline int tigris_check_both_steps(const tigris_check_call *call, tigris_binary_steps steps)
{
    return tigris_check_steps(call, 0U, steps.row[0], steps.column[0], steps.channel[0]) &&
           tigris_check_steps(call, 1U, steps.row[1], steps.column[1], steps.channel[1]);
}

/* Whether the zero points of two inputs and an output are int8. */
static inline int tigris_check_zero_points(const int32_t *inputs, int32_t output)
{
    return tigris_check_int8(inputs[0]) && tigris_check_int8(inputs[1]) && tigris_check_int8(output);
}

/* Whether both inputs and the output are int8, and the steps stay inside the inputs. */
static inline int tigris_check_binary(const tigris_check_call *call, tigris_binary_steps steps)
{
    return tigris_check_types(call, 2U, TIGRIS_DTYPE_INT8, TIGRIS_DTYPE_INT8) && tigris_check_both_steps(call, steps);
}

#endif
