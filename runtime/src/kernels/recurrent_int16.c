/* LSTM of int8 with a cell of int16, as TensorFlow Lite Micro computes it (kernels/lstm_eval.cc with int8 activations and
 * weights; integer_ops/logistic.h and tanh.h for its functions of 16 bits). Gates are Q3.12 before their function and
 * Q0.15 behind it. A state is the hidden values, then the cell's, low byte first and not aligned. */
#include <string.h>

#include "recurrent_steps.h"
#include "requantise.h"
#include "rows_int8.h"
#include "tigris_kernels.h"

#define GATES 4
/* Bytes of a unit's state: its hidden value and its cell value. */
#define UNIT_BYTES 3U
/* Most inputs that are weighed at once, between two calls of the yield hook. */
#define TOGETHER 16U
/* Last entry of the table; from it on both functions have their limit. */
#define TABLE_END 255U

enum { INPUT_GATE, FORGET_GATE, CANDIDATE, OUTPUT_GATE };

/* The weights and scales with which the gates multiply one vector: the input or the hidden values. Offsets into the
 * weight block; `multiplier` and `shift` have one entry a gate. */
typedef struct gate_weights {
    uint32_t length;
    uint32_t weights;
    uint32_t bias;
    const int32_t *multiplier;
    const int32_t *shift;
} gate_weights;

static gate_weights input_gate_weights(const tigris_recurrent_int16_params *p)
{
    const gate_weights result = {p->inputs, p->input_weights, p->input_bias, p->input_multiplier, p->input_shift};
    return result;
}

static gate_weights hidden_gate_weights(const tigris_recurrent_int16_params *p)
{
    const gate_weights result = {p->units, p->recurrent_weights, p->recurrent_bias, p->recurrent_multiplier,
                                 p->recurrent_shift};
    return result;
}

static inline int32_t to_int16(int32_t value)
{
    return tigris_clamp(value, INT16_MIN, INT16_MAX);
}

static inline uint32_t magnitude(int32_t value)
{
    return value < 0 ? 0U - (uint32_t)value : (uint32_t)value;
}

/* Interpolates between entry `place` of the table and the next, at `part` / 2^bits. */
static inline uint32_t between(const uint16_t *table, uint32_t place, uint32_t part, uint32_t bits)
{
    const uint32_t low = table[place];
    return (low << bits) + part * (table[place + 1U] - low);
}

/* Sigmoid of Q3.12 in Q0.15. Three times the argument is its position in the table in Q7.9. */
static int32_t sigmoid(const uint16_t *table, int32_t x)
{
    const int32_t scaled = 3 * x;
    const uint32_t size = magnitude(scaled), place = size >> 9;
    const uint32_t value =
        place >= TABLE_END ? UINT32_C(0x7FFF) << 10 : between(table, place, size & 0x1FFU, 9U);
    const uint32_t result = scaled >= 0 ? value + (1U << 9) : (1U << 25) - value + (1U << 9) - 1U;
    return (int16_t)(result >> 10);
}

/* tanh(x) = 2 * sigmoid(2x) - 1. x * multiplier / 2^shift is the argument's position in the table in Q7.8. */
static int32_t hyperbolic_tangent(const uint16_t *table, int32_t x, uint32_t multiplier, uint32_t shift)
{
    const uint32_t half = shift > 0U ? UINT32_C(1) << (shift - 1U) : 0U;
    const int32_t scaled = (int32_t)((uint32_t)x * multiplier + half) >> shift;
    const uint32_t size = magnitude(scaled), place = size >> 8;
    const int32_t value =
        (int32_t)(place >= TABLE_END ? UINT32_C(0xFFFF) << 8 : between(table, place, size & 0xFFU, 8U)) - (1 << 23);
    return (scaled >= 0 ? value + (1 << 7) : (1 << 7) - 1 - value) >> 8;
}

/* Adds the products of `count` vectors with the weights of all gates, in Q3.12, to their gates; sets the gates if
 * `is_first`. Each block of weights serves all vectors before the next. `is_turned`: the last block comes first. */
static void weigh(const tigris_kernel_call *call, gate_weights from, const int8_t *vectors, uint32_t count, int is_first,
                  int is_turned, int16_t *gates)
{
    const tigris_recurrent_int16_params *params = tigris_params(call);
    const int32_t outputs = (int32_t)params->units * GATES, last = (outputs - 1) / TIGRIS_ROWS * TIGRIS_ROWS;
    const int32_t *bias = tigris_int32_data(call, from.bias);
    const tigris_rows rows = {tigris_int8_data(call, from.weights), (int32_t)from.length, outputs};
    for (int32_t place = 0; place < outputs; place += TIGRIS_ROWS) {
        const int32_t first = is_turned ? last - place : place;
        const int32_t some = outputs - first < TIGRIS_ROWS ? outputs - first : TIGRIS_ROWS;
        const int8_t *vector = vectors;
        int16_t *to = gates + first;
        for (uint32_t n = 0; n < count; n++) {
            uint32_t sums[TIGRIS_ROWS];
            tigris_add_rows(&rows, vector, first, some, (const uint32_t *)(const void *)(bias + first), sums);
            for (int32_t i = 0; i < some; i++) {
                const int32_t value =
                    to_int16(tigris_requantise((int32_t)sums[i], from.multiplier[i % GATES], from.shift[i % GATES]));
                to[i] = (int16_t)(is_first ? value : to_int16(to[i] + value));
            }
            vector += from.length;
            to += outputs;
        }
    }
}

/* One step of one sequence from its gates, before their functions, and its cell values, which `state` may overlap. */
static void run_step(const tigris_kernel_call *call, const int16_t *gates, const uint8_t *cell, uint8_t *state)
{
    const tigris_recurrent_int16_params *params = tigris_params(call);
    const uint16_t *table = (const uint16_t *)(const void *)(tigris_weights(call) + params->table);
    uint8_t *new_cell = state + params->units;
    const tigris_output_stage output = {params->output_zero_point, INT8_MIN, INT8_MAX};
    for (uint32_t j = 0; j < params->units; j++) {
        const int16_t *own = gates + (size_t)GATES * j;
        int16_t kept;
        memcpy(&kept, cell + 2U * j, sizeof kept);
        const int32_t forgotten = tigris_requantise(sigmoid(table, own[FORGET_GATE]) * kept, 1 << 30, -14);
        const int32_t candidate = hyperbolic_tangent(table, own[CANDIDATE], 3U, 0U);
        const int32_t added =
            to_int16(tigris_requantise(sigmoid(table, own[INPUT_GATE]) * candidate, params->cell_multiplier,
                                       params->cell_shift));
        const int32_t now = tigris_clamp(to_int16(to_int16(forgotten) + added), params->cell_min, params->cell_max);
        const int32_t shown = hyperbolic_tangent(table, now, params->tanh_multiplier, params->tanh_shift & 31U);
        const int32_t hidden_value = sigmoid(table, own[OUTPUT_GATE]) * shown;
        kept = (int16_t)now;
        memcpy(new_cell + 2U * j, &kept, sizeof kept);
        state[j] = (uint8_t)tigris_to_int8(hidden_value, params->output_multiplier, params->output_shift, &output);
    }
}

/* The gates of the next steps of sequences, `*count` of them, whose inputs are weighed together, so that their weights
 * are read once. The output holds `left` states from `state` on: gates lie at the end of it until states take their
 * place. The gates of a single step lie in the scratch. */
static int16_t *next_gates(const tigris_kernel_call *call, uint8_t *state, uint32_t left, uint32_t *count)
{
    const tigris_recurrent_int16_params *params = tigris_params(call);
    const uint32_t gate_bytes = params->units * GATES * sizeof(int16_t), bytes = params->units * UNIT_BYTES;
    const uint32_t fitting = ((left - 1U) * bytes - (left > 1U)) / gate_bytes;
    uint8_t *end = state + left * bytes;
    if (fitting < 2U) {
        *count = 1U;
        return (int16_t *)(void *)tigris_scratch(call);
    }
    *count = fitting < TOGETHER ? fitting : TOGETHER;
    return (int16_t *)(void *)(end - ((uintptr_t)end & 1U) - *count * gate_bytes);
}

/* Weighs the hidden values of a step, and `fresh` inputs from `x` on: none, or those of steps from this one on. A single
 * input comes behind the hidden values if weights are read backwards. */
static void weigh_step(const tigris_kernel_call *call, const int8_t *x, uint32_t fresh, const uint8_t *hidden,
                       int is_turned, int16_t *gates)
{
    const tigris_recurrent_int16_params *params = tigris_params(call);
    const int input_is_last = is_turned && fresh == 1U;
    if (fresh != 0U && !input_is_last) {
        weigh(call, input_gate_weights(params), x, fresh, 1, 0, gates);
    }
    weigh(call, hidden_gate_weights(params), (const int8_t *)(const void *)hidden, 1U, input_is_last, is_turned, gates);
    if (input_is_last) {
        weigh(call, input_gate_weights(params), x, 1U, 0, 1, gates);
    }
}

static void run(const tigris_kernel_call *call)
{
    const tigris_recurrent_int16_params *params = tigris_params(call);
    const tigris_band *out = tigris_output_band(call);
    const uint32_t bytes = params->units * UNIT_BYTES, batch = params->batch, past = (uint32_t)tigris_first_row(out);
    const uint32_t steps = (uint32_t)tigris_row_count(out) * params->steps;
    const int is_last_only = params->steps > 1U && tigris_row_elements(tigris_tensor_of(out)) == batch * bytes;
    const int8_t *x = tigris_int8_row(tigris_input_band(call, 0), tigris_first_row(out));
    /* The states before a step. NULL: the operands have them; in the row before, an earlier band left them. */
    const uint8_t *from = past == 0U ? NULL : tigris_input_band(call, tigris_input_count(call) - 1U)->data;
    uint8_t *state = tigris_output_data(call);
    int16_t *gates = NULL;
    uint32_t weighed = 0;
    for (uint32_t step = 0; step < steps; step++) {
        if (tigris_yield_from_kernel(call)) {
            return;
        }
        uint8_t *to = state;
        for (uint32_t b = 0; b < batch; b++) {
            const uint8_t *hidden = from == NULL ? tigris_input_data(call, 1) + b * params->units : from + b * bytes;
            const uint8_t *cell =
                from == NULL ? tigris_input_data(call, 2) + 2U * b * params->units : hidden + params->units;
            uint32_t fresh = 0;
            if (weighed == 0U) {
                gates = next_gates(call, to, is_last_only ? 1U : (steps - step) * batch - b, &weighed);
                fresh = weighed;
            }
            weigh_step(call, x, fresh, hidden, tigris_is_turned(batch, past + step, b), gates);
            run_step(call, gates, cell, to);
            x += params->inputs;
            gates += (size_t)GATES * params->units;
            weighed--;
            to += bytes;
        }
        from = state;
        state = is_last_only ? state : to;
    }
}

static int holds_gate_weights(const tigris_check_call *call, gate_weights of)
{
    const tigris_recurrent_int16_params *params = call->params;
    const uint32_t rows = tigris_multiply(GATES, params->units);
    for (uint32_t gate = 0; gate < GATES; gate++) {
        if (!tigris_check_multiplier(of.multiplier[gate], of.shift[gate])) {
            return 0;
        }
    }
    return tigris_check_data(call, of.weights, tigris_multiply(rows, of.length), 1U) &&
           tigris_check_data(call, of.bias, rows, sizeof(int32_t));
}

static int are_numbers(const tigris_recurrent_int16_params *params)
{
    return params->cell == TIGRIS_RECURRENT_CELL_LSTM && params->reverse == 0U && params->inputs - 1U < UINT16_MAX &&
           tigris_check_multiplier(params->cell_multiplier, params->cell_shift) &&
           tigris_check_multiplier(params->output_multiplier, params->output_shift) &&
           tigris_check_int8(params->output_zero_point) && params->cell_min >= INT16_MIN &&
           params->cell_min <= params->cell_max && params->cell_max <= INT16_MAX && params->tanh_multiplier <= UINT16_MAX;
}

static tigris_status check(const tigris_check_call *call)
{
    const tigris_recurrent_int16_params *params = call->params;
    const uint32_t state = tigris_multiply(tigris_multiply(params->batch, params->units), UNIT_BYTES);
    const uint32_t count = call->op->operand_count;
    if (count < 3U || call->output->dtype != TIGRIS_DTYPE_INT8 || tigris_is_folded(call->output)) {
        return TIGRIS_ERR_PARAMS;
    }
    for (uint32_t i = 0; i < count; i++) {
        if (call->inputs[i]->dtype != (i == 2U ? TIGRIS_DTYPE_INT16 : TIGRIS_DTYPE_INT8)) {
            return TIGRIS_ERR_PARAMS;
        }
    }
    return tigris_check_result(are_numbers(params) && tigris_check_recurrent(call, 3U, state) &&
                               holds_gate_weights(call, input_gate_weights(params)) &&
                               holds_gate_weights(call, hidden_gate_weights(params)) &&
                               tigris_check_data(call, params->table, TABLE_END + 1U, sizeof(uint16_t)) &&
                               call->op->scratch_bytes >= params->units * GATES * sizeof(int16_t));
}

TIGRIS_KERNEL_ENTRY(tigris_recurrent_int16, RECURRENT, INT16, tigris_recurrent_int16_params, run, check);
