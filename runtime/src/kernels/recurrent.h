/* LSTM, GRU and RNN with float32 weights, or with int8 weights if TIGRIS_INT8_WEIGHTS is 1. */
#ifndef TIGRIS_RECURRENT_H
#define TIGRIS_RECURRENT_H

#include <math.h>
#include <string.h>

#include "access.h"
#include "recurrent_steps.h"

/* Row `row` of weights [row][length] times x; int8 weights have `scales`, one a row. */
static inline float tigris_weigh(const tigris_kernel_call *call, uint32_t weights, uint32_t scales, uint32_t row,
                                 uint32_t length, const float *x)
{
    float sum = 0.0F;
#if TIGRIS_INT8_WEIGHTS
    const int8_t *w = tigris_int8_data(call, weights) + (size_t)row * length;
    for (uint32_t i = 0; i < length; i++) {
        sum += (float)w[i] * x[i];
    }
    return sum * tigris_float_data(call, scales)[row];
#else
    const float *w = tigris_float_data(call, weights) + (size_t)row * length;
    (void)scales;
    for (uint32_t i = 0; i < length; i++) {
        sum += w[i] * x[i];
    }
    return sum;
#endif
}

static inline uint32_t tigris_gates(const tigris_recurrent_params *params)
{
    return params->cell == TIGRIS_RECURRENT_CELL_LSTM ? 4U : params->cell == TIGRIS_RECURRENT_CELL_GRU ? 3U : 1U;
}

/* Elements of one sequence's state. */
static inline uint32_t tigris_state_elements(const tigris_recurrent_params *params)
{
    return params->cell == TIGRIS_RECURRENT_CELL_LSTM ? 2U * params->units : params->units;
}

static inline uint32_t tigris_recurrent_scratch(const tigris_recurrent_params *params)
{
    return params->cell == TIGRIS_RECURRENT_CELL_GRU ? 2U * params->units : params->units;
}

static float bounded_activation(uint32_t function, float alpha, float beta, float x)
{
    switch (function) {
    case TIGRIS_RECURRENT_FUNCTION_SIGMOID:
        return 1.0F / (1.0F + expf(-x));
    case TIGRIS_RECURRENT_FUNCTION_TANH:
        return tanhf(x);
    case TIGRIS_RECURRENT_FUNCTION_SCALED_TANH:
        return alpha * tanhf(beta * x);
    case TIGRIS_RECURRENT_FUNCTION_HARD_SIGMOID:
        return tigris_clamp_float(alpha * x + beta, 0.0F, 1.0F);
    default: /* TIGRIS_RECURRENT_FUNCTION_SOFTSIGN: activation passes on no other */
        return x / (1.0F + fabsf(x));
    }
}

/* x between -limit and limit. */
static inline float tigris_within(float x, float limit)
{
    return x < -limit ? -limit : x > limit ? limit : x;
}

/* Activation `which` of the cell. */
static float activation(const tigris_recurrent_params *params, uint32_t which, float x)
{
    const float alpha = params->alpha[which];
    x = tigris_within(x, params->clip);
    switch (params->function[which]) {
    case TIGRIS_RECURRENT_FUNCTION_RELU:
        return x < 0.0F ? 0.0F : x;
    case TIGRIS_RECURRENT_FUNCTION_AFFINE:
        return alpha * x + params->beta[which];
    case TIGRIS_RECURRENT_FUNCTION_LEAKY_RELU:
        return x < 0.0F ? alpha * x : x;
    case TIGRIS_RECURRENT_FUNCTION_THRESHOLDED_RELU:
        return x < alpha ? 0.0F : x;
    case TIGRIS_RECURRENT_FUNCTION_ELU:
        return x < 0.0F ? alpha * expm1f(x) : x;
    case TIGRIS_RECURRENT_FUNCTION_SOFTPLUS:
        return (x > 0.0F ? x : 0.0F) + log1pf(expf(-fabsf(x)));
    default:
        return bounded_activation(params->function[which], alpha, params->beta[which], x);
    }
}

/* The sum of gate `gate` of unit `unit` over the input, with its bias; hidden_sum: over the hidden values `h`. */
static inline float input_sum(const tigris_kernel_call *call, uint32_t gate, uint32_t unit, const float *x)
{
    const tigris_recurrent_params *params = tigris_params(call);
    const uint32_t row = gate * params->units + unit;
    return tigris_float_data(call, params->bias)[row] +
           tigris_weigh(call, params->input_weights, params->input_scales, row, params->inputs, x);
}

static inline float hidden_sum(const tigris_kernel_call *call, uint32_t gate, uint32_t unit, const float *h)
{
    const tigris_recurrent_params *params = tigris_params(call);
    return tigris_weigh(call, params->recurrent_weights, params->recurrent_scales, gate * params->units + unit,
                        params->units, h);
}

static inline float gate_sum(const tigris_kernel_call *call, uint32_t gate, uint32_t unit, const float *x,
                             const float *h)
{
    return input_sum(call, gate, unit, x) + hidden_sum(call, gate, unit, h);
}

/* The unit whose turn is the i-th, of `units`. */
static inline uint32_t unit_at(uint32_t i, uint32_t units, int is_turned)
{
    return is_turned ? units - 1U - i : i;
}

/* Writes the hidden values to `next` and the cell to `c_out`, which may be `c`. */
static void lstm_step(const tigris_kernel_call *call, const float *x, const float *h, const float *c, int is_turned,
                      float *next, float *c_out)
{
    const tigris_recurrent_params *params = tigris_params(call);
    const float *peepholes = tigris_float_data(call, params->peepholes);
    const uint32_t units = params->units;
    for (uint32_t i = 0; i < units; i++) {
        const uint32_t j = unit_at(i, units, is_turned);
        const float in = activation(params, 0U, gate_sum(call, 0U, j, x, h) + peepholes[j] * c[j]);
        const float forget = params->coupled != 0U
                                 ? 1.0F - in
                                 : activation(params, 0U, gate_sum(call, 2U, j, x, h) + peepholes[2U * units + j] * c[j]);
        const float candidate = activation(params, 1U, gate_sum(call, 3U, j, x, h));
        const float cell = tigris_within(forget * c[j] + in * candidate, params->cell_clip);
        const float out = activation(params, 0U, gate_sum(call, 1U, j, x, h) + peepholes[units + j] * cell);
        c_out[j] = cell;
        next[j] = out * activation(params, 2U, cell);
    }
}

static void gru_step(const tigris_kernel_call *call, const float *x, const float *h, int is_turned, float *next)
{
    const tigris_recurrent_params *params = tigris_params(call);
    const uint32_t units = params->units;
    const float *inner_bias = tigris_float_data(call, params->bias) + (size_t)3U * units;
    float *reset = next + units;
    for (uint32_t j = 0; j < units && params->linear_before_reset == 0U; j++) {
        reset[j] = activation(params, 0U, gate_sum(call, 1U, j, x, h)) * h[j];
    }
    for (uint32_t i = 0; i < units; i++) {
        const uint32_t j = unit_at(i, units, is_turned);
        const float update = activation(params, 0U, gate_sum(call, 0U, j, x, h));
        const float inner = params->linear_before_reset != 0U
                                ? activation(params, 0U, gate_sum(call, 1U, j, x, h)) *
                                      (hidden_sum(call, 2U, j, h) + inner_bias[j])
                                : hidden_sum(call, 2U, j, reset);
        const float candidate = activation(params, 1U, input_sum(call, 2U, j, x) + inner);
        next[j] = (1.0F - update) * candidate + update * h[j];
    }
}

static void rnn_step(const tigris_kernel_call *call, const float *x, const float *h, int is_turned, float *next)
{
    const tigris_recurrent_params *params = tigris_params(call);
    for (uint32_t i = 0; i < params->units; i++) {
        const uint32_t j = unit_at(i, params->units, is_turned);
        next[j] = activation(params, 0U, gate_sum(call, 0U, j, x, h));
    }
}

/* A step of all sequences, `past` steps after the first; `state` may overlap `hidden` and `cell`. `state_step`: stride
 * in elements from a sequence's hidden values, or cell, to the next sequence's. */
static void run_step(const tigris_kernel_call *call, uint32_t past, const float *x, const float *hidden,
                     const float *cell, uint32_t state_step, float *state)
{
    const tigris_recurrent_params *params = tigris_params(call);
    const uint32_t units = params->units;
    float *next = (float *)(void *)tigris_scratch(call);
    for (uint32_t b = 0; b < params->batch; b++) {
        const int is_turned = tigris_is_turned(params->batch, past, b);
        if (params->cell == TIGRIS_RECURRENT_CELL_LSTM) {
            lstm_step(call, x, hidden, cell, is_turned, next, state + units);
            cell += state_step;
        } else if (params->cell == TIGRIS_RECURRENT_CELL_GRU) {
            gru_step(call, x, hidden, is_turned, next);
        } else {
            rnn_step(call, x, hidden, is_turned, next);
        }
        memmove(state, next, units * sizeof *state);
        x += params->inputs;
        hidden += state_step;
        state += tigris_state_elements(params);
    }
}

/* The element of the row at which a step's state starts. */
static uint32_t place_of(const tigris_kernel_call *call, uint32_t step)
{
    const tigris_recurrent_params *params = tigris_params(call);
    const uint32_t state = params->batch * tigris_state_elements(params);
    return tigris_row_elements(tigris_output_tensor(call)) == state ? 0U : step * state;
}

static void run(const tigris_kernel_call *call)
{
    const tigris_recurrent_params *params = tigris_params(call);
    const tigris_band *out = tigris_output_band(call);
    const uint32_t row = tigris_is_folded(tigris_tensor_of(out)) ? 0U : tigris_row_elements(tigris_tensor_of(out));
    /* The state of the step before, which an earlier band computed: in the same place, or in the row before. */
    const float *state =
        row == 0U ? tigris_float_output(call)
                  : (const float *)(const void *)tigris_input_band(call, tigris_input_count(call) - 1U)->data;
    for (int32_t r = 0; r < tigris_row_count(out); r++) {
        const float *x = tigris_float_row(tigris_input_band(call, 0), tigris_first_row(out) + r);
        float *to = tigris_float_output(call) + (uint32_t)r * row;
        for (uint32_t i = 0; i < params->steps; i++) {
            const uint32_t step = params->reverse != 0U ? params->steps - 1U - i : i;
            if (tigris_yield_from_kernel(call)) {
                return;
            }
            const float *now = x + (size_t)step * params->batch * params->inputs;
            float *next = to + place_of(call, step);
            const uint32_t past = (uint32_t)(tigris_first_row(out) + r) + i; /* steps before this one */
            if (past == 0U) {
                const float *cell = params->cell == TIGRIS_RECURRENT_CELL_LSTM
                                        ? (const float *)(const void *)tigris_input_data(call, 2)
                                        : NULL;
                run_step(call, past, now, (const float *)(const void *)tigris_input_data(call, 1), cell, params->units,
                         next);
            } else {
                run_step(call, past, now, state, state + params->units, tigris_state_elements(params), next);
            }
            state = next;
        }
    }
}

/* Whether input and recurrent weights of `weight_bytes` each, bias and peepholes lie inside the weight block. */
static int holds_weights(const tigris_check_call *call, uint32_t weight_bytes)
{
    const tigris_recurrent_params *params = call->params;
    const uint32_t rows = tigris_multiply(tigris_gates(params), params->units);
    const uint32_t biases = params->cell == TIGRIS_RECURRENT_CELL_GRU ? tigris_multiply(4U, params->units) : rows;
    return tigris_check_data(call, params->input_weights, tigris_multiply(rows, params->inputs), weight_bytes) &&
           tigris_check_data(call, params->recurrent_weights, tigris_multiply(rows, params->units), weight_bytes) &&
           tigris_check_data(call, params->bias, biases, sizeof(float)) &&
           (params->cell != TIGRIS_RECURRENT_CELL_LSTM ||
            tigris_check_data(call, params->peepholes, tigris_multiply(3U, params->units), sizeof(float)));
}

static int are_functions(const tigris_recurrent_params *params)
{
    for (uint32_t i = 0; i < 3U; i++) {
        if (params->function[i] < TIGRIS_RECURRENT_FUNCTION_SIGMOID ||
            params->function[i] > TIGRIS_RECURRENT_FUNCTION_SOFTPLUS) {
            return 0;
        }
    }
    return params->cell >= TIGRIS_RECURRENT_CELL_LSTM && params->cell <= TIGRIS_RECURRENT_CELL_RNN;
}

static int check_recurrent(const tigris_check_call *call, uint32_t weight_bytes)
{
    const tigris_recurrent_params *params = call->params;
    const uint32_t operands = params->cell == TIGRIS_RECURRENT_CELL_LSTM ? 3U : 2U;
    return tigris_check_types(call, call->op->operand_count, TIGRIS_DTYPE_FLOAT32, TIGRIS_DTYPE_FLOAT32) &&
           are_functions(params) &&
           tigris_check_recurrent(call, operands, tigris_multiply(params->batch, tigris_state_elements(params))) &&
           holds_weights(call, weight_bytes) &&
           call->op->scratch_bytes >= tigris_recurrent_scratch(params) * sizeof(float);
}

#endif
